package analytics

// Identify ties a user to traits. Send it when an account is made, and again when its traits change.
type Identify struct {
	UserId      string // this or AnonymousId is required
	AnonymousId string
	Traits      map[string]any

	Context      map[string]any
	Integrations map[string]any
	Timestamp    string // ISO 8601
	MessageId    string
}

// Track records what a user did.
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

// Page records that a page was seen.
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

// Group puts a user into a group: a company, organisation, account, project or team.
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

// Alias says that two ids are one user. Track under the anonymous id, alias it to the
// known one, identify the known one, and go on under that.
type Alias struct {
	UserId     string // required: the new id
	PreviousId string // required: the id to alias from

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
