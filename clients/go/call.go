package analytics

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"time"
	"unicode/utf8"
)

// call is a message of any of the six types, with the names on the wire. An empty string or a nil map is absent. A nil message
// becomes a call without a kind, which check rejects.
type call struct {
	kind, messageId, timestamp                string
	userId, anonymousId, previousId           string
	groupId, event, category, name            string
	properties, traits, context, integrations map[string]any
	time                                      time.Time                  // instead of timestamp
	done                                      func(QueuedMessage, error) // of EnqueueFunc; may be nil
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
	return c.checkTime()
}

func (c *call) checkTime() *Error {
	switch {
	case c.time.IsZero():
		if c.timestamp != "" && !isTime(c.timestamp) {
			return ErrInvalidTimestamp
		}
	case c.timestamp != "":
		return ErrInvalidTimestamp.because("Timestamp and Time are the same field: set only one of them", nil)
	default:
		if year := c.time.UTC().Year(); year < 1 || year > 9999 {
			return ErrInvalidTimestamp.because("Time must be in the years 1 to 9999, in UTC", nil)
		}
	}
	return nil
}

// withDefaults adds a client's DefaultContext. The first level is merged, as the service merges a batch's context.
func (c *call) withDefaults(context map[string]any) {
	switch {
	case len(context) == 0:
	case len(c.context) == 0:
		c.context = context
	default:
		merged := maps.Clone(context)
		maps.Copy(merged, c.context)
		c.context = merged
	}
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

// mayBeObject reports whether a value may become a JSON object, or null. A struct or a MarshalJSON may.
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
