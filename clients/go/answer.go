package analytics

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"
)

// answer is what came of one try.
type answer struct {
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

// judge: success is status 200 and no other (the service's contract). A network error, 429 and 5xx are tried again.
func (a *answer) judge() verdict {
	switch {
	case a.err != nil:
		return tryAgain
	case a.status == http.StatusOK:
		return taken
	case a.status == http.StatusTooManyRequests || a.status >= 500 && a.status <= 599:
		return tryAgain
	}
	return refused
}

// describe is for the log.
func (a *answer) describe() string {
	if a.err != nil {
		return "none: " + a.err.Error()
	}
	return fmt.Sprintf("status %d, %d bytes", a.status, len(a.body))
}

// reason says what was wrong with a try that did not succeed.
func (a *answer) reason() error {
	if a.err != nil {
		return a.err
	}
	var said struct{ Code, Message string }
	if json.Unmarshal(a.body, &said) == nil && said.Code != "" {
		return &Error{Code: cut(said.Code), Message: fmt.Sprintf("status %d: %s", a.status, cut(said.Message))}
	}
	return fmt.Errorf("status %d", a.status)
}

// rejection is one call of a batch that was not taken, by its place in it.
type rejection struct {
	Index   int
	Code    string
	Message string
}

// rejections returns those of a batch of so many calls, at most one for each. A body that is no JSON has none: it is the status
// that says that the others are taken.
func (a *answer) rejections(calls int) []rejection {
	if !bytes.Contains(a.body, []byte(`"rejected"`)) {
		return nil
	}
	var said struct{ Rejected []rejection }
	if json.Unmarshal(a.body, &said) != nil {
		return nil
	}
	seen := make(map[int]bool, len(said.Rejected))
	kept := said.Rejected[:0]
	for _, r := range said.Rejected {
		if r.Index < 0 || r.Index >= calls || seen[r.Index] {
			continue
		}
		seen[r.Index] = true
		kept = append(kept, rejection{Index: r.Index, Code: cut(r.Code), Message: cut(r.Message)})
	}
	return kept
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
	if isDigits(header) {
		seconds, err := strconv.Atoi(header)
		if err != nil || seconds > int(longestRetryAfter/time.Second) {
			return longestRetryAfter
		}
		return time.Duration(seconds) * time.Second
	}
	at, err := http.ParseTime(header)
	if err != nil {
		return 0
	}
	return min(max(at.Sub(now), 0), longestRetryAfter)
}

func isDigits(text string) bool { return startsWithDigits(text, len(text)) }
