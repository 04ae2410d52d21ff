package analytics

// Identify sets traits of a user. Send it when an account is created, and again when its traits change.
type Identify struct {
	UserId      string // this or AnonymousId is required
	AnonymousId string
	Traits      map[string]any

	Context      map[string]any
	Integrations map[string]any
	Timestamp    string // ISO 8601
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
	Timestamp    string // ISO 8601
	MessageId    string
}

// Page records a page view.
type Page struct {
	UserId      string // this or AnonymousId is required
	AnonymousId string
	Category    string
	Name        string         // such as "Signup" or "Home"
	Traits      map[string]any // url, title, referrer and path are known keys; others are kept too

	Context      map[string]any
	Integrations map[string]any
	Timestamp    string // ISO 8601
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
	Timestamp    string // ISO 8601
	MessageId    string
}

// Alias merges two ids of one user. Track with the anonymous id, alias it to the known id, identify that, and use it from then on.
type Alias struct {
	UserId     string // required: the new id
	PreviousId string // required: the old id

	Context      map[string]any
	Integrations map[string]any
	Timestamp    string // ISO 8601
	MessageId    string
}

func (m *Identify) call() call {
	if m == nil {
		return call{}
	}
	return call{
		kind: "identify", userId: m.UserId, anonymousId: m.AnonymousId, traits: m.Traits,
		context: m.Context, integrations: m.Integrations, timestamp: m.Timestamp, messageId: m.MessageId,
	}
}

func (m *Track) call() call {
	if m == nil {
		return call{}
	}
	return call{
		kind: "track", userId: m.UserId, anonymousId: m.AnonymousId, event: m.Event, properties: m.Properties,
		context: m.Context, integrations: m.Integrations, timestamp: m.Timestamp, messageId: m.MessageId,
	}
}

func (m *Page) call() call {
	if m == nil {
		return call{}
	}
	return call{
		kind: "page", userId: m.UserId, anonymousId: m.AnonymousId, category: m.Category, name: m.Name, traits: m.Traits,
		context: m.Context, integrations: m.Integrations, timestamp: m.Timestamp, messageId: m.MessageId,
	}
}

func (m *Group) call() call {
	if m == nil {
		return call{}
	}
	return call{
		kind: "group", userId: m.UserId, anonymousId: m.AnonymousId, groupId: m.GroupId, traits: m.Traits,
		context: m.Context, integrations: m.Integrations, timestamp: m.Timestamp, messageId: m.MessageId,
	}
}

func (m *Alias) call() call {
	if m == nil {
		return call{}
	}
	return call{
		kind: "alias", userId: m.UserId, previousId: m.PreviousId,
		context: m.Context, integrations: m.Integrations, timestamp: m.Timestamp, messageId: m.MessageId,
	}
}
