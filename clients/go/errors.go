package analytics

import "fmt"

// Error is the error of all methods of this package and of a [Failure]. Errors with equal codes match with [errors.Is]: compare with
// an Err variable, or with &Error{Code: "..."} for another code of the service.
type Error struct {
	// Code is in snake_case. For an invalid call it is the service's own code.
	Code string
	// Message is for people. It contains no values of the call, but may contain keys of its maps.
	Message string
	// Calls is the number of calls, for [ErrNotSent] and [ErrNotFlushed]; otherwise 0.
	Calls int
	// Err is the cause, or nil.
	Err error
}

// Error returns code, message and cause.
func (e *Error) Error() string { return "analytics: " + e.text() }

// text is Error without the package name.
func (e *Error) text() string {
	text := e.Code + ": " + e.Message
	if e.Err != nil {
		text += ": " + textOf(e.Err)
	}
	return text
}

func textOf(err error) string {
	if coded, ok := err.(*Error); ok {
		return coded.text()
	}
	return fmt.Sprint(err) // never panics, unlike err.Error(): an HTTPClient may return a nil pointer as an error
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is reports whether target is an [Error] with the same code.
func (e *Error) Is(target error) bool {
	other, ok := target.(*Error)
	return ok && other != nil && other.Code == e.Code
}

// Invalid settings: returned by every call, by Flush and by Close.
var (
	ErrWriteKeyRequired = &Error{Code: "write_key_required", Message: "New requires the write key of a source"}
	ErrInvalidEndpoint  = &Error{Code: "invalid_endpoint", Message: "Endpoint must be the http or https URL of the batch route, without user and password"}
	ErrInvalidOption    = &Error{Code: "invalid_option", Message: "a field of the client has an invalid value"}
)

// Invalid calls, which are not queued.
var (
	ErrNilMessage                = &Error{Code: "call_not_object", Message: "the message is nil, or not one of this package"}
	ErrNoUserOrAnonymousId       = &Error{Code: "no_user_or_anonymous_id", Message: "UserId or AnonymousId is required"}
	ErrUserIdRequired            = &Error{Code: "user_id_required", Message: "Alias requires UserId, the new id"}
	ErrPreviousIdRequired        = &Error{Code: "previous_id_required", Message: "Alias requires PreviousId, the old id"}
	ErrGroupIdRequired           = &Error{Code: "group_id_required", Message: "Group requires GroupId"}
	ErrEventNotDefined           = &Error{Code: "event_not_defined", Message: "Track requires Event, the name of the action"}
	ErrIntegrationsAllNotBoolean = &Error{Code: "integrations_all_not_boolean", Message: `"All" of Integrations must be true or false`}
	ErrIntegrationsNotObject     = &Error{Code: "integrations_not_object", Message: `Context["integrations"] must be a map`}
	ErrCallTooLarge              = &Error{Code: "call_too_large", Message: "a call may have at most 32,768 bytes of JSON"}
	ErrTooDeep                   = &Error{Code: "too_deep", Message: "the call is nested deeper than 64 levels"}
	ErrMessageIdTooLong          = &Error{Code: "message_id_too_long", Message: "MessageId may have at most 100 characters"}
	ErrInvalidTimestamp          = &Error{Code: "invalid_timestamp", Message: "Timestamp must be ISO 8601, such as 2026-01-02T03:04:05.678Z"}
	ErrNotSerialisable           = &Error{Code: "not_serialisable", Message: "the call cannot be written as JSON"}
)

// The queue.
var (
	// ErrQueueFull: the call is not queued. The message names the limit and its field.
	ErrQueueFull = &Error{Code: "queue_full", Message: "the queue is full"}
	// ErrClosed: the call came after Close. In a [Failure]: the call was queued but not sent in time; if a request was in progress,
	// the service may have received it.
	ErrClosed = &Error{Code: "closed", Message: "the client is closed"}
	// ErrNotSent: Close could not send all queued calls. Calls is their number, Err the first error ([ErrClosed], [ErrRejected] or
	// [ErrGaveUp]). Single rejected calls of an accepted batch do not count.
	ErrNotSent = &Error{Code: "not_sent", Message: "calls could not be sent"}
	// ErrNotFlushed: the context of Flush was done first. The calls are still queued and will be sent.
	ErrNotFlushed = &Error{Code: "not_flushed", Message: "calls are still queued"}
)

// Errors of a [Failure] of a whole batch.
var (
	// ErrRejected: the response is neither success nor worth a retry. Err has the service's code, if it gave one.
	ErrRejected = &Error{Code: "rejected", Message: "the service rejected the batch"}
	// ErrGaveUp: the last retry failed, or the next one would be more than 45 minutes after the first attempt. Err is the last error.
	ErrGaveUp = &Error{Code: "gave_up", Message: "the batch could not be sent"}
)

// because returns an error with the same code, and the given message and cause.
func (e *Error) because(message string, cause error) *Error {
	return &Error{Code: e.Code, Message: message, Err: cause}
}

// about returns an error with the same code for a number of calls.
func (e *Error) about(calls int, what string, cause error) *Error {
	return &Error{Code: e.Code, Message: counted(calls, "call", "calls") + " " + what, Calls: calls, Err: cause}
}

func counted(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprint(n, " ", more)
}
