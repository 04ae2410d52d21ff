package analytics

import (
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
)

// callLevels is the service's limit for nested objects and arrays, including the call itself.
const callLevels = 64

// encodedBytes is where encoding stops: a map referenced in many places could expand without end.
const encodedBytes = 32 * callBytes

type stop string

const (
	tooDeep stop = "too deep"
	tooLong stop = "too long"
)

func (s stop) Error() string { return string(s) }

// appendMap appends an object with its keys in ascending byte order, as encoding/json does. Common types are written here without
// allocation; all others through encoding/json.
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

// appendValue appends any value; level is its level if it is an object or an array.
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

// appendOther appends a value with encoding/json. A panic of the caller's MarshalJSON becomes an error.
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

func (e *encoder) Write(p []byte) (int, error) {
	e.other = append(e.other, p...)
	return len(p), nil
}

// levels returns the deepest nesting of objects and arrays in a JSON text.
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

// appendFloat appends the shortest number that reads back the same, as encoding/json does: in the form of ECMAScript (ECMA-262,
// Number::toString) except for -0, with an exponent below 1e-6 and from 1e21. It fails for NaN and infinities.
func appendFloat(b []byte, f float64, bits int) ([]byte, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return b, &json.UnsupportedValueError{Value: reflect.ValueOf(f), Str: strconv.FormatFloat(f, 'g', -1, bits)}
	}
	if !needsExponent(f, bits) {
		return strconv.AppendFloat(b, f, 'f', -1, bits), nil
	}
	b = strconv.AppendFloat(b, f, 'e', -1, bits)
	if n := len(b); n >= 4 && b[n-4] == 'e' && b[n-2] == '0' { // e-09
		b = append(b[:n-2], b[n-1])
	}
	return b, nil
}

func needsExponent(f float64, bits int) bool {
	size := math.Abs(f)
	if bits == 32 {
		return size != 0 && (float32(size) < 1e-6 || float32(size) >= 1e21)
	}
	return size != 0 && (size < 1e-6 || size >= 1e21)
}
