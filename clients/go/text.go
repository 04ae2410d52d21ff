package analytics

import (
	"bytes"
	"unicode/utf8"
)

const hexDigits = "0123456789abcdef"

// appendText appends text as a JSON string in UTF-8. It escapes quotes, backslashes, control characters, and U+2028 and U+2029 (as
// encoding/json always does). Invalid UTF-8 becomes U+FFFD. Nothing is escaped for HTML.
func appendText(b []byte, text string) []byte {
	b = append(b, '"')
	plain := 0 // start of what is not appended yet
	for i := 0; i < len(text); {
		if c := text[i]; c < utf8.RuneSelf {
			if c < ' ' || c == '"' || c == '\\' {
				b = appendEscape(append(b, text[plain:i]...), c)
				plain = i + 1
			}
			i++
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		if escape := escapeOf(r, size); escape != "" {
			b = append(append(b, text[plain:i]...), escape...)
			plain = i + size
		}
		i += size
	}
	return append(append(b, text[plain:]...), '"')
}

// escapeTexts does the same, from an offset, for output of a json.RawMessage or a MarshalJSON, which encoding/json copies: one string
// with invalid UTF-8 would make the service reject the whole batch. In JSON, only strings have characters above ASCII.
func escapeTexts(b []byte, from int) []byte {
	if !mayNeedEscape(b[from:]) {
		return b
	}
	given := string(b[from:])
	b = b[:from]
	for len(given) > 0 {
		r, size := utf8.DecodeRuneInString(given)
		if escape := escapeOf(r, size); escape != "" {
			b = append(b, escape...)
		} else {
			b = append(b, given[:size]...)
		}
		given = given[size:]
	}
	return b
}

func mayNeedEscape(text []byte) bool {
	return !utf8.Valid(text) || bytes.Contains(text, []byte("\u2028")) || bytes.Contains(text, []byte("\u2029"))
}

func appendEscape(b []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(b, '\\', c)
	case '\b':
		return append(b, `\b`...)
	case '\f':
		return append(b, `\f`...)
	case '\n':
		return append(b, `\n`...)
	case '\r':
		return append(b, `\r`...)
	case '\t':
		return append(b, `\t`...)
	}
	return append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&0xF])
}

// escapeOf returns the escape of a character above ASCII; empty if it needs none.
func escapeOf(r rune, size int) string {
	switch {
	case r == utf8.RuneError && size == 1:
		return `\ufffd`
	case r == '\u2028':
		return `\u2028`
	case r == '\u2029':
		return `\u2029`
	}
	return ""
}
