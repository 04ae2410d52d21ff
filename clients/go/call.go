package analytics

import (
	"encoding/json"
	"fmt"
	"reflect"
	"unicode/utf8"
)

// call is a message of any of the five types, with the names on the wire. An empty string or a nil map is absent. A nil message
// becomes a call without a kind, which check rejects.
type call struct {
	kind, messageId, timestamp                string
	userId, anonymousId, previousId           string
	groupId, event, category, name            string
	properties, traits, context, integrations map[string]any
}

// messageIdChars is the service's limit, in UTF-16 units. The service would replace a longer id and then not recognize duplicates.
const messageIdChars = 100

// check returns an error if the service would reject the call or replace its id or time.
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

// checkIntegrations checks what the service uses: the call's integrations or, if it has none, those in its context.
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

// mayBeObject reports whether a value may become a JSON object, or null. The result of a struct or a MarshalJSON is only known to
// the service.
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

// allIsBoolean: "All" controls every destination, and a string such as "false" would turn them on.
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
		return len(text) // at least the number of units
	}
	units := utf8.RuneCountInString(text)
	for _, r := range text {
		if r > 0xFFFF {
			units++
		}
	}
	return units
}
