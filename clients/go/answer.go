package analytics

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"
)

type answer struct {
	endpoint   string // requested URL without secrets
	status     int    // 0 if there was no response
	retryAfter string // the header
	body       []byte
	err        error // why there was no response
}

type verdict int

const (
	accepted verdict = iota
	refused          // final: a retry would be refused too
	retryLater
)

// judge: only status 200 with {"success": true} is success. Any other 200 comes from another server and is retried, like network
// errors, 408 (the request did not arrive in time), 429 and 5xx.
func (a *answer) judge() verdict {
	switch {
	case a.err != nil:
		return retryLater
	case a.status == http.StatusOK && a.saysSuccess():
		return accepted
	case a.status == http.StatusOK || a.status == http.StatusRequestTimeout || a.status == http.StatusTooManyRequests,
		a.status >= 500 && a.status <= 599:
		return retryLater
	}
	return refused
}

func (a *answer) saysSuccess() bool {
	var fields map[string]json.RawMessage // a struct would also match "Success"
	return json.Unmarshal(a.body, &fields) == nil && string(fields["success"]) == "true"
}

func (a *answer) String() string {
	if a.err != nil {
		return "none: " + textOf(a.err)
	}
	return fmt.Sprintf("status %d, %s", a.status, counted(len(a.body), "byte", "bytes"))
}

func (a *answer) reason() error {
	if a.err != nil {
		return a.err
	}
	if a.status == http.StatusOK {
		return errors.New(`got 200 without {"success": true}; is Endpoint an address of Sluice?`)
	}
	if fault := a.fault(); fault != nil {
		return fault.because(fmt.Sprintf("status %d: %s", a.status, fault.Message), nil)
	}
	return fmt.Errorf("status %d", a.status)
}

// fault returns the service's own error; nil if the response has no code.
func (a *answer) fault() *Error {
	var body struct{ Code, Message string }
	if json.Unmarshal(a.body, &body) != nil || body.Code == "" {
		return nil
	}
	return &Error{Code: cut(body.Code), Message: cut(body.Message)}
}

// rejection is a call that the service rejected, by its index in the batch.
type rejection struct {
	Index   int
	Code    string
	Message string
}

// rejections returns at most one rejection per call. An unreadable entry does not hide the others.
func (a *answer) rejections(calls int) (rejections []rejection) {
	if !bytes.Contains(a.body, []byte(`"rejected"`)) {
		return nil
	}
	var body struct{ Rejected []json.RawMessage }
	if json.Unmarshal(a.body, &body) != nil {
		return nil
	}
	seen := make(map[int]bool, len(body.Rejected))
	for _, item := range body.Rejected {
		r, ok := readRejection(item, calls)
		if ok && !seen[r.Index] {
			seen[r.Index] = true
			rejections = append(rejections, r)
		}
	}
	return rejections
}

// readRejection requires only a valid index.
func readRejection(item json.RawMessage, calls int) (r rejection, ok bool) {
	var fields struct{ Index, Code, Message any }
	if json.Unmarshal(item, &fields) != nil {
		return r, false
	}
	index, isNumber := fields.Index.(float64)
	if !isNumber || index < 0 || index >= float64(calls) || index != math.Trunc(index) {
		return r, false
	}
	code, _ := fields.Code.(string)
	message, _ := fields.Message.(string)
	return rejection{
		Index:   int(index),
		Code:    or(cut(code), ErrRejected.Code),
		Message: or(cut(message), "the service gave no reason"),
	}, true
}

// rejectedUnlisted returns how many rejected calls the service does not list. They come after the listed ones.
func (a *answer) rejectedUnlisted() int {
	if !bytes.Contains(a.body, []byte(`"rejectedUnlisted"`)) {
		return 0
	}
	var body struct{ RejectedUnlisted int }
	if json.Unmarshal(a.body, &body) != nil {
		return 0
	}
	return body.RejectedUnlisted
}

// cut limits foreign text in errors and logs.
func cut(text string) string {
	const most = 300
	if len(text) <= most {
		return text
	}
	return text[:most] + "..."
}

const longestRetryAfter = 300 * time.Second

// retryAfterOf reads a Retry-After header (RFC 9110, 10.2.3): whole seconds or a date. 0 for anything else and for past dates.
func retryAfterOf(header string, now time.Time) time.Duration {
	if header == "" {
		return 0
	}
	if seconds, err := strconv.ParseUint(header, 10, 64); err == nil || errors.Is(err, strconv.ErrRange) {
		return time.Duration(min(seconds, uint64(longestRetryAfter/time.Second))) * time.Second
	}
	at, err := http.ParseTime(header)
	if err != nil {
		return 0
	}
	return min(max(at.Sub(now), 0), longestRetryAfter)
}
