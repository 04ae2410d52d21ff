package analytics

import (
	"encoding/json"
	"fmt"
	"sync"
	"time"
)

// callBytes is the service's limit for one call as compact JSON, in bytes of UTF-8. Exactly at it is within it.
const callBytes = 32 * 1024

// timeForm is ISO 8601 in UTC with milliseconds; timeBytes is its length.
const (
	timeForm  = "2006-01-02T15:04:05.000Z"
	timeBytes = len(timeForm)
)

// encoder turns calls into JSON. It is used by one goroutine at a time, and kept for others.
type encoder struct {
	ids   ids
	item  []byte   // the call that was encoded last
	keys  []string // of the maps that are being written, those of inner ones behind those of outer ones
	other []byte   // what encoding/json has written so far
	json  *json.Encoder
}

var encoders = sync.Pool{New: func() any {
	e := &encoder{}
	e.json = json.NewEncoder(e)
	e.json.SetEscapeHTML(false)
	return e
}}

// release gives an encoder back. One that holds much, after a call that was too large, is left to the collector.
func (e *encoder) release() {
	if cap(e.item) > 2*callBytes || cap(e.keys) > 4096 {
		return
	}
	clear(e.keys[:cap(e.keys)]) // they are the caller's
	encoders.Put(e)
}

// encode returns a call as compact JSON; it is valid until the next one. now stands in for a timestamp.
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
	return ErrCallTooLarge.because(fmt.Sprintf("the call has %s bytes of JSON and may have at most %d", size, callBytes), nil)
}

// append has the keys in the order that all client libraries have.
func (e *encoder) append(b []byte, c *call, now time.Time) (_ []byte, err error) {
	b = append(append(b, `{"type":"`...), c.kind...)
	b = append(b, `","messageId":`...)
	if b, err = e.appendId(b, c.messageId, now); err != nil {
		return b, err
	}
	b = append(b, `,"timestamp":"`...)
	if c.timestamp != "" {
		b = append(b, c.timestamp...) // isTime has seen it: nothing in it needs an escape
	} else {
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
