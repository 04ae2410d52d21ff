package analytics

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"
)

// hangUp closes the connection without a response.
func hangUp(w http.ResponseWriter) {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		panic(err)
	}
	_ = conn.(*net.TCPConn).SetLinger(0) // with a reset
	_ = conn.Close()
}

type sentBody struct {
	Batch  json.RawMessage
	SentAt time.Time
}

func bodyOf(t *testing.T, r *request) (b sentBody) {
	must(t, json.Unmarshal(r.body, &b))
	return b
}

func TestWhatMaySucceedLaterIsSentAgainWithTheSameCallsAndTheTimeOfTheTry(t *testing.T) {
	for name, first := range map[string]func(w http.ResponseWriter){
		"408":                func(w http.ResponseWriter) { w.WriteHeader(408) },
		"429":                func(w http.ResponseWriter) { w.WriteHeader(429) },
		"500":                func(w http.ResponseWriter) { w.WriteHeader(500) },
		"503":                func(w http.ResponseWriter) { w.WriteHeader(503) },
		"a reset connection": hangUp,
		"an answer in no HTTP": func(w http.ResponseWriter) {
			conn, _, _ := w.(http.Hijacker).Hijack()
			_, _ = io.WriteString(conn, "SSH-2.0\r\n\r\n")
			_ = conn.Close()
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newService(t, func(n int, w http.ResponseWriter, _ *request) {
				if n <= 2 {
					first(w)
				}
			})
			c, f := newClient(t, s.URL)
			var looks atomic.Int64
			c.externals.now = func() time.Time { return time.UnixMilli(1_700_000_000_000 + looks.Add(1)) }
			must(t, c.Track(&Track{UserId: "u1", Event: "Opened"}))
			must(t, c.Close())
			if n := len(s.requests); n != 3 {
				t.Fatalf("%d requests", n)
			}
			one, two, three := s.next(t), s.next(t), s.next(t)
			for before, again := range map[*request]*request{one: two, two: three} {
				if calls, was := bodyOf(t, again), bodyOf(t, before); string(calls.Batch) != string(was.Batch) || !calls.SentAt.After(was.SentAt) {
					t.Fatalf("%s became %s", before.body, again.body)
				}
			}
			f.none(t)
		})
	}
}

func TestAServiceThatIsAwayIsTriedUntilItIsBack(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	address := listener.Addr().String()
	must(t, listener.Close()) // refuses

	pauses := make(chan time.Duration, 1000)
	c, f := newClient(t, "http://"+address)
	c.externals = instantly(pauses)
	c.externals.timer = func(time.Duration) (<-chan time.Time, func() bool) { return realTimer(time.Millisecond) }
	c.FlushAt, c.MaxRetries = 1, 1_000_000
	must(t, c.Track(&Track{UserId: "u1", Event: "Opened"}))
	until(t, "a try has failed", func() bool { return strings.Contains(c.Logger.(*lines).String(), "not sent yet") })

	listener, err = net.Listen("tcp", address)
	must(t, err)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, success) })}
	go func() { _ = server.Serve(listener) }()
	defer server.Close()
	must(t, c.Close())
	f.none(t)
}

func TestATryWithoutAnAnswerEndsAfterItsTime(t *testing.T) {
	s := newService(t, func(n int, _ http.ResponseWriter, r *request) {
		if n == 1 {
			<-r.Context().Done()
		}
	})
	c, f := newClient(t, s.URL)
	// a slow machine may need several
	c.RequestTimeout, c.MaxRetries = 50*time.Millisecond, 10_000
	must(t, c.Track(&Track{UserId: "u1", Event: "Opened"}))
	must(t, c.Close())
	if n := len(s.requests); n < 2 {
		t.Fatalf("%d requests", n)
	}
	f.none(t)
}

func TestATryWithoutAnAnswerIsReportedWithItsLimit(t *testing.T) {
	s := newService(t, func(_ int, _ http.ResponseWriter, r *request) { <-r.Context().Done() })
	c, f := newClient(t, s.URL)
	c.RequestTimeout, c.MaxRetries = 10*time.Millisecond, -1
	must(t, c.Track(&Track{UserId: "u1", Event: "Opened"}))
	must(t, c.Flush(context.Background()))
	failure := receive(t, f.came)
	if !errors.Is(failure.Err, context.DeadlineExceeded) || !strings.Contains(failure.Err.Error(), "no response within 10ms") || failure.Status != 0 {
		t.Fatalf("got %+v", failure)
	}
}

func TestAnAnswerThatBreaksOffIsToldAsThat(t *testing.T) {
	stall := func(r *http.Request) error {
		<-r.Context().Done()
		return r.Context().Err()
	}
	breakOff := func(*http.Request) error { return io.ErrUnexpectedEOF }
	for _, test := range []struct {
		body  string
		end   func(*http.Request) error
		limit time.Duration
		want  string // empty: it has arrived
	}{
		{"", stall, 10 * time.Millisecond, "in 1 attempt: no response within 10ms: context deadline exceeded"},
		{`{"success":tr`, stall, 10 * time.Millisecond, "in 1 attempt: no response within 10ms: context deadline exceeded"},
		{`{"success":tr`, breakOff, testTimeout, "in 1 attempt: the response broke off: unexpected EOF"},
		{success, breakOff, testTimeout, ""},
	} {
		c, f := newClient(t, "http://localhost:1")
		c.HTTPClient = &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
			rest := readerFunc(func([]byte) (int, error) { return 0, test.end(r) })
			return &http.Response{StatusCode: 200, Request: r, Body: io.NopCloser(io.MultiReader(strings.NewReader(test.body), rest))}, nil
		})}
		c.RequestTimeout, c.MaxRetries = test.limit, -1
		must(t, c.Track(&Track{UserId: "u1", Event: "Opened"}))
		must(t, c.Flush(context.Background()))
		if test.want == "" {
			f.none(t)
			continue
		}
		failure := receive(t, f.came)
		if !errors.Is(failure.Err, ErrGaveUp) || !strings.HasSuffix(failure.Err.Error(), test.want) || failure.Status != 0 {
			t.Errorf("%s: got %+v", test.body, failure)
		}
	}
}

func TestItGivesUpAfterTheLastRetry(t *testing.T) {
	s := newService(t, func(_ int, w http.ResponseWriter, _ *request) {
		w.WriteHeader(503)
		_, _ = io.WriteString(w, `{"code":"unavailable","message":"The call could not be stored in time: send it again."}`)
	})
	pauses := make(chan time.Duration, 100)
	c, f := newClient(t, s.URL)
	c.externals = instantly(pauses)
	c.FlushAt, c.MaxRetries, c.RetryBase = 1, 9, 100*time.Millisecond
	must(t, c.Track(&Track{UserId: "u1", Event: "Opened", MessageId: "m1"}))
	failure := receive(t, f.came)
	if !errors.Is(failure.Err, ErrGaveUp) || !errors.Is(failure.Err, &Error{Code: "unavailable"}) || failure.Tries != 10 || failure.Status != 503 {
		t.Fatalf("got %+v", failure)
	}
	if m := failure.Messages; len(m) != 1 || m[0].Type != "track" || m[0].MessageId != "m1" || !bytes.HasPrefix(m[0].JSON, []byte(`{"type":"track","messageId":"m1"`)) {
		t.Fatalf("got %+v", m)
	}
	var waited []string
	for len(pauses) > 0 {
		waited = append(waited, (<-pauses).String())
	}
	if got := strings.Join(waited, " "); got != "50ms 100ms 200ms 400ms 800ms 1.6s 3.2s 5s 5s" {
		t.Fatalf("it waited %s", got)
	}
	if n := len(s.requests); n != 10 {
		t.Fatalf("%d requests", n)
	}
}

func TestANegativeMaxRetriesMeansNone(t *testing.T) {
	s := newService(t, status(500))
	c, f := newClient(t, s.URL)
	c.MaxRetries = -1
	must(t, c.Track(&Track{UserId: "u1", Event: "Opened"}))
	must(t, c.Flush(context.Background()))
	if failure := receive(t, f.came); !errors.Is(failure.Err, ErrGaveUp) || failure.Tries != 1 {
		t.Fatalf("got %+v", failure)
	}
}

func TestRetryAfterIsWaitedAtLeast(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for header, want := range map[string]time.Duration{
		"3":   3 * time.Second,
		"0":   50 * time.Millisecond, // the backoff is longer
		"999": longestRetryAfter,
		now.Add(9 * time.Second).Format(http.TimeFormat): 9 * time.Second,
	} {
		for _, code := range []int{429, 503} {
			s := newService(t, func(n int, w http.ResponseWriter, _ *request) {
				if n == 1 {
					w.Header().Set("Retry-After", header)
					w.WriteHeader(code)
				}
			})
			pauses := make(chan time.Duration, 10)
			c, f := newClient(t, s.URL)
			c.externals = instantly(pauses)
			c.externals.now = func() time.Time { return now }
			c.FlushAt, c.RetryBase = 1, 100*time.Millisecond
			must(t, c.Track(&Track{UserId: "u1", Event: "Opened"}))
			if got := receive(t, pauses); got != want {
				t.Errorf("%d with %q: it waited %v", code, header, got)
			}
			must(t, c.Close())
			f.none(t)
		}
	}
}

// asleep returns the time after the machine slept for d: its wall clock moved, its monotonic clock did not. Only real clocks make such
// a time, so this changes time.Time's internals; TestTimeIsThatOfTheClockThatSaysMore fails if these change.
func asleep(t time.Time, d time.Duration) time.Time {
	woken := t.Add(d)
	(*struct {
		wall      uint64
		monotonic int64
	})(unsafe.Pointer(&woken)).monotonic -= int64(d)
	return woken
}

func TestTimeIsThatOfTheClockThatSaysMore(t *testing.T) {
	began := time.Now()
	woken, setBack := asleep(began.Add(time.Minute), time.Hour), asleep(began.Add(time.Minute), -time.Hour)
	if woken.Sub(began) != time.Minute || setBack.Sub(began) != time.Minute || !woken.Round(0).Equal(began.Add(61*time.Minute)) {
		t.Fatal("asleep does not do what it says")
	}
	for name, test := range map[string]struct {
		now  time.Time
		want time.Duration
	}{
		"both":               {began.Add(time.Minute), time.Minute},
		"the wall clock":     {woken, 61 * time.Minute},
		"the monotonic one":  {setBack, time.Minute},
		"the only one it is": {began.Round(0).Add(time.Minute), time.Minute},
	} {
		if got := elapsed(began, test.now); got != test.want {
			t.Errorf("%s: got %v", name, got)
		}
	}
}

// pausing is a clock that moves only during pauses. Each pause takes over longer than asked, and then the machine sleeps for slept.
func pausing(over, slept time.Duration) externals {
	var mu sync.Mutex
	at := time.Now()
	elapsed := make(chan time.Time)
	close(elapsed)
	return externals{
		now: func() time.Time {
			mu.Lock()
			defer mu.Unlock()
			return at
		},
		timer: func(d time.Duration) (<-chan time.Time, func() bool) {
			mu.Lock()
			defer mu.Unlock()
			at = asleep(at.Add(d+over), slept)
			return elapsed, func() bool { return true }
		},
		random: func() float64 { return 0.5 },
	}
}

func TestABatchIsNotSentAgainWhenTheServiceMayHaveForgottenIt(t *testing.T) {
	for name, test := range map[string]struct {
		over, slept time.Duration
		tries       int
		last        time.Duration // after the first
	}{
		"for what it asks for":          {0, 0, 9, 40 * time.Minute},
		"as the process was stopped":    {time.Hour, 0, 1, 0},
		"as it was stopped for shorter": {10 * time.Minute, 0, 3, 30 * time.Minute},
		"as the machine slept":          {0, time.Hour, 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			s := newService(t, func(_ int, w http.ResponseWriter, _ *request) {
				w.Header().Set("Retry-After", "300")
				w.WriteHeader(503)
			})
			c, f := newClient(t, s.URL)
			c.externals = pausing(test.over, test.slept)
			c.FlushAt, c.MaxRetries = 1, 1000
			must(t, c.Track(&Track{UserId: "u1", Event: "Opened"}))
			failure := receive(t, f.came)
			if !errors.Is(failure.Err, ErrGaveUp) || failure.Tries != test.tries || !strings.Contains(failure.Err.Error(), "within 45 minutes") {
				t.Fatalf("got %+v", failure)
			}
			first := bodyOf(t, s.next(t)).SentAt
			last := first
			for len(s.requests) > 0 {
				last = bodyOf(t, s.next(t)).SentAt
			}
			if after := last.Sub(first); after != test.last {
				t.Fatalf("the last came after %v", after)
			}
		})
	}
}

func TestTheLastTryEndsWithTheTimeOfItsBatch(t *testing.T) {
	c := New("shop-write-key")
	c.RequestTimeout = time.Hour
	c.HTTPClient = &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
		<-r.Context().Done()
		return nil, r.Context().Err()
	})}
	s, fault := c.settings()
	if fault != nil {
		t.Fatal(fault)
	}
	ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
	defer cancel()
	a := newPoster(s).post(ctx, payload{}, 10*time.Millisecond)
	if a.err == nil || !strings.Contains(a.err.Error(), "no response within 10ms") {
		t.Fatalf("got %v", a.err)
	}
}

func TestWhatIsRefusedIsNotSentAgain(t *testing.T) {
	for _, code := range []int{201, 204, 301, 302, 304, 308, 400, 401, 403, 404, 405, 413, 415, 422, 431} {
		s := newService(t, func(_ int, w http.ResponseWriter, _ *request) {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(code)
			_, _ = io.WriteString(w, `{"code":"bad_request","message":"This is not a request."}`)
		})
		c, f := newClient(t, s.URL)
		must(t, c.Track(&Track{UserId: "u1", Event: "Opened"}))
		must(t, c.Track(&Track{UserId: "u1", Event: "Closed"}))
		must(t, c.Flush(context.Background()))
		failure := receive(t, f.came)
		if !errors.Is(failure.Err, ErrRejected) || failure.Status != code || failure.Tries != 1 || len(failure.Messages) != 2 {
			t.Errorf("%d: got %+v", code, failure)
		}
		if code >= 400 && (!errors.Is(failure.Err, &Error{Code: "bad_request"}) || !strings.Contains(failure.Err.Error(), "not a request")) {
			t.Errorf("%d: its error is %v", code, failure.Err)
		}
		if n := len(s.requests); n != 1 {
			t.Errorf("%d: %d requests", code, n)
		}
	}
}

// refuses gives the first requests a temporary refusal. Each request takes a second of the returned clock.
func refuses(t *testing.T, first int, code int, body string) (*service, func() time.Time) {
	var requests atomic.Int64
	s := newService(t, func(n int, w http.ResponseWriter, _ *request) {
		requests.Add(1)
		if n <= first {
			w.WriteHeader(code)
			_, _ = io.WriteString(w, body)
		}
	})
	return s, func() time.Time { return time.Unix(1_700_000_000+requests.Load(), 0) }
}

const (
	unknownSource  = `{"code":"unknown_source","message":"No source has this write key."}`
	sourceDisabled = `{"code":"source_disabled","message":"The source is switched off."}`
)

func TestASourceThatIsNotKnownYetIsWaitedForAndTheLogSaysSo(t *testing.T) {
	s, now := refuses(t, 3, 401, unknownSource)
	c, f := newClient(t, s.URL)
	log := &lines{}
	c.Logger, c.externals = log, instantly(nil)
	c.externals.now = now
	must(t, c.Track(&Track{UserId: "u1", Event: "Opened"}))
	must(t, c.Close())
	f.none(t)
	if n := len(s.requests); n != 4 {
		t.Fatalf("%d requests", n)
	}
	if text := log.String(); !strings.Contains(text, "retrying") || !strings.Contains(text, "No source has this write key") {
		t.Fatalf("got %s", text)
	}
}

func TestARefusalThatDoesNotPassIsFinalAndAtOnceForTheNextBatches(t *testing.T) {
	for name, test := range map[string]struct {
		code    int
		body    string
		seconds int
	}{
		"unknown_source":  {401, unknownSource, 10},
		"source_disabled": {403, sourceDisabled, 60},
	} {
		t.Run(name, func(t *testing.T) {
			s, now := refuses(t, test.seconds+2, test.code, test.body)
			c, f := newClient(t, s.URL)
			c.MaxRetries = 1_000
			c.externals = instantly(nil)
			c.externals.now = now
			for _, tries := range []int{test.seconds + 1, 1} { // the time starts with the first response
				must(t, c.Track(&Track{UserId: "u1", Event: "Opened"}))
				must(t, c.Flush(context.Background()))
				failure := receive(t, f.came)
				if !errors.Is(failure.Err, &Error{Code: name}) || failure.Status != test.code || failure.Tries != tries {
					t.Fatalf("got %+v", failure)
				}
			}
			must(t, c.Track(&Track{UserId: "u1", Event: "Opened"}))
			must(t, c.Close())
			f.none(t)
		})
	}
}

func TestARefusalThatMayPassIsWhatItIsWhereNoTryIsLeft(t *testing.T) {
	s, _ := refuses(t, 1, 403, sourceDisabled)
	c, f := newClient(t, s.URL)
	c.MaxRetries = -1
	must(t, c.Track(&Track{UserId: "u1", Event: "Opened"}))
	must(t, c.Flush(context.Background()))
	if failure := receive(t, f.came); !errors.Is(failure.Err, ErrRejected) || failure.Tries != 1 {
		t.Fatalf("got %+v", failure)
	}
}

func TestTheNextBatchGoesWhenTheOneBeforeItIsSettled(t *testing.T) {
	s := newService(t, func(n int, w http.ResponseWriter, _ *request) {
		switch n {
		case 1:
			w.WriteHeader(503)
		case 2:
			w.WriteHeader(400)
		}
	})
	c, f := newClient(t, s.URL)
	c.FlushAt = 1
	for i := 0; i < 3; i++ {
		must(t, c.TrackContext(context.Background(), &Track{UserId: "u1", Event: "Opened", MessageId: fmt.Sprint(i)}))
	}
	must(t, c.Flush(context.Background()))
	var order []string
	for len(s.requests) > 0 {
		order = append(order, s.next(t).ids(t)...)
	}
	if got := strings.Join(order, " "); got != "0 0 1 2" {
		t.Fatalf("they came as %s", got)
	}
	if failure := receive(t, f.came); failure.Messages[0].MessageId != "0" {
		t.Fatalf("got %+v", failure)
	}
	f.none(t)
}

func TestAnHTTPClientThatDoesNotReturnEndsNothing(t *testing.T) {
	for reported, end := range worst {
		end := end
		t.Run(reported, func(t *testing.T) {
			n := 0
			c, f := newClient(t, "http://localhost:1")
			c.HTTPClient = &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
				if n++; n == 1 {
					end()
				}
				return succeed(r), nil
			})}
			must(t, c.Track(&Track{UserId: "u1", Event: "Opened"}))
			must(t, c.Close())
			f.none(t)
			if n != 2 {
				t.Fatalf("%d requests", n)
			}
		})
	}
}

type wrong struct{ text string }

func (w *wrong) Error() string { return w.text } // panics for a nil pointer

func TestANilPointerAsAnErrorOfTheHTTPClientEndsNothing(t *testing.T) {
	c, f := newClient(t, "http://localhost:1")
	c.HTTPClient = &http.Client{Transport: roundTripper(func(*http.Request) (*http.Response, error) {
		var none *wrong
		return nil, none
	})}
	c.MaxRetries, c.Verbose, c.Logger = 1, true, &lines{}
	must(t, c.Track(&Track{UserId: "u1", Event: "Opened"}))
	must(t, c.Flush(context.Background()))
	failure := receive(t, f.came)
	if !errors.Is(failure.Err, ErrGaveUp) || failure.Tries != 2 || !strings.HasSuffix(failure.Err.Error(), "in 2 attempts: <nil>") {
		t.Fatalf("got %+v", failure)
	}
	must(t, c.Close())
}
