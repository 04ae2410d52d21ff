package analytics

import "encoding/json"

// Failure says of which calls nothing came, and why. They will not be sent again.
type Failure struct {
	// Err matches, under [errors.Is]: [ErrRejected], the service refused the batch; [ErrGaveUp], no try succeeded;
	// [ErrClosed], Close had to end before they were sent. For one call of a batch that was taken but for this one, it has the service's
	// own code, such as too_deep, or rejected where it gave none.
	Err *Error
	// Status is that of the last answer; 0 when there was none.
	Status int
	// Tries counts the requests that were made.
	Tries int
	// Messages are the calls, in their order.
	Messages []FailedMessage
}

// FailedMessage is a call that was queued and has failed.
type FailedMessage struct {
	Type      string // "identify", "track", "page", "group" or "alias"
	MessageId string
	JSON      []byte // as it was sent in the batch; yours to keep
}

// failedMessages copies what a batch has at these places; at all, when there are none named.
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

// describe reads what encode has written.
func describe(call []byte) FailedMessage {
	var named struct{ Type, MessageId string }
	_ = json.Unmarshal(call, &named)
	return FailedMessage{Type: named.Type, MessageId: named.MessageId, JSON: append([]byte(nil), call...)}
}
