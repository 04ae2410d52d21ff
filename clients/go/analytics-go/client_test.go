package analytics_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	root "github.com/sluice-dev/sluice/clients/go"
	"github.com/sluice-dev/sluice/clients/go/analytics-go"
)

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// service stands in for Sluice. It answers each request as told, and keeps the path and the number of calls of each.
type service struct {
	*httptest.Server
	mu    sync.Mutex
	paths []string
	calls []int
}

func newService(t testing.TB, answer func(w http.ResponseWriter)) *service {
	s := &service{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct{ Batch []json.RawMessage }
		_ = json.NewDecoder(r.Body).Decode(&body)
		s.mu.Lock()
		s.paths, s.calls = append(s.paths, r.URL.Path), append(s.calls, len(body.Batch))
		s.mu.Unlock()
		answer(w)
	}))
	t.Cleanup(s.Close)
	return s
}

func accept(w http.ResponseWriter) { _, _ = io.WriteString(w, `{"success":true}`) }

// outcomes is a callback that records what it learns.
type outcomes struct {
	mu   sync.Mutex
	list []string
}

func (o *outcomes) Success(m analytics.Message) { o.add("success", m, nil) }

func (o *outcomes) Failure(m analytics.Message, err error) { o.add("failure", m, err) }

func (o *outcomes) add(how string, m analytics.Message, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.list = append(o.list, fmt.Sprint(how, " ", m.(analytics.Track).MessageId, " ", errors.Is(err, root.ErrTooDeep)))
}

func quiet() analytics.Logger { return analytics.StdLogger(log.New(io.Discard, "", 0)) }

func TestTheCallbackLearnsOfEachMessageOfABatchByItself(t *testing.T) {
	s := newService(t, func(w http.ResponseWriter) {
		_, _ = io.WriteString(w, `{"success":true,"rejected":[{"index":1,"code":"too_deep","message":"Too deep."}]}`)
	})
	o := &outcomes{}
	client, err := analytics.NewWithConfig("shop-write-key", analytics.Config{Endpoint: s.URL, Callback: o, Logger: quiet()})
	must(t, err)
	for _, id := range []string{"m1", "m2", "m3"} {
		must(t, client.Enqueue(analytics.Track{UserId: "u1", Event: "e", MessageId: id}))
	}
	must(t, client.Close())
	if got, want := strings.Join(o.list, ", "), "success m1 false, failure m2 true, success m3 false"; got != want {
		t.Fatalf("got %s", got)
	}
}

func TestMessagesThatCannotBeQueuedAreErrorsOfEnqueueAndNotOfTheCallback(t *testing.T) {
	o := &outcomes{}
	release := make(chan struct{})
	s := newService(t, func(w http.ResponseWriter) { <-release; accept(w) })
	client, err := analytics.NewWithConfig("shop-write-key", analytics.Config{Endpoint: s.URL, Callback: o, Logger: quiet()})
	must(t, err)
	big := analytics.Properties{"text": strings.Repeat("x", 33_000)}
	if err := client.Enqueue(analytics.Track{UserId: "u1", Event: "e", Properties: big}); !errors.Is(err, analytics.ErrMessageTooBig) {
		t.Errorf("got %v", err)
	}
	for i := 0; err == nil; i++ {
		if i > root.DefaultMaxQueue {
			t.Fatal("the queue has no limit")
		}
		err = client.Enqueue(analytics.Track{UserId: "u1", Event: "e"})
	}
	if !errors.Is(err, analytics.ErrTooManyRequests) {
		t.Errorf("got %v", err)
	}
	o.mu.Lock()
	if len(o.list) > 0 {
		t.Errorf("the callback got %q", o.list)
	}
	o.mu.Unlock()
	close(release)
	must(t, client.Close())
}

func TestABatchSizeOf1SendsEachMessageByItself(t *testing.T) {
	s := newService(t, accept)
	client, err := analytics.NewWithConfig("shop-write-key", analytics.Config{Endpoint: s.URL + "/", BatchSize: 1})
	must(t, err)
	for i := 0; i < 2; i++ {
		must(t, client.Enqueue(&analytics.Page{UserId: "u1"}))
	}
	must(t, client.Close())
	if got := fmt.Sprint(s.paths, s.calls); got != "[/v1/batch /v1/batch] [1 1]" {
		t.Fatalf("got %s", got)
	}
}

func TestBadConfigurationsAreErrorsWithTheirField(t *testing.T) {
	for field, config := range map[string]analytics.Config{
		"Interval": {Interval: -time.Second}, "BatchSize": {BatchSize: -1}, "Endpoint": {Endpoint: "http://user:secret@localhost"},
	} {
		client, err := analytics.NewWithConfig("shop-write-key", config)
		var invalid analytics.ConfigError
		if client != nil || !errors.As(err, &invalid) || invalid.Field != field || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", field, err)
		}
	}
}

func TestAWriteKeyThatIsMissingIsAnErrorOfEachMessage(t *testing.T) {
	client := analytics.New("")
	if err := client.Enqueue(analytics.Page{UserId: "u1"}); !errors.Is(err, root.ErrWriteKeyRequired) {
		t.Fatalf("got %v", err)
	}
}

// foreign is a message of another package.
type foreign struct{ analytics.Track }

func TestMessagesThatAreNilOrForeignAreErrors(t *testing.T) {
	client := analytics.New("shop-write-key")
	defer client.Close()
	for _, message := range []analytics.Message{
		nil, (*analytics.Identify)(nil), (*analytics.Track)(nil), (*analytics.Page)(nil), (*analytics.Screen)(nil), (*analytics.Group)(nil),
		(*analytics.Alias)(nil), foreign{analytics.Track{UserId: "u1", Event: "e"}},
	} {
		if err := client.Enqueue(message); err == nil {
			t.Errorf("%T was queued", message)
		}
	}
}

func TestTheClientIsSafeForConcurrentUse(t *testing.T) {
	s := newService(t, accept)
	o := &outcomes{}
	client, err := analytics.NewWithConfig("shop-write-key", analytics.Config{
		Endpoint: s.URL, Callback: o, DefaultContext: &analytics.Context{Locale: "en", Traits: analytics.Traits{"plan": "pro"}},
	})
	must(t, err)
	shared := &analytics.Context{Locale: "de"}
	var group sync.WaitGroup
	for i := 0; i < 8; i++ {
		group.Add(1)
		go func() {
			defer group.Done()
			for j := 0; j < 50; j++ {
				if err := client.Enqueue(analytics.Track{UserId: "u1", Event: "e", Context: shared}); err != nil {
					t.Error(err)
				}
			}
		}()
	}
	group.Wait()
	must(t, client.Close())
	if len(o.list) != 400 {
		t.Fatalf("%d messages ended", len(o.list))
	}
}
