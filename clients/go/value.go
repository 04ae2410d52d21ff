package analytics

import (
	"fmt"
	"slices"
	"strconv"
)

// callLevels is the service's limit of objects and arrays within one another, the call its own among them.
const callLevels = 64

// encodedBytes is where encoding ends although there is more: a call of this size is too large in any case, and what
// holds one map in many places could be written for ever.
const encodedBytes = 32 * callBytes

// stop ends an encoding early.
type stop string

const (
	tooDeep stop = "too deep"
	tooLong stop = "too long"
)

func (s stop) Error() string { return string(s) }

// appendMap appends an object, its keys in ascending order of their bytes as encoding/json has them.
// The common types are written here, which takes no allocation; all else goes through encoding/json.
func (e *encoder) appendMap(b []byte, m map[string]any, level int) ([]byte, error) {
	if m == nil {
		return append(b, "null"...), nil
	}
	if err := mayGoOn(b, level); err != nil {
		return b, err
	}
	first := len(e.keys)
	defer func() { e.keys = e.keys[:first] }()
	for key := range m {
		e.keys = append(e.keys, key)
	}
	keys := e.keys[first:]
	slices.Sort(keys)
	b = append(b, '{')
	for i, key := range keys {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendText(b, key), ':')
		var err error
		if b, err = e.appendValue(b, m[key], level+1); err != nil {
			return b, at(key, err, m)
		}
	}
	return append(b, '}'), nil
}

func (e *encoder) appendList(b []byte, list []any, level int) ([]byte, error) {
	if list == nil {
		return append(b, "null"...), nil
	}
	if err := mayGoOn(b, level); err != nil {
		return b, err
	}
	b = append(b, '[')
	for i, value := range list {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		if b, err = e.appendValue(b, value, level+1); err != nil {
			return b, at(strconv.Itoa(i), err, list)
		}
	}
	return append(b, ']'), nil
}

func mayGoOn(b []byte, level int) error {
	if level > callLevels {
		return tooDeep
	}
	if len(b) > encodedBytes {
		return tooLong
	}
	return nil
}

// appendValue appends any value; level is the one that it has if it is an object or an array.
func (e *encoder) appendValue(b []byte, value any, level int) ([]byte, error) {
	switch v := value.(type) {
	case nil:
		return append(b, "null"...), nil
	case string:
		return appendText(b, v), nil
	case bool:
		return strconv.AppendBool(b, v), nil
	case int:
		return strconv.AppendInt(b, int64(v), 10), nil
	case int32:
		return strconv.AppendInt(b, int64(v), 10), nil
	case int64:
		return strconv.AppendInt(b, v, 10), nil
	case uint64:
		return strconv.AppendUint(b, v, 10), nil
	case float64:
		return appendFloat(b, v, 64)
	case float32:
		return appendFloat(b, float64(v), 32)
	case map[string]any:
		return e.appendMap(b, v, level)
	case []any:
		return e.appendList(b, v, level)
	}
	return e.appendOther(b, value, level)
}

// appendOther has encoding/json append a value. What the caller's own MarshalJSON may do, such as panic, is its cause.
func (e *encoder) appendOther(b []byte, value any, level int) (_ []byte, err error) {
	e.other = b
	defer func() {
		e.other = nil
		if r := recover(); r != nil {
			err = fmt.Errorf("encoding it panicked: %v", r)
		}
	}()
	if err := e.json.Encode(value); err != nil {
		return b, err
	}
	written := escapeTexts(e.other[:len(e.other)-1], len(b)) // Encode ends with a line feed
	if level-1+levels(written[len(b):]) > callLevels {
		return b, tooDeep
	}
	return written, nil
}

// Write takes what encoding/json writes for appendOther.
func (e *encoder) Write(p []byte) (int, error) {
	e.other = append(e.other, p...)
	return len(p), nil
}

// levels counts the objects and arrays within one another in a JSON text.
func levels(text []byte) (deepest int) {
	level, inText := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case inText && c == '\\':
			i++
		case c == '"':
			inText = !inText
		case inText:
		case c == '{' || c == '[':
			level++
			deepest = max(deepest, level)
		case c == '}' || c == ']':
			level--
		}
	}
	return deepest
}
