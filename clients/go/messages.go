package analytics

import "time"

// Message is what [Client.Enqueue] takes: an [Identify], [Track], [Page], [Screen], [Group] or [Alias], or a pointer to one.
type Message interface{ isMessage() }

// Identify sets traits of a user. Send it when an account is created, and when its traits change.
type Identify struct {
	UserId      string // this or AnonymousId is required
	AnonymousId string
	Traits      map[string]any

	Context      map[string]any
	Integrations map[string]any
	Timestamp    string    // ISO 8601
	Time         time.Time // instead of Timestamp
	MessageId    string
}

// Track records an action of a user.
type Track struct {
	UserId      string // this or AnonymousId is required
	AnonymousId string
	Event       string // required: the name of the action
	Properties  map[string]any

	Context      map[string]any
	Integrations map[string]any
	Timestamp    string    // ISO 8601
	Time         time.Time // instead of Timestamp
	MessageId    string
}

// Page records a page view.
type Page struct {
	UserId      string // this or AnonymousId is required
	AnonymousId string
	Category    string
	Name        string         // such as "Signup" or "Home"
	Properties  map[string]any // url, title, referrer and path are known keys; others are kept too
	Traits      map[string]any // the older name of Properties; used if there are no Properties

	Context      map[string]any
	Integrations map[string]any
	Timestamp    string    // ISO 8601
	Time         time.Time // instead of Timestamp
	MessageId    string
}

// Screen records a view of an app's screen.
type Screen struct {
	UserId      string // this or AnonymousId is required
	AnonymousId string
	Category    string
	Name        string // such as "Cart"
	Properties  map[string]any

	Context      map[string]any
	Integrations map[string]any
	Timestamp    string    // ISO 8601
	Time         time.Time // instead of Timestamp
	MessageId    string
}

// Group adds a user to a group: a company, organization, account, project or team.
type Group struct {
	UserId      string // this or AnonymousId is required
	AnonymousId string
	GroupId     string // required
	Traits      map[string]any

	Context      map[string]any
	Integrations map[string]any
	Timestamp    string    // ISO 8601
	Time         time.Time // instead of Timestamp
	MessageId    string
}

// Alias merges two ids of one user. Track with the anonymous id, alias it to the known id, identify that, and use it from then on.
type Alias struct {
	UserId     string // required: the new id
	PreviousId string // required: the old id

	Context      map[string]any
	Integrations map[string]any
	Timestamp    string    // ISO 8601
	Time         time.Time // instead of Timestamp
	MessageId    string
}

func (m Identify) call() call {
	return call{
		kind: "identify", userId: m.UserId, anonymousId: m.AnonymousId, traits: m.Traits,
		context: m.Context, integrations: m.Integrations, timestamp: m.Timestamp, time: m.Time, messageId: m.MessageId,
	}
}

func (m Track) call() call {
	return call{
		kind: "track", userId: m.UserId, anonymousId: m.AnonymousId, event: m.Event, properties: m.Properties,
		context: m.Context, integrations: m.Integrations, timestamp: m.Timestamp, time: m.Time, messageId: m.MessageId,
	}
}

func (m Page) call() call {
	return call{
		kind: "page", userId: m.UserId, anonymousId: m.AnonymousId, category: m.Category, name: m.Name,
		properties: m.Properties, traits: m.Traits,
		context: m.Context, integrations: m.Integrations, timestamp: m.Timestamp, time: m.Time, messageId: m.MessageId,
	}
}

func (m Screen) call() call {
	return call{
		kind: "screen", userId: m.UserId, anonymousId: m.AnonymousId, category: m.Category, name: m.Name, properties: m.Properties,
		context: m.Context, integrations: m.Integrations, timestamp: m.Timestamp, time: m.Time, messageId: m.MessageId,
	}
}

func (m Group) call() call {
	return call{
		kind: "group", userId: m.UserId, anonymousId: m.AnonymousId, groupId: m.GroupId, traits: m.Traits,
		context: m.Context, integrations: m.Integrations, timestamp: m.Timestamp, time: m.Time, messageId: m.MessageId,
	}
}

func (m Alias) call() call {
	return call{
		kind: "alias", userId: m.UserId, previousId: m.PreviousId,
		context: m.Context, integrations: m.Integrations, timestamp: m.Timestamp, time: m.Time, messageId: m.MessageId,
	}
}

func (Identify) isMessage() {}
func (Track) isMessage()    {}
func (Page) isMessage()     {}
func (Screen) isMessage()   {}
func (Group) isMessage()    {}
func (Alias) isMessage()    {}

// callOf returns the call of a message. It has no kind if the message is nil, or of another type that embeds one.
func callOf(message Message) call {
	switch m := message.(type) {
	case *Identify:
		return callAt(m)
	case *Track:
		return callAt(m)
	case *Page:
		return callAt(m)
	case *Screen:
		return callAt(m)
	case *Group:
		return callAt(m)
	case *Alias:
		return callAt(m)
	case Identify:
		return m.call()
	case Track:
		return m.call()
	case Page:
		return m.call()
	case Screen:
		return m.call()
	case Group:
		return m.call()
	case Alias:
		return m.call()
	}
	return call{}
}

func callAt[M interface{ call() call }](m *M) call {
	if m == nil {
		return call{}
	}
	return (*m).call()
}
