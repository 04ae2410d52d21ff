package analytics

import (
	"fmt"
	"time"

	root "github.com/sluice-dev/sluice/clients/go"
)

// Message is an [Identify], [Track], [Page], [Screen], [Group] or [Alias], or a pointer to one. Messages of other types cannot be enqueued.
type Message interface {
	// Validate returns a [FieldError] if a required field is missing.
	Validate() error
}

// Identify sets traits of a user. Type is set by the library.
type Identify struct {
	Type string `json:"type,omitempty"`

	MessageId    string       `json:"messageId,omitempty"`
	AnonymousId  string       `json:"anonymousId,omitempty"`
	UserId       string       `json:"userId,omitempty"`
	Timestamp    time.Time    `json:"timestamp,omitempty"`
	Context      *Context     `json:"context,omitempty"`
	Traits       Traits       `json:"traits,omitempty"`
	Integrations Integrations `json:"integrations,omitempty"`
}

// Track records an action of a user. Type is set by the library.
type Track struct {
	Type string `json:"type,omitempty"`

	MessageId    string       `json:"messageId,omitempty"`
	AnonymousId  string       `json:"anonymousId,omitempty"`
	UserId       string       `json:"userId,omitempty"`
	Event        string       `json:"event"`
	Timestamp    time.Time    `json:"timestamp,omitempty"`
	Context      *Context     `json:"context,omitempty"`
	Properties   Properties   `json:"properties,omitempty"`
	Integrations Integrations `json:"integrations,omitempty"`
}

// Page records a page view. Type is set by the library.
type Page struct {
	Type string `json:"type,omitempty"`

	MessageId    string       `json:"messageId,omitempty"`
	AnonymousId  string       `json:"anonymousId,omitempty"`
	UserId       string       `json:"userId,omitempty"`
	Name         string       `json:"name,omitempty"`
	Timestamp    time.Time    `json:"timestamp,omitempty"`
	Context      *Context     `json:"context,omitempty"`
	Properties   Properties   `json:"properties,omitempty"`
	Integrations Integrations `json:"integrations,omitempty"`
}

// Screen records a view of an app's screen. Type is set by the library.
type Screen struct {
	Type string `json:"type,omitempty"`

	MessageId    string       `json:"messageId,omitempty"`
	AnonymousId  string       `json:"anonymousId,omitempty"`
	UserId       string       `json:"userId,omitempty"`
	Name         string       `json:"name,omitempty"`
	Timestamp    time.Time    `json:"timestamp,omitempty"`
	Context      *Context     `json:"context,omitempty"`
	Properties   Properties   `json:"properties,omitempty"`
	Integrations Integrations `json:"integrations,omitempty"`
}

// Group adds a user to a group. Type is set by the library.
type Group struct {
	Type string `json:"type,omitempty"`

	MessageId    string       `json:"messageId,omitempty"`
	AnonymousId  string       `json:"anonymousId,omitempty"`
	UserId       string       `json:"userId,omitempty"`
	GroupId      string       `json:"groupId"`
	Timestamp    time.Time    `json:"timestamp,omitempty"`
	Context      *Context     `json:"context,omitempty"`
	Traits       Traits       `json:"traits,omitempty"`
	Integrations Integrations `json:"integrations,omitempty"`
}

// Alias merges two ids of one user: UserId is the new one. Type is set by the library.
type Alias struct {
	Type string `json:"type,omitempty"`

	MessageId    string       `json:"messageId,omitempty"`
	PreviousId   string       `json:"previousId"`
	UserId       string       `json:"userId"`
	Timestamp    time.Time    `json:"timestamp,omitempty"`
	Context      *Context     `json:"context,omitempty"`
	Integrations Integrations `json:"integrations,omitempty"`
}

// sendableMessage is one of this package's messages.
type sendableMessage interface {
	Message
	// outgoing is the message for the root package; now is the time of one without a Timestamp.
	outgoing(now time.Time) root.Message
	// stamped returns the message as it was sent, for a [Callback].
	stamped(id string, now time.Time) Message
}

func sendable(message Message) (sendableMessage, error) {
	switch m := message.(type) {
	case *Identify:
		return pointed(m)
	case *Track:
		return pointed(m)
	case *Page:
		return pointed(m)
	case *Screen:
		return pointed(m)
	case *Group:
		return pointed(m)
	case *Alias:
		return pointed(m)
	case Identify, Track, Page, Screen, Group, Alias:
		return m.(sendableMessage), nil
	}
	return nil, fmt.Errorf("analytics: messages of the type %T cannot be enqueued", message)
}

func pointed[M sendableMessage](m *M) (sendableMessage, error) {
	if m == nil {
		return nil, root.ErrNilMessage
	}
	return *m, nil
}

func (msg Identify) outgoing(now time.Time) root.Message {
	return root.Identify{
		MessageId: msg.MessageId, UserId: msg.UserId, AnonymousId: msg.AnonymousId, Time: timeOf(msg.Timestamp, now),
		Traits: given(msg.Traits), Context: msg.Context.fields(), Integrations: given(msg.Integrations),
	}
}

func (msg Track) outgoing(now time.Time) root.Message {
	return root.Track{
		MessageId: msg.MessageId, UserId: msg.UserId, AnonymousId: msg.AnonymousId, Time: timeOf(msg.Timestamp, now),
		Event: msg.Event, Properties: given(msg.Properties), Context: msg.Context.fields(), Integrations: given(msg.Integrations),
	}
}

func (msg Page) outgoing(now time.Time) root.Message {
	return root.Page{
		MessageId: msg.MessageId, UserId: msg.UserId, AnonymousId: msg.AnonymousId, Time: timeOf(msg.Timestamp, now),
		Name: msg.Name, Properties: given(msg.Properties), Context: msg.Context.fields(), Integrations: given(msg.Integrations),
	}
}

func (msg Screen) outgoing(now time.Time) root.Message {
	return root.Screen{
		MessageId: msg.MessageId, UserId: msg.UserId, AnonymousId: msg.AnonymousId, Time: timeOf(msg.Timestamp, now),
		Name: msg.Name, Properties: given(msg.Properties), Context: msg.Context.fields(), Integrations: given(msg.Integrations),
	}
}

func (msg Group) outgoing(now time.Time) root.Message {
	return root.Group{
		MessageId: msg.MessageId, UserId: msg.UserId, AnonymousId: msg.AnonymousId, Time: timeOf(msg.Timestamp, now),
		GroupId: msg.GroupId, Traits: given(msg.Traits), Context: msg.Context.fields(), Integrations: given(msg.Integrations),
	}
}

func (msg Alias) outgoing(now time.Time) root.Message {
	return root.Alias{
		MessageId: msg.MessageId, UserId: msg.UserId, PreviousId: msg.PreviousId, Time: timeOf(msg.Timestamp, now),
		Context: msg.Context.fields(), Integrations: given(msg.Integrations),
	}
}

func (msg Identify) stamped(id string, now time.Time) Message {
	msg.Type, msg.MessageId, msg.Timestamp = "identify", id, timeOf(msg.Timestamp, now)
	return msg
}

func (msg Track) stamped(id string, now time.Time) Message {
	msg.Type, msg.MessageId, msg.Timestamp = "track", id, timeOf(msg.Timestamp, now)
	return msg
}

func (msg Page) stamped(id string, now time.Time) Message {
	msg.Type, msg.MessageId, msg.Timestamp = "page", id, timeOf(msg.Timestamp, now)
	return msg
}

func (msg Screen) stamped(id string, now time.Time) Message {
	msg.Type, msg.MessageId, msg.Timestamp = "screen", id, timeOf(msg.Timestamp, now)
	return msg
}

func (msg Group) stamped(id string, now time.Time) Message {
	msg.Type, msg.MessageId, msg.Timestamp = "group", id, timeOf(msg.Timestamp, now)
	return msg
}

func (msg Alias) stamped(id string, now time.Time) Message {
	msg.Type, msg.MessageId, msg.Timestamp = "alias", id, timeOf(msg.Timestamp, now)
	return msg
}

func timeOf(timestamp, now time.Time) time.Time {
	if timestamp.IsZero() {
		return now
	}
	return timestamp
}

// given returns nil for an empty map, which is not sent.
func given[M ~map[string]any](m M) map[string]any {
	if len(m) == 0 {
		return nil
	}
	return m
}
