package analytics

import (
	"encoding/json"
	"fmt"
	"reflect"
	"unicode/utf8"
)

// call is a message of any of the five types, by the names on the wire. An empty string or a nil map is absent. A nil
// message becomes a call without a kind, which check refuses.
type call struct {
	kind, messageId, timestamp                string
	userId, anonymousId, previousId           string
	groupId, event, category, name            string
	properties, traits, context, integrations map[string]any
}

// messageIdChars is the service's limit, in UTF-16 units as it counts them. A longer one it would replace, and
// then not see that a call comes twice.
const messageIdChars = 100

// check returns why the service would refuse the call, or take another id or time than the one given; nil when it would not.
func (c *call) check() *Error {
	if err := c.checkIds(); err != nil {
		return err
	}
	if !allIsBoolean(c.integrations) {
		return ErrIntegrationsAllNotBoolean
	}
	if n := utf16Units(c.messageId); n > messageIdChars {
		return ErrMessageIdTooLong.because(fmt.Sprintf("MessageId has %d characters and may have at most %d", n, messageIdChars), nil)
	}
	if c.timestamp != "" && !isTime(c.timestamp) {
		return ErrInvalidTimestamp
	}
	return nil
}

func (c *call) checkIds() *Error {
	if c.kind == "" {
		return ErrNilMessage
	}
	if c.kind == "alias" {
		switch {
		case c.userId == "":
			return ErrUserIdRequired
		case c.previousId == "":
			return ErrPreviousIdRequired
		}
		return nil
	}
	switch {
	case c.userId == "" && c.anonymousId == "":
		return ErrNoUserOrAnonymousId
	case c.kind == "track" && c.event == "":
		return ErrEventNotDefined
	case c.kind == "group" && c.groupId == "":
		return ErrGroupIdRequired
	}
	return nil
}

func allIsBoolean(integrations map[string]any) bool {
	for _, key := range [...]string{"All", "all"} {
		switch value := integrations[key].(type) {
		case nil:
		case bool:
			return true
		case json.Marshaler: // only the service can tell
			return true
		default:
			return reflect.Indirect(reflect.ValueOf(value)).Kind() == reflect.Bool
		}
	}
	return true
}

func utf16Units(text string) int {
	if len(text) <= messageIdChars {
		return len(text) // or fewer: within the limit in any case
	}
	units := utf8.RuneCountInString(text)
	for _, r := range text {
		if r > 0xFFFF {
			units++
		}
	}
	return units
}
