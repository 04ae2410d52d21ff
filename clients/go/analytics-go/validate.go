package analytics

import "fmt"

// FieldError is a required field that is missing.
type FieldError struct {
	// Type is the message's, such as analytics.Track.
	Type string

	// Name of the field.
	Name string

	// Value of the field.
	Value interface{}
}

// Error names the type, the field and its value.
func (e FieldError) Error() string {
	return fmt.Sprintf("%s.%s: invalid field value: %#v", e.Type, e.Name, e.Value)
}

// Validate requires UserId or AnonymousId.
func (msg Identify) Validate() error { return someone("Identify", msg.UserId, msg.AnonymousId) }

// Validate requires Event, and UserId or AnonymousId.
func (msg Track) Validate() error {
	if err := required("Track", "Event", msg.Event); err != nil {
		return err
	}
	return someone("Track", msg.UserId, msg.AnonymousId)
}

// Validate requires UserId or AnonymousId.
func (msg Page) Validate() error { return someone("Page", msg.UserId, msg.AnonymousId) }

// Validate requires UserId or AnonymousId.
func (msg Screen) Validate() error { return someone("Screen", msg.UserId, msg.AnonymousId) }

// Validate requires GroupId, and UserId or AnonymousId.
func (msg Group) Validate() error {
	if err := required("Group", "GroupId", msg.GroupId); err != nil {
		return err
	}
	return someone("Group", msg.UserId, msg.AnonymousId)
}

// Validate requires UserId and PreviousId.
func (msg Alias) Validate() error {
	if err := required("Alias", "UserId", msg.UserId); err != nil {
		return err
	}
	return required("Alias", "PreviousId", msg.PreviousId)
}

func someone(kind, userId, anonymousId string) error {
	return required(kind, "UserId", userId+anonymousId)
}

func required(kind, field, value string) error {
	if value == "" {
		return FieldError{Type: "analytics." + kind, Name: field, Value: value}
	}
	return nil
}

// FieldGetter gives the fields of a message of another type, for [ValidateFields].
type FieldGetter interface {
	GetField(field string) (interface{}, bool)
}

// ValidateFields validates a message by its field "type", such as "track", and the fields that this type requires.
func ValidateFields(msg FieldGetter) error {
	text := func(field string) string {
		value, _ := msg.GetField(field)
		text, _ := value.(string)
		return text
	}
	userId, anonymousId := text("userId"), text("anonymousId")
	switch text("type") {
	case "identify":
		return Identify{UserId: userId, AnonymousId: anonymousId}.Validate()
	case "track":
		return Track{UserId: userId, AnonymousId: anonymousId, Event: text("event")}.Validate()
	case "page":
		return Page{UserId: userId, AnonymousId: anonymousId}.Validate()
	case "screen":
		return Screen{UserId: userId, AnonymousId: anonymousId}.Validate()
	case "group":
		return Group{UserId: userId, AnonymousId: anonymousId, GroupId: text("groupId")}.Validate()
	case "alias":
		return Alias{UserId: userId, PreviousId: text("previousId")}.Validate()
	}
	kind, _ := msg.GetField("type")
	return FieldError{Type: "analytics.Event", Name: "Type", Value: kind}
}
