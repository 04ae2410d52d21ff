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

// answer is what came of one try.
type answer struct {
	endpoint   string // that was asked, as it may be shown
	status     int    // 0 when there was none
	retryAfter string // the header, as it came
	body       []byte
	err        error // why there was none
}

// verdict on a try.
type verdict int

const (
	taken    verdict = iota
	refused          // for good: the same body would be refused again
	tryAgain         // a later try may succeed
)

// judge: success is status 200 and {"success": true}, and nothing else (the service's contract). A network error, 429 and 5xx are
// tried again; so is another 200, which is that of somebody in between, or of another service, until the endpoint is set right.
func (a *answer) judge() verdict {
	switch {
	case a.err != nil:
		return tryAgain
	case a.status == http.StatusOK && a.saysSuccess():
		return taken
	case a.status == http.StatusOK || a.status == http.StatusTooManyRequests || a.status >= 500 && a.status <= 599:
		return tryAgain
	}
	return refused
}

// saysSuccess looks at this key alone: rejections reads the others.
func (a *answer) saysSuccess() bool {
	var said map[string]json.RawMessage // a struct would take "Success" too
	return json.Unmarshal(a.body, &said) == nil && string(said["success"]) == "true"
}

// String is for the log.
func (a *answer) String() string {
	if a.err != nil {
		return "none: " + a.err.Error()
	}
	return fmt.Sprintf("status %d, %s", a.status, counted(len(a.body), "byte", "bytes"))
}

// reason says what was wrong with a try that did not succeed.
func (a *answer) reason() error {
	if a.err != nil {
		return a.err
	}
	if a.status == http.StatusOK {
		return errors.New(`answered 200 without {"success": true}; is the endpoint Sluice's?`)
	}
	if said := a.said(); said != nil {
		return said.because(fmt.Sprintf("status %d: %s", a.status, said.Message), nil)
	}
	return fmt.Errorf("status %d", a.status)
}

// said returns what the service itself says is wrong; nil where it has no code for it.
func (a *answer) said() *Error {
	var said struct{ Code, Message string }
	if json.Unmarshal(a.body, &said) != nil || said.Code == "" {
		return nil
	}
	return &Error{Code: cut(said.Code), Message: cut(said.Message)}
}

// rejection is one call of a batch that was not taken, by its place in it.
type rejection struct {
	Index   int
	Code    string
	Message string
}

// rejections returns those of a batch of so many calls, at most one for each. What cannot be read of one does not hide the others.
func (a *answer) rejections(calls int) (rejections []rejection) {
	if !bytes.Contains(a.body, []byte(`"rejected"`)) {
		return nil
	}
	var said struct{ Rejected []json.RawMessage }
	if json.Unmarshal(a.body, &said) != nil {
		return nil
	}
	seen := make(map[int]bool, len(said.Rejected))
	for _, item := range said.Rejected {
		r, ok := readRejection(item, calls)
		if ok && !seen[r.Index] {
			seen[r.Index] = true
			rejections = append(rejections, r)
		}
	}
	return rejections
}

// readRejection needs nothing but the place: what points to no call of the batch is none.
func readRejection(item json.RawMessage, calls int) (r rejection, ok bool) {
	var said struct{ Index, Code, Message any }
	if json.Unmarshal(item, &said) != nil {
		return r, false
	}
	index, isNumber := said.Index.(float64)
	if !isNumber || index < 0 || index >= float64(calls) || index != math.Trunc(index) {
		return r, false
	}
	code, _ := said.Code.(string)
	message, _ := said.Message.(string)
	return rejection{
		Index:   int(index),
		Code:    or(cut(code), ErrRejected.Code),
		Message: or(cut(message), "the service does not say why"),
	}, true
}

// cut bounds what another system says before it comes into errors and logs.
func cut(text string) string {
	const most = 300
	if len(text) <= most {
		return text
	}
	return text[:most] + "..."
}

// longestRetryAfter bounds what a service can ask for.
const longestRetryAfter = 300 * time.Second

// retryAfterOf reads a Retry-After header (RFC 9110, 10.2.3): whole seconds or a date. 0 for anything else, and for a date that is past.
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
