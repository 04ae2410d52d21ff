package analytics

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"
)

// callBytes is the service's limit for one call as compact JSON, inclusive, in bytes of UTF-8.
const callBytes = 32 * 1024

// timeForm is ISO 8601 in UTC with milliseconds; timeBytes is its length.
const (
	timeForm  = "2006-01-02T15:04:05.000Z"
	timeBytes = len(timeForm)
)

// encoder turns calls into JSON, for one goroutine at a time.
type encoder struct {
	ids   ids
	item  []byte   // the last encoded call
	keys  []string // of the maps being written, outer before inner
	other []byte   // output of encoding/json so far
	json  *json.Encoder
}

var encoders = sync.Pool{New: func() any {
	e := &encoder{}
	e.json = json.NewEncoder(e)
	e.json.SetEscapeHTML(false)
	return e
}}

// release returns an encoder to the pool, unless it has grown large.
func (e *encoder) release() {
	if cap(e.item) > 2*callBytes || cap(e.keys) > 4096 {
		return
	}
	clear(e.keys[:cap(e.keys)]) // do not retain the caller's strings
	encoders.Put(e)
}

// encode returns a call as compact JSON, valid until the next call of encode. now is the default timestamp.
func (e *encoder) encode(c *call, now time.Time) ([]byte, *Error) {
	b, err := e.append(e.item[:0], c, now)
	e.item = b
	if err != nil {
		return nil, toError(err)
	}
	if len(b) > callBytes {
		return nil, tooLarge(fmt.Sprint(len(b)))
	}
	return b, nil
}

func toError(err error) *Error {
	where, cause := "it", err
	if within, ok := err.(*valueError); ok {
		if first, again, found := within.circle(); found {
			return ErrNotSerialisable.because(fmt.Sprintf("%s refers to itself, as %s", first, again), nil)
		}
		where, cause = within.path(len(within.keys)), within.cause
	}
	switch cause {
	case tooLong:
		return tooLarge(fmt.Sprintf("more than %d", encodedBytes))
	case tooDeep:
		return ErrTooDeep
	}
	return ErrNotSerialisable.because(where+" cannot be written as JSON", cause)
}

func tooLarge(size string) *Error {
	return ErrCallTooLarge.because(fmt.Sprintf("the call has %s bytes of JSON, but may have at most %d", size, callBytes), nil)
}

// append writes the keys in the same order as all client libraries.
func (e *encoder) append(b []byte, c *call, now time.Time) (_ []byte, err error) {
	b = append(append(b, `{"type":"`...), c.kind...)
	b = append(b, `","messageId":`...)
	if b, err = e.appendId(b, c.messageId, now); err != nil {
		return b, err
	}
	b = append(b, `,"timestamp":"`...)
	switch {
	case c.timestamp != "":
		b = append(b, c.timestamp...) // checked by isTime: needs no escape
	case !c.time.IsZero():
		b = c.time.UTC().AppendFormat(b, timeForm)
	default:
		b = now.UTC().AppendFormat(b, timeForm)
	}
	b = append(b, '"')
	b = appendField(b, `,"userId":`, c.userId)
	b = appendField(b, `,"anonymousId":`, c.anonymousId)
	b = appendField(b, `,"previousId":`, c.previousId)
	b = appendField(b, `,"groupId":`, c.groupId)
	b = appendField(b, `,"event":`, c.event)
	b = appendField(b, `,"category":`, c.category)
	b = appendField(b, `,"name":`, c.name)
	for _, field := range [...]struct {
		name string
		m    map[string]any
	}{{"properties", c.properties}, {"traits", c.traits}, {"context", c.context}, {"integrations", c.integrations}} {
		if field.m == nil {
			continue
		}
		b = append(append(append(b, `,"`...), field.name...), `":`...)
		if b, err = e.appendMap(b, field.m, 2); err != nil {
			return b, at(field.name, err)
		}
	}
	return append(b, '}'), nil
}

func (e *encoder) appendId(b []byte, given string, now time.Time) ([]byte, error) {
	if given != "" {
		return appendText(b, given), nil
	}
	b, err := e.ids.append(append(b, '"'), now)
	return append(b, '"'), err
}

func appendField(b []byte, key, value string) []byte {
	if value == "" {
		return b
	}
	return appendText(append(b, key...), value)
}

// valueError says where in a call a value cannot be written. Both lists go from the inside out.
type valueError struct {
	keys    []string
	holders []holder // of these keys, except the outermost, which is a field of the call
	cause   error
}

type holder struct {
	at     uintptr
	length int
}

func (e *valueError) Error() string { return e.cause.Error() }

// at adds the key of the value that caused err, and the map or list that contains it.
func at(key string, err error, holders ...any) error {
	within, ok := err.(*valueError)
	if !ok {
		within = &valueError{cause: err}
	}
	within.keys = append(within.keys, key)
	for _, each := range holders {
		v := reflect.ValueOf(each)
		within.holders = append(within.holders, holder{v.Pointer(), v.Len()})
	}
	return within
}

func (e *valueError) path(keys int) string {
	path := slices.Clone(e.keys[len(e.keys)-keys:])
	slices.Reverse(path)
	return strings.Join(path, ".")
}

// circle returns the path of a map or a list that contains itself, and where it occurs again.
func (e *valueError) circle() (first, again string, found bool) {
	last := len(e.holders) - 1
	for depth := 1; depth <= last; depth++ {
		for outer := 0; outer < depth; outer++ {
			if e.holders[last-depth] == e.holders[last-outer] {
				return e.path(outer + 1), e.path(depth + 1), true
			}
		}
	}
	return "", "", false
}
