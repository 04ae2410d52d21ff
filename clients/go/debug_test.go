package analytics

import (
	"bytes"
	"context"
	"log"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

func TestDEBUGIsAListThatMayNameTheLibrary(t *testing.T) {
	for value, want := range map[string]bool{
		"": false, "analytics": true, "foo,analytics": true, "foo analytics": true, "foo, analytics": true, "*": true, "foo,*": true,
		"foo": false, "analytics2": false, "analyt": false, "true": false,
	} {
		t.Setenv("DEBUG", value)
		if got := New("k").debug; got != want {
			t.Errorf("DEBUG=%s: %v", value, got)
		}
	}
}

func TestDEBUGShowsWhatHappensButNoSecretAndNoValue(t *testing.T) {
	t.Setenv("DEBUG", "analytics")
	s := newService(t, func(n int, w http.ResponseWriter, _ *request) {
		if n == 1 {
			w.WriteHeader(503)
		}
	})
	c, _ := newClient(t, s.URL+"?writeKey=secret")
	var out bytes.Buffer
	c.Logger = log.New(&out, "", 0)
	must(t, c.Track(&Track{UserId: "u-secret", Event: "Opened", MessageId: "m1", Properties: map[string]any{"card": "4111 1111 1111 1111"}}))
	must(t, c.Flush(context.Background()))
	must(t, c.Close())
	text := out.String()
	for _, line := range []string{
		`analytics: start: POST ` + s.URL + `/v1/batch with write key shop\*\*\*, flush at 20 calls and after 5s`,
		`analytics: queue: track "m1", 1\d\d bytes, 1 call held`,
		`analytics: flush: 1 call, 2\d\d bytes, 2\d\d on the wire`,
		`analytics: response: status 503, 0 bytes in \d+ ms`,
		`analytics: 1 call not sent yet, retrying: POST ` + s.URL + `/v1/batch: "status 503"`,
		`analytics: retry: attempt 2 in \d+ ms`,
		`analytics: response: status 200, 16 bytes in \d+ ms`,
		`analytics: the service responds again: POST ` + s.URL + `/v1/batch`,
		`analytics: close: all calls are settled`,
	} {
		if !regexp.MustCompile(`(?m)^` + line + `$`).MatchString(text) {
			t.Errorf("%s is not in\n%s", line, text)
		}
	}
	for _, secret := range []string{"shop-write-key", "u-secret", "4111 1111 1111 1111", "card", "Opened", "secret"} {
		if strings.Contains(text, secret) {
			t.Errorf("%s is in\n%s", secret, text)
		}
	}
}

func TestNothingIsLoggedWithoutDEBUG(t *testing.T) {
	t.Setenv("DEBUG", "")
	s := newService(t, nil)
	c, _ := newClient(t, s.URL)
	var out bytes.Buffer
	c.Logger = log.New(&out, "", 0)
	must(t, c.Track(&Track{UserId: "u1", Event: "Opened"}))
	must(t, c.Close())
	if out.Len() > 0 {
		t.Fatalf("got %s", &out)
	}
}

func TestAWriteKeyIsMasked(t *testing.T) {
	for key, want := range map[string]string{"": "***", "shop": "***", "1234567": "***", "12345678": "1234***", "shop-write-key": "shop***"} {
		if got := masked(key); got != want {
			t.Errorf("%s becomes %s", key, got)
		}
	}
}

func TestANetworkErrorIsReportedWithoutTheQueryOfTheURL(t *testing.T) {
	c, f := newClient(t, "http://127.0.0.1:1/?writeKey=secret")
	c.MaxRetries = -1
	must(t, c.Track(&Track{UserId: "u1", Event: "Opened"}))
	must(t, c.Flush(context.Background()))
	if text := receive(t, f.came).Err.Error(); strings.Contains(text, "secret") || !strings.Contains(text, "refused") {
		t.Fatalf("got %s", text)
	}
}
