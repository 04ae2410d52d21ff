package analytics

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

// verbs are all verbs of fmt for values of any type.
var verbs = []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%o", "%b", "%c", "%U", "%t", "%e", "%g", "%p", "%20v", "% x", "%T"}

func TestAPrintedClientShowsNoWriteKey(t *testing.T) {
	c := New("shop-write-key")
	c.Endpoint = "http://localhost:8080?writeKey=secret"
	opened := New("shop-write-key")
	must(t, opened.Flush(context.Background())) // everything is initialized
	defer opened.Close()
	used := &struct{ client Client }{Client{writeKey: secretOf("shop-write-key")}}
	must(t, used.client.Flush(context.Background()))
	must(t, used.client.Close()) // otherwise its goroutine would race with the inspection
	for _, client := range []*Client{c, opened} {
		values := map[string]any{
			"a client":          client,
			"a pointer to it":   &client,
			"an exported field": struct{ Client *Client }{client},
			"a hidden field":    struct{ client *Client }{client},
			"a list":            []any{client, []*Client{client}},
			"a map":             map[string]any{"client": client},
			"a client by value": &struct{ Client Client }{Client{writeKey: secretOf("shop-write-key")}},
			"a hidden value":    used,
			"the write key":     client.writeKey,
		}
		for name, value := range values {
			for _, verb := range verbs {
				noKey(t, name+" with "+verb, fmt.Sprintf(verb, value))
			}
			noKey(t, name+" with Sprintln", fmt.Sprintln(value))
			text, _ := json.Marshal(value)
			noKey(t, name+" as JSON", string(text))
			var out bytes.Buffer
			for _, handler := range []slog.Handler{slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil)} {
				slog.New(handler).Info("made", "value", value, slog.Group("group", "value", value))
			}
			noKey(t, name+" with slog", out.String())
		}
	}
}

// noKey looks for the key as text, in hex, as byte numbers, and as in basic auth.
func noKey(t *testing.T, what, text string) {
	t.Helper()
	const key = "shop-write-key"
	for _, form := range []string{
		"write-key", "shop-w", fmt.Sprintf("%x", key), fmt.Sprintf("%X", key), fmt.Sprintf("% x", key),
		strings.Trim(fmt.Sprint([]byte(key)), "[]"), "c2hvcC13cml0ZS1rZXk",
	} {
		if strings.Contains(text, form) {
			t.Errorf("%s shows %s: %s", what, form, text)
		}
	}
}

func TestAClientIsPrintedWithItsEndpointAndAMask(t *testing.T) {
	c := New("shop-write-key")
	c.Endpoint = "http://localhost:8080?writeKey=secret"
	const want = "analytics.Client(http://localhost:8080/v1/batch, write key shop***)"
	var text, asJSON bytes.Buffer
	slog.New(slog.NewTextHandler(&text, nil)).Info("made", "client", c)
	slog.New(slog.NewJSONHandler(&asJSON, nil)).Info("made", "client", c)
	for _, got := range []string{fmt.Sprint(c), fmt.Sprintf("%+v", c), fmt.Sprintf("%#v", c), fmt.Sprintf("%s", []any{c}), text.String(), asJSON.String()} {
		if !strings.Contains(got, want) || strings.Contains(got, "secret") {
			t.Errorf("got %s", got)
		}
	}
	c.Endpoint = "http://user:secret@host"
	for got, want := range map[string]string{
		c.String():              "analytics.Client(invalid_endpoint, write key shop***)",
		(&Client{}).String():    "analytics.Client(http://localhost:8080/v1/batch, write key ***)",
		(*Client)(nil).String(): "analytics.Client(nil)",
	} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
