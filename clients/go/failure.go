package analytics

import (
	"encoding/json"
	"fmt"
)

// Failure describes calls that will not arrive, and why. They are not sent again.
type Failure struct {
	// Err matches one of: [ErrRejected], the service rejected the batch; [ErrGaveUp], no attempt succeeded;
	// [ErrClosed], Close ended before they were sent. For a single rejected call of an accepted batch, it has the service's code,
	// such as too_deep, or rejected if the service gave none. If the answer counts rejected calls that it does not list,
	// one Failure has all calls after the listed ones, although some may have been accepted.
	Err *Error
	// Status is the HTTP status of the last response; 0 if there was none.
	Status int
	// Tries is the number of attempts.
	Tries int
	// Messages are the calls, in order.
	Messages []FailedMessage
}

// QueuedMessage is a call as it was queued and sent.
type QueuedMessage struct {
	Type      string // "identify", "track", "page", "screen", "group" or "alias"
	MessageId string
	JSON      []byte // a copy
}

// FailedMessage is a queued call that failed.
type FailedMessage = QueuedMessage

func failedMessages(b *batch, places []int) []FailedMessage {
	messages := make([]FailedMessage, 0, len(places))
	for _, place := range places {
		messages = append(messages, describe(b.call(place)))
	}
	return messages
}

func describe(call []byte) QueuedMessage {
	var named struct{ Type, MessageId string }
	_ = json.Unmarshal(call, &named)
	return QueuedMessage{Type: named.Type, MessageId: named.MessageId, JSON: append([]byte(nil), call...)}
}

// reporter passes failed calls to the callbacks, or to the log if there is none.
type reporter struct {
	onFailure func(Failure)
	journal   journal
}

func (r *reporter) report(b *batch, o outcome) {
	failed := map[int]*Error{} // by place in the batch
	if o.err != nil {
		places := make([]int, b.calls())
		for i := range places {
			places[i], failed[i] = i, o.err
		}
		r.tell(Failure{Err: o.err, Status: o.status, Tries: o.tries}, b, places)
	}
	for _, rejected := range o.rejections {
		err := &Error{Code: rejected.Code, Message: rejected.Message}
		failed[rejected.Index] = err
		r.tell(Failure{Err: err, Status: o.status, Tries: o.tries}, b, []int{rejected.Index})
	}
	if places := o.unlistedPlaces(b.calls()); len(places) > 0 {
		err := unlistedRejection(o.unlisted, len(places))
		for _, place := range places {
			failed[place] = err
		}
		r.tell(Failure{Err: err, Status: o.status, Tries: o.tries}, b, places)
	}
	r.finish(b, failed)
	r.log(b, o, failed)
}

// unlistedPlaces returns the calls that may have been rejected without being listed: all after the listed ones.
func (o *outcome) unlistedPlaces(calls int) (places []int) {
	if o.unlisted <= 0 {
		return nil
	}
	first := 0
	for _, rejected := range o.rejections {
		first = max(first, rejected.Index+1)
	}
	for place := first; place < calls; place++ {
		places = append(places, place)
	}
	return places
}

func unlistedRejection(unlisted, places int) *Error {
	which := "the call"
	if unlisted < places {
		which = fmt.Sprintf("%d of these %d calls, without listing which", unlisted, places)
	}
	return ErrRejected.because("the service rejected "+which, nil)
}

// tell calls OnFailure. Its panic is only logged, so that it does not end the sender.
func (r *reporter) tell(f Failure, b *batch, places []int) {
	if r.onFailure == nil {
		return
	}
	f.Messages = failedMessages(b, places)
	if ended := guarded(func() { r.onFailure(f) }); ended != nil {
		r.journal.errorf("OnFailure %v", ended)
	}
}

// finish calls the functions given to EnqueueFunc.
func (r *reporter) finish(b *batch, failed map[int]*Error) {
	for place, done := range b.done {
		if done == nil {
			continue
		}
		var err error // not an *Error, which would not equal nil
		if failure := failed[place]; failure != nil {
			err = failure
		}
		message := describe(b.call(place))
		if ended := guarded(func() { done(message, err) }); ended != nil {
			r.journal.errorf("the function of EnqueueFunc %v", ended)
		}
	}
}

// log writes one line about failed calls that no callback learns of.
func (r *reporter) log(b *batch, o outcome, failed map[int]*Error) {
	unheard, first := 0, b.calls()
	for place := range failed {
		if !b.hasDone(place) {
			unheard++
			first = min(first, place)
		}
	}
	switch {
	case r.onFailure != nil || unheard == 0:
	case o.err != nil:
		r.journal.errorf("%s lost after %s: %q; set OnFailure to get them",
			counted(unheard, "call", "calls"), counted(o.tries, "attempt", "attempts"), o.err.text())
	default:
		r.journal.errorf("%d of %s rejected, the first with %q: %q; set OnFailure to get them",
			unheard, counted(b.calls(), "call", "calls"), failed[first].Code, failed[first].Message)
	}
}
