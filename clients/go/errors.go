package analytics

import "fmt"

// Error is what every method of this package returns when it fails, and what a [Failure] carries.
// Two of them match under [errors.Is] when their codes are equal, so that each can be compared with
// one of the Err variables, or with &Error{Code: "..."} for a code of the service that has none.
type Error struct {
	// Code says what is wrong, in snake_case. For a bad call it is the code that the service would answer with.
	Code string
	// Message says it to people, and what to do. It holds no values of the call, but may hold keys of its maps.
	Message string
	// Calls is how many calls it is about, for [ErrNotSent] and [ErrNotFlushed]; otherwise 0.
	Calls int
	// Err is the cause; nil when there is none.
	Err error
}

// Error returns code, message and cause in one line.
func (e *Error) Error() string { return "analytics: " + e.text() }

// text leaves out the package's name, for where that stands already.
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
	return err.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is reports whether target is an [Error] of the same code.
func (e *Error) Is(target error) bool {
	other, ok := target.(*Error)
	return ok && other != nil && other.Code == e.Code
}

// Settings: returned by every call, by Flush and by Close.
var (
	ErrWriteKeyRequired = &Error{Code: "write_key_required", Message: "New needs the write key of a source"}
	ErrInvalidEndpoint  = &Error{Code: "invalid_endpoint", Message: "Endpoint must be the http or https URL of the batch route, without user and password"}
	ErrInvalidOption    = &Error{Code: "invalid_option", Message: "a field of the client has a value that it cannot have"}
)

// Bad calls: they are not queued. All but the last three are rules of the service.
var (
	ErrNilMessage                = &Error{Code: "call_not_object", Message: "the message is nil"}
	ErrNoUserOrAnonymousId       = &Error{Code: "no_user_or_anonymous_id", Message: "UserId or AnonymousId is needed"}
	ErrUserIdRequired            = &Error{Code: "user_id_required", Message: "an alias needs UserId, the new id"}
	ErrPreviousIdRequired        = &Error{Code: "previous_id_required", Message: "an alias needs PreviousId, the id to alias from"}
	ErrGroupIdRequired           = &Error{Code: "group_id_required", Message: "a group needs GroupId"}
	ErrEventNotDefined           = &Error{Code: "event_not_defined", Message: "a track needs Event, the name of the action"}
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
	// ErrQueueFull: the call is not queued; what waits already is kept. Its text names the bound and the field that sets it.
	ErrQueueFull = &Error{Code: "queue_full", Message: "too much waits to be sent"}
	// ErrClosed: the call came after Close. In a [Failure]: it was taken, and was not sent in time; the service may
	// have it nevertheless, when a request was under way.
	ErrClosed = &Error{Code: "closed", Message: "the client is closed"}
	// ErrNotSent: Close could not have all calls sent that waited or were under way. Calls is how many, Err why the first of them
	// could not: it matches [ErrClosed], [ErrRejected] or [ErrGaveUp]. (Single calls of a batch that the service took do not count.)
	ErrNotSent = &Error{Code: "not_sent", Message: "calls could not be sent"}
	// ErrNotFlushed: Flush did not wait to the end. The calls still wait, and are sent as ever.
	ErrNotFlushed = &Error{Code: "not_flushed", Message: "calls still wait"}
)

// What may come of a batch, in a [Failure]. A single call of a batch that the service took is
// rejected with the service's own code instead, such as too_deep; with that of ErrRejected where it gave none.
var (
	// ErrRejected: an answer that is neither success nor worth a retry. Err has the service's code, where it gave one.
	ErrRejected = &Error{Code: "rejected", Message: "the service refused the batch"}
	// ErrGaveUp: the last retry failed too, or the next would come more than 45 minutes after the first try. Err is why the last try failed.
	ErrGaveUp = &Error{Code: "gave_up", Message: "the batch could not be sent"}
)

// because returns an error of the same code with a message and a cause of its own.
func (e *Error) because(message string, cause error) *Error {
	return &Error{Code: e.Code, Message: message, Err: cause}
}

// about returns an error of the same code on so many calls.
func (e *Error) about(calls int, what string, cause error) *Error {
	return &Error{Code: e.Code, Message: counted(calls, "call", "calls") + " " + what, Calls: calls, Err: cause}
}

func counted(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprint(n, " ", more)
}
