package analytics

import (
	"fmt"
	"io"
	"log/slog"
)

// secret holds a text that must not be printed. If a client is in a private field of a struct, fmt prints its fields without calling
// its methods; this field is then the address of a function.
type secret func() string

func secretOf(text string) secret { return func() string { return text } }

func (s secret) reveal() string {
	if s == nil {
		return ""
	}
	return s()
}

// masked shows enough of a write key to recognize it.
func masked(writeKey string) string {
	if len(writeKey) < 8 {
		return "***"
	}
	return writeKey[:4] + "***"
}

// String returns the endpoint, without its query, and the write key, masked.
func (c *Client) String() string {
	if c == nil {
		return "analytics.Client(nil)"
	}
	target, err := parseEndpoint(or(c.Endpoint, DefaultEndpoint))
	if err != nil {
		target.shown = err.Code
	}
	return fmt.Sprintf("analytics.Client(%s, write key %s)", target.shown, masked(c.writeKey.reveal()))
}

// Format writes the same, whatever the verb.
func (c *Client) Format(to fmt.State, _ rune) { _, _ = io.WriteString(to, c.String()) }

// LogValue returns the same, for log/slog.
func (c *Client) LogValue() slog.Value { return slog.StringValue(c.String()) }
