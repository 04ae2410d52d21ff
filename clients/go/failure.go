package analytics

import "encoding/json"

// Failure describes calls that will not arrive, and why. They are not sent again.
type Failure struct {
	// Err matches, with [errors.Is], one of: [ErrRejected], the service rejected the batch; [ErrGaveUp], no attempt succeeded;
	// [ErrClosed], Close ended before they were sent. For a single rejected call of an accepted batch, it has the service's code,
	// such as too_deep, or rejected if the service gave none.
	Err *Error
	// Status is the HTTP status of the last response; 0 if there was none.
	Status int
	// Tries is the number of attempts.
	Tries int
	// Messages are the calls, in order.
	Messages []FailedMessage
}

// FailedMessage is a queued call that failed.
type FailedMessage struct {
	Type      string // "identify", "track", "page", "group" or "alias"
	MessageId string
	JSON      []byte // as it was sent; a copy
}

func failedMessages(b *batch, places ...int) []FailedMessage {
	if len(places) == 0 {
		places = make([]int, b.calls())
		for i := range places {
			places[i] = i
		}
	}
	messages := make([]FailedMessage, 0, len(places))
	for _, place := range places {
		messages = append(messages, describe(b.call(place)))
	}
	return messages
}

func describe(call []byte) FailedMessage {
	var named struct{ Type, MessageId string }
	_ = json.Unmarshal(call, &named)
	return FailedMessage{Type: named.Type, MessageId: named.MessageId, JSON: append([]byte(nil), call...)}
}

// reporter passes failed calls to the callback, or to the log if there is none. Nothing is dropped silently.
type reporter struct {
	onFailure func(Failure)
	journal   journal
}

func (r *reporter) report(b *batch, o outcome) {
	if o.err != nil {
		r.tell(Failure{Err: o.err, Status: o.status, Tries: o.tries}, b)
	}
	for _, rejected := range o.rejections {
		r.tell(Failure{
			Err:    &Error{Code: rejected.Code, Message: rejected.Message},
			Status: o.status,
			Tries:  o.tries,
		}, b, rejected.Index)
	}
	if n := len(o.rejections); n > 0 && r.onFailure == nil {
		r.journal.printf("%d of %s rejected, the first with %q: %q; set OnFailure to get them",
			n, counted(b.calls(), "call", "calls"), o.rejections[0].Code, o.rejections[0].Message)
	}
	if o.err != nil && r.onFailure == nil {
		r.journal.printf("%s lost after %s: %q; set OnFailure to get them",
			counted(b.calls(), "call", "calls"), counted(o.tries, "attempt", "attempts"), o.err.text())
	}
}

// tell calls the callback. Its panic is only logged, so that it does not end the sender.
func (r *reporter) tell(f Failure, b *batch, places ...int) {
	if r.onFailure == nil {
		return
	}
	f.Messages = failedMessages(b, places...)
	if ended := guarded(func() { r.onFailure(f) }); ended != nil {
		r.journal.printf("OnFailure %v", ended)
	}
}
