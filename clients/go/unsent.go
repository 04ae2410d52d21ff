package analytics

import (
	"errors"
	"fmt"
	"time"
)

// retryFor bounds the tries of a batch, from the beginning of the first to the end of the last. It is well below the hour for which the
// service drops what it has already: an answer may be lost, and a batch that was taken must not be sent when that is forgotten. It is
// forgotten sooner where the hour has more than a million calls of a partition.
const retryFor = 45 * time.Minute

// elapsed goes by the clock that says more: the monotonic one stands still while the machine sleeps, the other may be set back.
func elapsed(began, now time.Time) time.Duration {
	return max(now.Sub(began), now.Round(0).Sub(began.Round(0)))
}

// retryFacts is what decides on whether a batch is tried again.
type retryFacts struct {
	tries      int
	maxRetries int           // negative: none
	elapsed    time.Duration // since the first try began
	wait       time.Duration // that comes before the next
}

// gaveUp returns why a batch is not tried again, last being the answer to its last try; nil when it is.
func gaveUp(f retryFacts, last *answer) *Error {
	unsent, tries := "the batch could not be sent to "+last.endpoint, counted(f.tries, "try", "tries")
	switch {
	case f.tries > f.maxRetries && last.judge() == refused:
		return refusal(last)
	case f.tries > f.maxRetries:
		return ErrGaveUp.because(unsent+" in "+tries, last.reason())
	case f.elapsed+f.wait >= retryFor:
		return ErrGaveUp.because(fmt.Sprintf("%s within %.0f minutes, in %s", unsent, retryFor.Minutes(), tries), last.reason())
	}
	return nil
}

var errNoAnswerYet = errors.New("no answer yet")

// abandoned says what kept a batch from being sent, so far as it is known; for one that had no try, what kept the one before it.
func abandoned(tries int, reason, cause error) *Error {
	message := "Close ended before it could be sent"
	switch {
	case reason == nil:
	case tries > 0:
		message += fmt.Sprintf(" (last try: %s)", textOf(reason))
	default:
		message += fmt.Sprintf(" (not tried; the batch before it: %s)", textOf(reason))
	}
	return ErrClosed.because(message, cause)
}

// passesWithin returns how long the service may go on with a refusal that may pass by itself; 0 for all others. A new source is unknown
// until each process of the service has read of it, mostly for less than a second. One that is switched off may be switched on again.
func passesWithin(a *answer) time.Duration {
	if said := a.said(); said != nil {
		switch said.Code {
		case "unknown_source":
			return 10 * time.Second
		case "source_disabled":
			return time.Minute
		}
	}
	return 0
}

// refusal names the endpoint: that of another route answers in words that look for the fault in the calls.
func refusal(a *answer) *Error {
	message := fmt.Sprintf("POST %s: status %d", a.endpoint, a.status)
	if said := a.said(); said != nil {
		return ErrRejected.because(message, said)
	}
	return ErrRejected.because(message, nil)
}
