package analytics

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"
)

// one returns the only call of the next request.
func one(t *testing.T, s *service) map[string]any {
	t.Helper()
	items := s.next(t).items
	if len(items) != 1 {
		t.Fatalf("%d calls came", len(items))
	}
	var fields map[string]any
	must(t, json.Unmarshal(items[0], &fields))
	return fields
}

func TestEnqueueTakesEachMessageAsAValueAndAsAPointer(t *testing.T) {
	s := newService(t, nil)
	c, f := newClient(t, s.URL)
	messages := []Message{
		Identify{UserId: "u1"}, Track{UserId: "u1", Event: "e"}, Page{UserId: "u1"}, Screen{UserId: "u1"}, Group{UserId: "u1", GroupId: "g1"},
		Alias{UserId: "u1", PreviousId: "a1"},
		&Identify{UserId: "u1"}, &Track{UserId: "u1", Event: "e"}, &Page{UserId: "u1"}, &Screen{UserId: "u1"}, &Group{UserId: "u1", GroupId: "g1"},
		&Alias{UserId: "u1", PreviousId: "a1"},
	}
	for _, message := range messages {
		must(t, c.Enqueue(message))
	}
	must(t, c.Close())
	types := "identify track page screen group alias"
	if got := typesOf(s.next(t)); got != types+" "+types {
		t.Fatalf("got %s", got)
	}
	f.none(t)
}

func TestEnqueueRefusesNilAndForeignMessages(t *testing.T) {
	c, _ := newClient(t, "http://localhost:1")
	for _, message := range []Message{
		nil, (*Identify)(nil), (*Track)(nil), (*Page)(nil), (*Screen)(nil), (*Group)(nil), (*Alias)(nil), struct{ *Track }{}, struct{ Track }{},
	} {
		if err := c.Enqueue(message); !errors.Is(err, ErrNilMessage) {
			t.Errorf("%T: %v", message, err)
		}
		if err := c.EnqueueFunc(message, func(QueuedMessage, error) { t.Error("it was called") }); !errors.Is(err, ErrNilMessage) {
			t.Errorf("%T: %v", message, err)
		}
	}
}

func TestATimeIsSentInUTCWithMilliseconds(t *testing.T) {
	s := newService(t, nil)
	c, _ := newClient(t, s.URL)
	must(t, c.Screen(&Screen{UserId: "u1", Time: time.Date(2020, 1, 2, 0, 30, 0, 123_999_999, time.FixedZone("", 3600))}))
	must(t, c.Close())
	if got := one(t, s)["timestamp"]; got != "2020-01-01T23:30:00.123Z" {
		t.Fatalf("got %v", got)
	}
}

func TestATimeIsRefusedBesideATimestampAndOutsideOfTheYearsOfISO8601(t *testing.T) {
	c, _ := newClient(t, "http://localhost:1")
	now := time.Now()
	for name, track := range map[string]*Track{
		"beside a timestamp": {UserId: "u1", Event: "e", Timestamp: now.Format(time.RFC3339), Time: now},
		"after 9999":         {UserId: "u1", Event: "e", Time: time.Date(9999, 12, 31, 23, 0, 0, 0, time.FixedZone("", -7200))},
		"before 1":           {UserId: "u1", Event: "e", Time: time.Date(1, 1, 1, 0, 0, 0, 0, time.FixedZone("", 7200))},
	} {
		if err := c.Track(track); !errors.Is(err, ErrInvalidTimestamp) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTheDefaultContextIsMergedUnderThatOfEachCall(t *testing.T) {
	app := map[string]any{"name": "Shop", "version": "1"}
	for name, test := range map[string]struct{ call, want map[string]any }{
		"a call without a context":      {nil, map[string]any{"app": app, "locale": "en"}},
		"a call with an empty context":  {map[string]any{}, map[string]any{"app": app, "locale": "en"}},
		"another key":                   {map[string]any{"ip": "192.0.2.1"}, map[string]any{"app": app, "locale": "en", "ip": "192.0.2.1"}},
		"the same key, whole":           {map[string]any{"app": map[string]any{"build": "7"}}, map[string]any{"app": map[string]any{"build": "7"}, "locale": "en"}},
		"the same key without anything": {map[string]any{"locale": nil}, map[string]any{"app": app, "locale": nil}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newService(t, nil)
			c, _ := newClient(t, s.URL)
			c.DefaultContext = map[string]any{"app": app, "locale": "en"}
			before := fmt.Sprint(c.DefaultContext, test.call)
			must(t, c.Track(&Track{UserId: "u1", Event: "e", Context: test.call}))
			if after := fmt.Sprint(c.DefaultContext, test.call); after != before {
				t.Fatalf("the caller's maps changed to %s", after)
			}
			must(t, c.Close())
			if got := one(t, s)["context"]; !reflect.DeepEqual(got, test.want) {
				t.Fatalf("got %v", got)
			}
		})
	}
}

func TestTheDefaultContextIsReadAtTheFirstCallAndCheckedWithEach(t *testing.T) {
	s := newService(t, nil)
	c, _ := newClient(t, s.URL)
	c.DefaultContext = map[string]any{"integrations": map[string]any{"All": "no"}}
	if err := c.Track(&Track{UserId: "u1", Event: "e"}); !errors.Is(err, ErrIntegrationsAllNotBoolean) {
		t.Fatalf("got %v", err)
	}
	c.DefaultContext["integrations"] = "ignored"
	must(t, c.Track(&Track{UserId: "u1", Event: "e", Integrations: map[string]any{"All": true}}))
	must(t, c.Close())
	if got, want := one(t, s)["context"], (map[string]any{"integrations": map[string]any{"All": "no"}}); !reflect.DeepEqual(got, want) {
		t.Fatalf("got %v", got)
	}
}

// ends records how calls ended.
type ends struct {
	mu   sync.Mutex
	list []string
}

func (e *ends) add(m QueuedMessage, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	text := m.Type + " " + m.MessageId
	if !strings.Contains(string(m.JSON), `"messageId":"`+m.MessageId+`"`) {
		text += " without its JSON"
	}
	if err != nil {
		text += " " + err.(*Error).Code
	}
	e.list = append(e.list, text)
}

func TestTheFunctionOfACallLearnsHowItEnded(t *testing.T) {
	for name, test := range map[string]struct {
		answer func(int, http.ResponseWriter, *request)
		want   []string
	}{
		"accepted":              {nil, []string{"track m1", "screen m3"}},
		"rejected by the batch": {rejectsSome, []string{"track m1 event_not_defined", "screen m3 too_deep"}},
		"a refused batch":       {status(400), []string{"track m1 rejected", "screen m3 rejected"}},
		"no answer":             {status(503), []string{"track m1 gave_up", "screen m3 gave_up"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newService(t, test.answer)
			c, _ := newClient(t, s.URL)
			c.MaxRetries = -1
			e := &ends{}
			must(t, c.Track(&Track{UserId: "u1", Event: "e", MessageId: "m0"}))
			must(t, c.EnqueueFunc(Track{UserId: "u1", Event: "e", MessageId: "m1"}, e.add))
			must(t, c.EnqueueFunc(Track{UserId: "u1", Event: "e", MessageId: "m2"}, nil))
			must(t, c.EnqueueFunc(&Screen{UserId: "u1", MessageId: "m3"}, e.add))
			must(t, c.Track(&Track{UserId: "u1", Event: "e", MessageId: "m4"}))
			_ = c.Close()
			if !reflect.DeepEqual(e.list, test.want) {
				t.Fatalf("got %q", e.list)
			}
		})
	}
}

func TestTheFunctionOfACallIsNotCalledForTheNextBatch(t *testing.T) {
	s := newService(t, nil)
	c, _ := newClient(t, s.URL)
	c.FlushAt = 1
	e := &ends{}
	for _, id := range []string{"m1", "m2"} {
		must(t, c.EnqueueFunc(Track{UserId: "u1", Event: "e", MessageId: id}, e.add))
		must(t, c.Flush(context.Background()))
		must(t, c.Track(&Track{UserId: "u1", Event: "e", MessageId: "after " + id}))
		must(t, c.Flush(context.Background()))
	}
	must(t, c.Close())
	if want := []string{"track m1", "track m2"}; !reflect.DeepEqual(e.list, want) {
		t.Fatalf("got %q", e.list)
	}
}

func TestTheFunctionsOfCallsThatCloseLeavesBehindAreCalled(t *testing.T) {
	s, release := stuck(t)
	defer release()
	c, _ := newClient(t, s.URL)
	c.FlushAt, c.CloseTimeout = 1, time.Millisecond
	e := &ends{}
	for _, id := range []string{"m1", "m2"} {
		must(t, c.EnqueueFunc(Track{UserId: "u1", Event: "e", MessageId: id}, e.add))
	}
	s.next(t)
	if err := c.Close(); !errors.Is(err, ErrNotSent) {
		t.Fatalf("got %v", err)
	}
	if want := []string{"track m1 closed", "track m2 closed"}; !reflect.DeepEqual(e.list, want) {
		t.Fatalf("got %q", e.list)
	}
}

func TestAFunctionThatPanicsHidesNoOther(t *testing.T) {
	s := newService(t, nil)
	c, _ := newClient(t, s.URL)
	log, e := &lines{}, &ends{}
	c.Logger = log
	must(t, c.EnqueueFunc(Track{UserId: "u1", Event: "e"}, func(QueuedMessage, error) { panic("a bug") }))
	must(t, c.EnqueueFunc(Track{UserId: "u1", Event: "e", MessageId: "m2"}, e.add))
	must(t, c.Close())
	if len(e.list) != 1 || log.String() != "analytics: the function of EnqueueFunc panicked: a bug\n" {
		t.Fatalf("%q, %s", e.list, log)
	}
}

func TestTheLogCountsOnlyCallsWhoseFailureNobodyLearns(t *testing.T) {
	for name, test := range map[string]struct {
		answer func(int, http.ResponseWriter, *request)
		others int
		want   string
	}{
		"of a refused batch":      {status(400), 3, "analytics: 3 calls lost after 1 attempt"},
		"of rejected calls":       {rejectsSome, 3, "analytics: 1 of 5 calls rejected"},
		"none if all are covered": {status(400), 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := newService(t, test.answer)
			c, _ := newClient(t, s.URL)
			log := &lines{}
			c.Logger, c.OnFailure = log, nil
			for i := 0; i < 2; i++ {
				must(t, c.EnqueueFunc(Track{UserId: "u1", Event: "e"}, (&ends{}).add))
			}
			for i := 0; i < test.others; i++ {
				must(t, c.Track(&Track{UserId: "u1", Event: "e"}))
			}
			_ = c.Close()
			if got := log.String(); !strings.HasPrefix(got, test.want) || (test.want == "") != (got == "") {
				t.Fatalf("got %s", got)
			}
		})
	}
}

func TestRetryAfterOfTheCallerReplacesTheBackoff(t *testing.T) {
	for name, test := range map[string]struct {
		retryAfter func(int) time.Duration
		header     string
		want       []time.Duration
	}{
		"its waits":               {func(n int) time.Duration { return time.Duration(n+1) * time.Hour / 60 }, "", []time.Duration{time.Minute, 2 * time.Minute}},
		"at least what is asked":  {func(int) time.Duration { return time.Second }, "3", []time.Duration{3 * time.Second, 3 * time.Second}},
		"one that panics":         {func(int) time.Duration { panic("a bug") }, "", []time.Duration{50 * time.Millisecond, 100 * time.Millisecond}},
		"one that is below zero":  {func(int) time.Duration { return -time.Second }, "", []time.Duration{0, 0}},
		"beyond the 45 minutes":   {func(int) time.Duration { return time.Hour }, "", nil},
		"nothing, as by default ": {nil, "", []time.Duration{50 * time.Millisecond, 100 * time.Millisecond}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newService(t, func(n int, w http.ResponseWriter, _ *request) {
				if n < 3 {
					w.Header().Set("Retry-After", test.header)
					w.WriteHeader(503)
				}
			})
			pauses := make(chan time.Duration, 10)
			c, f := newClient(t, s.URL)
			c.externals = instantly(pauses)
			c.FlushAt, c.RetryBase, c.RetryAfter = 1, 100*time.Millisecond, test.retryAfter
			if test.want == nil {
				c.RetryAfter = func(n int) time.Duration {
					awaitClosed(c)
					return test.retryAfter(n)
				}
			}
			must(t, c.Track(&Track{UserId: "u1", Event: "e"}))
			for _, want := range test.want {
				if got := receive(t, pauses); got != want {
					t.Fatalf("it waited %v instead of %v", got, want)
				}
			}
			if err := c.Close(); test.want == nil {
				if failure := receive(t, f.came); !errors.Is(failure.Err, ErrGaveUp) || !errors.Is(err, ErrNotSent) {
					t.Fatalf("got %v, %v", failure.Err, err)
				}
			}
			f.none(t)
		})
	}
}

// levelled is a logger that distinguishes errors.
type levelled struct{ lines }

func (l *levelled) Errorf(format string, values ...any) { l.Printf("ERROR "+format, values...) }

func TestVerboseLogsEveryStepAndErrorsGoToErrorf(t *testing.T) {
	s := newService(t, func(n int, w http.ResponseWriter, _ *request) {
		if n == 1 {
			w.WriteHeader(503)
		}
	})
	c, _ := newClient(t, s.URL)
	log := &levelled{}
	c.Logger, c.Verbose = log, true
	must(t, c.Track(&Track{UserId: "u1", Event: "e"}))
	must(t, c.Close())
	for _, part := range []string{
		"\nanalytics: queue: track", "\nERROR analytics: 1 call not sent yet", "\nanalytics: the service responds again", "\nanalytics: close: ",
	} {
		if !strings.Contains(log.String(), part) {
			t.Errorf("%q is not in\n%s", part, log)
		}
	}
}
