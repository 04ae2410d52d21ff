package analytics

import (
	"errors"
	"fmt"
	"time"
)

// retryFor limits all attempts of a batch. The service drops duplicates for an hour, among the last million calls of a partition:
// a batch whose response was lost must not be sent later.
const retryFor = 45 * time.Minute

// elapsed uses the clock that shows more: the monotonic one stops while the machine sleeps, the other can be set back.
func elapsed(began, now time.Time) time.Duration {
	return max(now.Sub(began), now.Round(0).Sub(began.Round(0)))
}

type retryFacts struct {
	tries      int
	maxRetries int           // negative: none
	elapsed    time.Duration // since the start of the first attempt
	wait       time.Duration // before the next attempt
}

// gaveUp returns why a batch is not retried, or nil. last is the answer to its last attempt.
func gaveUp(f retryFacts, last *answer) *Error {
	unsent, tries := "the batch could not be sent to "+last.endpoint, counted(f.tries, "attempt", "attempts")
	switch {
	case f.tries > f.maxRetries && last.judge() == refused:
		return refusal(last)
	case f.tries > f.maxRetries:
		return ErrGaveUp.because(unsent+" in "+tries, last.reason())
	case f.wait >= retryFor-f.elapsed: // a sum could overflow
		return ErrGaveUp.because(fmt.Sprintf("%s within %.0f minutes, in %s", unsent, retryFor.Minutes(), tries), last.reason())
	}
	return nil
}

var errNoAnswerYet = errors.New("no response yet")

// abandoned says why a batch was not sent; if it had no attempt, why the batch before it was not.
func abandoned(tries int, reason, cause error) *Error {
	message := "Close ended before it could be sent"
	switch {
	case reason == nil:
	case tries > 0:
		message += fmt.Sprintf(" (last attempt: %s)", textOf(reason))
	default:
		message += fmt.Sprintf(" (not attempted; the batch before it: %s)", textOf(reason))
	}
	return ErrClosed.because(message, cause)
}

// passesWithin returns how long a temporary refusal can last, and 0 for others. A new source is unknown until each process of the
// service has read it. A disabled source may be enabled again.
func passesWithin(a *answer) time.Duration {
	if fault := a.fault(); fault != nil {
		switch fault.Code {
		case "unknown_source":
			return 10 * time.Second
		case "source_disabled":
			return time.Minute
		}
	}
	return 0
}

// refusal names the endpoint, because another route's message would wrongly blame the calls.
func refusal(a *answer) *Error {
	message := fmt.Sprintf("POST %s: status %d", a.endpoint, a.status)
	if fault := a.fault(); fault != nil {
		return ErrRejected.because(message, fault)
	}
	return ErrRejected.because(message, nil)
}

// longestBackoff limits the wait between two attempts, except for Retry-After.
const longestBackoff = 10 * time.Second

// backoff returns the wait after the given number of attempts, at least 1: capped exponential backoff with full jitter. random is in
// [0, 1).
func backoff(tries int, base time.Duration, random float64) time.Duration {
	ceiling := longestBackoff
	if doublings := tries - 1; doublings < 30 && base <= longestBackoff>>doublings {
		ceiling = base << doublings
	}
	return time.Duration(random * float64(ceiling))
}
