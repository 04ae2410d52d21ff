package analytics

import (
	"encoding/json"
	"math"
	"reflect"
	"strconv"
)

// appendFloat appends the shortest number that reads back the same, in the form of ECMAScript (ECMA-262, Number::toString) but for -0,
// as encoding/json does: with an exponent below 1e-6 and from 1e21 on. It fails for what JSON has no number for.
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
