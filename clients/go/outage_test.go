package analytics

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestTheFirstTryThatFailsIsLoggedOnceUntilTheServiceAnswers(t *testing.T) {
	s := newService(t, func(n int, w http.ResponseWriter, _ *request) {
		switch n {
		case 1, 2, 3, 4, 6: // all attempts of the first batch, one of the second; the third is accepted; one of the fourth
			w.WriteHeader(503)
		}
	})
	c, _ := newClient(t, s.URL+"?writeKey=secret")
	log := &lines{}
	c.Logger, c.MaxRetries = log, 2
	send := func() {
		must(t, c.Track(&Track{UserId: "u-secret", Event: "Opened"}))
		must(t, c.Flush(context.Background()))
	}
	const failed, works = `analytics: 1 call not sent yet, retrying: POST <endpoint>: "status 503"`, "analytics: the service responds again: POST <endpoint>"
	for _, want := range []string{failed, failed + "\n" + works, failed + "\n" + works + "\n" + failed + "\n" + works} {
		send()
		got := strings.TrimSpace(strings.ReplaceAll(log.String(), s.URL+"/v1/batch", "<endpoint>"))
		if got != want {
			t.Fatalf("got\n%s\nwant\n%s", got, want)
		}
	}
	must(t, c.Close())
}

func TestAWrongPortIsLoggedAtTheFirstTry(t *testing.T) {
	c, _ := newClient(t, "http://127.0.0.1:1")
	log := &lines{}
	c.Logger, c.FlushAt = log, 1
	pause := make(chan time.Time) // that never ends
	c.externals.timer = func(time.Duration) (<-chan time.Time, func() bool) { return pause, func() bool { return true } }
	must(t, c.Track(&Track{UserId: "u1", Event: "Opened"}))
	until(t, "it is logged", func() bool { return log.String() != "" })
	if text := log.String(); !strings.Contains(text, "http://127.0.0.1:1/v1/batch") || !strings.Contains(text, "refused") {
		t.Fatalf("got %s", text)
	}
}

func TestWhatIsRefusedOrNotTriedAgainIsNoTrouble(t *testing.T) {
	for _, code := range []int{401, 503} {
		s := newService(t, status(code))
		c, f := newClient(t, s.URL)
		log := &lines{}
		c.Logger, c.MaxRetries = log, -1
		must(t, c.Track(&Track{UserId: "u1", Event: "Opened"}))
		must(t, c.Flush(context.Background()))
		must(t, c.Close())
		receive(t, f.came)
		if text := log.String(); text != "" {
			t.Fatalf("%d: got %s", code, text)
		}
	}
}
