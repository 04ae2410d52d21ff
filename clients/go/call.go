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
	if err := c.checkIntegrations(); err != nil {
		return err
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

// checkIntegrations looks at those by which the service goes: the call's own or, without any, those in its context.
func (c *call) checkIntegrations() *Error {
	integrations := c.integrations
	if integrations == nil {
		var isMap bool
		within := c.context["integrations"]
		if integrations, isMap = within.(map[string]any); !isMap && !mayBeObject(within) {
			return ErrIntegrationsNotObject
		}
	}
	if !allIsBoolean(integrations) {
		return ErrIntegrationsAllNotBoolean
	}
	return nil
}

// mayBeObject reports whether a value may become a JSON object, or null. What a struct or a MarshalJSON makes of itself
// only the service can tell.
func mayBeObject(value any) bool {
	if _, itself := value.(json.Marshaler); itself {
		return true
	}
	switch reflect.Indirect(reflect.ValueOf(value)).Kind() {
	case reflect.Invalid, reflect.Map, reflect.Struct:
		return true
	}
	return false
}

// allIsBoolean: "All" switches every destination, so that a text such as "false" in its place would do the opposite of what it says.
func allIsBoolean(integrations map[string]any) bool {
	for _, key := range [...]string{"All", "all"} {
		value := integrations[key]
		if _, itself := value.(json.Marshaler); itself {
			return true
		}
		switch reflect.Indirect(reflect.ValueOf(value)).Kind() {
		case reflect.Invalid: // null
		case reflect.Bool:
			return true
		default:
			return false
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
