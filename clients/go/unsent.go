package analytics

import (
	"errors"
	"fmt"
	"time"
)

// retryFor bounds the tries of a batch, from the beginning of the first to the end of the last. It is well below the hour for which the
// service drops what it has already: an answer may be lost, and a batch that was taken must not be sent when that is forgotten.
const retryFor = 45 * time.Minute

// retryFacts is what decides on whether a batch is tried again.
type retryFacts struct {
	tries      int
	maxRetries int           // negative: none
	elapsed    time.Duration // since the first try began
	wait       time.Duration // that comes before the next
}

// gaveUp returns why a batch is not tried again, last being the answer to its last try; nil when it is.
func gaveUp(f retryFacts, last *answer) *Error {
	tries := counted(f.tries, "try", "tries")
	switch {
	case f.tries > f.maxRetries:
		return ErrGaveUp.because("the batch could not be sent in "+tries, last.reason())
	case f.elapsed+f.wait >= retryFor:
		return ErrGaveUp.because(fmt.Sprintf("the batch could not be sent within %.0f minutes, in %s", retryFor.Minutes(), tries), last.reason())
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

func refusal(a *answer) *Error {
	return ErrRejected.because(fmt.Sprintf("the service refused the batch with status %d", a.status), a.reason())
}
