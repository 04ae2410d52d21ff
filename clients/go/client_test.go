package analytics

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestTheSixCallsArriveInTheirOrder(t *testing.T) {
	s := newService(t, nil)
	c, f := newClient(t, s.URL)
	must(t, c.Identify(&Identify{UserId: "u1", Traits: map[string]any{"plan": "pro"}}))
	must(t, c.Track(&Track{UserId: "u1", Event: "Signed Up"}))
	must(t, c.Page(&Page{AnonymousId: "a1", Name: "Home"}))
	must(t, c.Screen(&Screen{UserId: "u1", Name: "Cart"}))
	must(t, c.Group(&Group{UserId: "u1", GroupId: "g1"}))
	must(t, c.Alias(&Alias{UserId: "u1", PreviousId: "a1"}))
	must(t, c.Close())
	var types []string
	for _, item := range s.next(t).items {
		types = append(types, describe(item).Type)
	}
	if want := []string{"identify", "track", "page", "screen", "group", "alias"}; !reflect.DeepEqual(types, want) {
		t.Fatalf("got %v", types)
	}
	f.none(t)
}

func TestARequestIsWhatTheServiceExpects(t *testing.T) {
	s := newService(t, nil)
	c, _ := newClient(t, s.URL)
	must(t, c.Track(&Track{UserId: "u1", Event: "Opened", MessageId: "m1", Timestamp: "2026-01-02"}))
	must(t, c.Close())
	r := s.next(t)
	key, password, ok := r.BasicAuth()
	if r.Method != "POST" || r.URL.Path != "/v1/batch" || !ok || key != "shop-write-key" || password != "" {
		t.Fatalf("%s %s by %q %q", r.Method, r.URL.Path, key, password)
	}
	if r.Header.Get("Content-Type") != "application/json" || r.UserAgent() != "sluice-go/"+Version || r.ContentLength != int64(len(r.wire)) {
		t.Fatalf("headers: %v", r.Header)
	}
	var body struct {
		Batch   []json.RawMessage
		SentAt  time.Time
		Context any
	}
	must(t, json.Unmarshal(r.body, &body))
	want := `{"type":"track","messageId":"m1","timestamp":"2026-01-02","userId":"u1","event":"Opened"}`
	if len(body.Batch) != 1 || string(body.Batch[0]) != want || time.Since(body.SentAt) > time.Minute {
		t.Fatalf("got %s", r.body)
	}
	if library := map[string]any{"library": map[string]any{"name": "sluice-go", "version": Version}}; !reflect.DeepEqual(body.Context, library) {
		t.Fatalf("got %v", body.Context)
	}
}

func TestTheThresholdFlushes(t *testing.T) {
	for name, set := range map[string]func(*Client){
		"FlushAt":          func(c *Client) { c.FlushAt = 3 },
		"Size":             func(c *Client) { c.Size = 3 },
		"FlushAt and Size": func(c *Client) { c.FlushAt, c.Size = 3, 3 },
	} {
		t.Run(name, func(t *testing.T) {
			s := newService(t, nil)
			c, _ := newClient(t, s.URL)
			clock := newFakeTime()
			c.externals = clock.externals()
			set(c)
			must(t, c.Track(&Track{UserId: "u1", Event: "Opened"}))
			clock.awaitArmed(t, 5*time.Second)
			until(t, "it has been told of the first", func() bool { return len(c.outbox.wake) == 0 })
			must(t, c.Track(&Track{UserId: "u1", Event: "Opened"}))
			must(t, c.Track(&Track{UserId: "u1", Event: "Opened"}))
			if n := len(s.next(t).items); n != 3 {
				t.Fatalf("%d calls came together", n)
			}
		})
	}
}

func TestTwentyCallsAreTheDefaultThreshold(t *testing.T) {
	s := newService(t, nil)
	c, _ := newClient(t, s.URL)
	c.externals = newFakeTime().externals()
	for i := 0; i < 20; i++ {
		must(t, c.Track(&Track{UserId: "u1", Event: "Opened"}))
	}
	if n := len(s.next(t).items); n != 20 {
		t.Fatalf("%d calls came together", n)
	}
}

func TestTheIntervalFlushesFromTheLastFlushOn(t *testing.T) {
	for name, set := range map[string]func(*Client){
		"by default, of 5 s":      func(*Client) {},
		"FlushAfter":              func(c *Client) { c.FlushAfter = 5 * time.Second },
		"Interval":                func(c *Client) { c.Interval = 5 * time.Second },
		"FlushAfter and Interval": func(c *Client) { c.FlushAfter, c.Interval = 5*time.Second, 5*time.Second },
	} {
		t.Run(name, func(t *testing.T) {
			s := newService(t, nil)
			c, _ := newClient(t, s.URL)
			clock := newFakeTime()
			c.externals = clock.externals()
			set(c)
			must(t, c.Flush(context.Background())) // of nothing
			clock.advance(time.Hour)               // the first interval starts with the first call
			must(t, c.Track(&Track{UserId: "u1", Event: "first"}))
			clock.awaitArmed(t, 5*time.Second)
			if len(s.requests) > 0 {
				t.Fatal("it was sent before")
			}
			clock.advance(5 * time.Second)
			s.next(t)

			clock.advance(2 * time.Second)
			must(t, c.Track(&Track{UserId: "u1", Event: "second"}))
			clock.awaitArmed(t, 3*time.Second)
			clock.advance(3 * time.Second)
			s.next(t)

			until(t, "the second is settled", func() bool { return c.outbox.held() == 0 })
			clock.advance(time.Hour)
			must(t, c.Track(&Track{UserId: "u1", Event: "third"}))
			s.next(t)
		})
	}
}

func TestAWholeBatchIsFlushedBelowTheThreshold(t *testing.T) {
	for name, test := range map[string]struct{ padding, calls, first int }{
		"one of 2,500 calls": {0, 2500, 2500},
		"one of 500 KB":      {25_000, 21, 20},
	} {
		t.Run(name, func(t *testing.T) {
			s := newService(t, nil)
			c, _ := newClient(t, s.URL)
			c.externals = newFakeTime().externals()
			c.FlushAt = 10_000
			properties := map[string]any{"p": strings.Repeat("x", test.padding)}
			for i := 0; i < test.calls; i++ {
				must(t, c.Track(&Track{UserId: "u1", Event: "Opened", Properties: properties}))
			}
			if n := len(s.next(t).items); n != test.first {
				t.Fatalf("it has %d calls", n)
			}
			rest := test.calls - test.first
			until(t, "the others wait", func() bool { return c.outbox.held() == rest })
			if len(s.requests) > 0 {
				t.Fatal("they went with it")
			}
		})
	}
}

func TestAtTheThreshold1EachCallIsARequest(t *testing.T) {
	release := make(chan struct{})
	s := newService(t, func(n int, w http.ResponseWriter, _ *request) {
		if n == 1 {
			<-release // meanwhile the others queue up
		}
	})
	c, f := newClient(t, s.URL)
	c.FlushAt = 1
	for i := 0; i < 10; i++ {
		must(t, c.Track(&Track{UserId: "u1", Event: "Opened", MessageId: fmt.Sprint(i)}))
	}
	close(release)
	must(t, c.Close())
	for i := 0; i < 10; i++ {
		if ids := s.next(t).ids(t); !reflect.DeepEqual(ids, []string{fmt.Sprint(i)}) {
			t.Fatalf("request %d has %v", i, ids)
		}
	}
	f.none(t)
}

func TestABatchGrowsWhileAnotherIsUnderWay(t *testing.T) {
	release := make(chan struct{})
	s := newService(t, func(n int, _ http.ResponseWriter, _ *request) {
		if n == 1 {
			<-release
		}
	})
	c, _ := newClient(t, s.URL)
	c.FlushAt = 2
	for i := 0; i < 1000; i++ {
		must(t, c.Track(&Track{UserId: "u1", Event: "Opened", MessageId: fmt.Sprint(i)}))
		if i == 1 {
			if n := len(s.next(t).items); n != 2 {
				t.Fatalf("the first request has %d calls", n)
			}
		}
	}
	if len(s.requests) > 0 {
		t.Fatal("two batches are under way")
	}
	close(release)
	ids := s.next(t).ids(t)
	if len(ids) != 998 || ids[0] != "2" || ids[997] != "999" {
		t.Fatalf("%d calls came next", len(ids))
	}
	must(t, c.Close())
}

func TestFlushReturnsWhenAllThatWaitedIsSettled(t *testing.T) {
	answered := false
	s := newService(t, func(int, http.ResponseWriter, *request) { answered = true })
	c, f := newClient(t, s.URL)
	must(t, c.Flush(context.Background())) // of nothing
	must(t, c.Track(&Track{UserId: "u1", Event: "Opened"}))
	must(t, c.Flush(context.Background()))
	if !answered || c.outbox.held() != 0 {
		t.Fatal("it did not wait")
	}
	f.none(t)
	must(t, c.Close())
	must(t, c.Flush(context.Background()))
}

func TestFlushEndsWithItsContextAndTheCallsAreSentAsEver(t *testing.T) {
	release := make(chan struct{})
	s := newService(t, func(int, http.ResponseWriter, *request) { <-release })
	c, f := newClient(t, s.URL)
	must(t, c.Track(&Track{UserId: "u1", Event: "Opened"}))
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		s.next(t)
		cancel()
	}()
	err := c.Flush(ctx)
	if !errors.Is(err, ErrNotFlushed) || !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "1 call not settled yet") {
		t.Fatalf("got %v", err)
	}
	close(release)
	must(t, c.Close())
	f.none(t)
}

func TestABadCallIsRefusedAndNotQueued(t *testing.T) {
	c, f := newClient(t, "http://localhost:1")
	within := func(integrations any) *Track {
		return &Track{UserId: "u1", Event: "e", Context: map[string]any{"integrations": integrations}}
	}
	for name, test := range map[string]struct{ got, want error }{
		"nil identify":      {c.Identify(nil), ErrNilMessage},
		"nil track":         {c.Track(nil), ErrNilMessage},
		"nil page":          {c.Page(nil), ErrNilMessage},
		"nil group":         {c.Group(nil), ErrNilMessage},
		"nil alias":         {c.Alias(nil), ErrNilMessage},
		"empty identify":    {c.Identify(&Identify{}), ErrNoUserOrAnonymousId},
		"empty page":        {c.PageContext(context.Background(), &Page{}), ErrNoUserOrAnonymousId},
		"no event":          {c.Track(&Track{UserId: "u1"}), ErrEventNotDefined},
		"no group":          {c.GroupContext(nil, &Group{UserId: "u1"}), ErrGroupIdRequired}, //lint:ignore SA1012 it must not panic
		"no user":           {c.AliasContext(context.Background(), &Alias{PreviousId: "a1"}), ErrUserIdRequired},
		"no previous user":  {c.Alias(&Alias{UserId: "u1"}), ErrPreviousIdRequired},
		"bad time":          {c.IdentifyContext(context.Background(), &Identify{UserId: "u1", Timestamp: "now"}), ErrInvalidTimestamp},
		"long id":           {c.Track(&Track{UserId: "u1", Event: "e", MessageId: strings.Repeat("x", 101)}), ErrMessageIdTooLong},
		"long id of pairs":  {c.Track(&Track{UserId: "u1", Event: "e", MessageId: strings.Repeat("😀", 51)}), ErrMessageIdTooLong},
		"All is a text":     {c.Track(&Track{UserId: "u1", Event: "e", Integrations: map[string]any{"All": "no"}}), ErrIntegrationsAllNotBoolean},
		"all is a number":   {c.Track(&Track{UserId: "u1", Event: "e", Integrations: map[string]any{"all": 0}}), ErrIntegrationsAllNotBoolean},
		"a text in Context": {c.Track(within(map[string]any{"All": "no"})), ErrIntegrationsAllNotBoolean},
		"no map in Context": {c.Track(within([]any{"Webhooks"})), ErrIntegrationsNotObject},
	} {
		var coded *Error
		if !errors.Is(test.got, test.want) || !errors.As(test.got, &coded) || !strings.HasPrefix(test.got.Error(), "analytics: "+coded.Code+": ") {
			t.Errorf("%s: got %v", name, test.got)
		}
	}
	if n := c.outbox.held(); n > 0 {
		t.Errorf("%d are queued", n)
	}
	must(t, c.Close())
	f.none(t)
}

func TestWhatIsRightIsNotRefused(t *testing.T) {
	s := newService(t, nil)
	c, f := newClient(t, s.URL)
	type flag bool
	no, missing := false, (*bool)(nil)
	for _, all := range []any{true, false, nil, flag(true), &no, missing, json.RawMessage("false")} {
		must(t, c.Track(&Track{UserId: "u1", Event: "e", Integrations: map[string]any{"All": all, "Webhooks": true}}))
	}
	for _, within := range []any{
		nil, map[string]any(nil), map[string]any{"All": false}, map[string]bool{"All": false}, struct{ All bool }{}, json.RawMessage(`{}`), missing,
	} {
		must(t, c.Track(&Track{UserId: "u1", Event: "e", Context: map[string]any{"integrations": within}}))
	}
	must(t, c.Track(&Track{UserId: "u1", Event: "e", Integrations: map[string]any{}, Context: map[string]any{"integrations": "hidden"}}))
	for _, id := range []string{strings.Repeat("x", 100), strings.Repeat("é", 100), strings.Repeat("😀", 50)} {
		must(t, c.TrackContext(context.Background(), &Track{UserId: "u1", Event: "e", MessageId: id}))
	}
	must(t, c.Close())
	if n := len(s.next(t).items); n != 18 {
		t.Fatalf("%d calls came", n)
	}
	f.none(t)
}

func TestFaultsInTheFieldsAreErrorsOfEachMethod(t *testing.T) {
	for name, test := range map[string]struct {
		client *Client
		want   error
	}{
		"no write key":        {New(""), ErrWriteKeyRequired},
		"the zero client":     {&Client{}, ErrWriteKeyRequired},
		"a nil client":        {nil, ErrWriteKeyRequired},
		"no URL":              {&Client{writeKey: secretOf("k"), Endpoint: "localhost:8080"}, ErrInvalidEndpoint},
		"a write key of two":  {New("shop:other"), ErrInvalidOption},
		"a negative FlushAt":  {&Client{writeKey: secretOf("k"), FlushAt: -1}, ErrInvalidOption},
		"a negative Interval": {&Client{writeKey: secretOf("k"), Interval: -1}, ErrInvalidOption},
		"a negative MaxQueue": {&Client{writeKey: secretOf("k"), MaxQueue: -1}, ErrInvalidOption},
		"a negative timeout":  {&Client{writeKey: secretOf("k"), RequestTimeout: -1}, ErrInvalidOption},
		"two thresholds":      {&Client{writeKey: secretOf("k"), FlushAt: 3, Size: 4}, ErrInvalidOption},
		"two intervals":       {&Client{writeKey: secretOf("k"), FlushAfter: 3, Interval: 4}, ErrInvalidOption},
	} {
		for method, got := range map[string]error{
			"Track": test.client.Track(&Track{UserId: "u1", Event: "e"}),
			"Flush": test.client.Flush(context.Background()),
			"Close": test.client.Close(),
		} {
			if !errors.Is(got, test.want) {
				t.Errorf("%s: %s returned %v", name, method, got)
			}
		}
	}
}

func TestARedirectIsNotFollowed(t *testing.T) {
	for _, usesDefault := range []bool{true, false} {
		elsewhere := newService(t, nil)
		s := newService(t, func(_ int, w http.ResponseWriter, r *request) {
			http.Redirect(w, r.Request, elsewhere.URL, http.StatusTemporaryRedirect)
		})
		c, f := newClient(t, s.URL)
		if !usesDefault {
			c.HTTPClient = s.Client()
		}
		must(t, c.Track(&Track{UserId: "u1", Event: "Opened"}))
		must(t, c.Flush(context.Background()))
		if failure := receive(t, f.came); !errors.Is(failure.Err, ErrRejected) || failure.Status != 307 || len(elsewhere.requests) > 0 {
			t.Fatalf("got %v", failure)
		}
	}
}

func TestOneConnectionServesAllRequests(t *testing.T) {
	s := newService(t, func(n int, w http.ResponseWriter, _ *request) {
		if n%2 == 0 {
			w.WriteHeader(400)
		}
		// read to the end, so that the connection can be reused
		_, _ = io.WriteString(w, `{"success":true,"more":"`+strings.Repeat("x", 100_000)+`"}`)
	})
	c, _ := newClient(t, s.URL)
	for i := 0; i < 20; i++ {
		must(t, c.Track(&Track{UserId: "u1", Event: "Opened"}))
		must(t, c.Flush(context.Background()))
	}
	must(t, c.Close())
	if n := len(s.connections); n != 1 {
		t.Fatalf("there were %d connections", n)
	}
}

func TestAnAnswerWithoutEndIsNotReadForEver(t *testing.T) {
	cutOff := make(chan bool, 1)
	s := newService(t, func(_ int, w http.ResponseWriter, _ *request) {
		w.WriteHeader(400)
		for i := 0; i < 50; i++ { // 50 MB if all is read
			if _, err := w.Write(make([]byte, answerBytes)); err != nil {
				cutOff <- true
				return
			}
		}
		cutOff <- false
	})
	c, f := newClient(t, s.URL)
	must(t, c.Track(&Track{UserId: "u1", Event: "Opened"}))
	must(t, c.Flush(context.Background()))
	if !receive(t, cutOff) {
		t.Fatal("it was")
	}
	if failure := receive(t, f.came); !errors.Is(failure.Err, ErrRejected) {
		t.Fatalf("got %v", failure.Err)
	}
}

func TestTheDefaultsOfTheDocumentation(t *testing.T) {
	c := New("k")
	s, err := c.settings()
	if err != nil || s.target.url != "http://localhost:8080/v1/batch" || s.requestTimeout != 15*time.Second {
		t.Fatalf("got %v, %v", s, err)
	}
}
