package analytics

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// testTimeout limits the wait for an expected event.
const testTimeout = 30 * time.Second

const success = `{"success":true}`

type request struct {
	*http.Request
	wire  []byte // as received
	body  []byte // decompressed
	items []json.RawMessage
}

func (r *request) ids(t testing.TB) (ids []string) {
	for _, item := range r.items {
		ids = append(ids, describe(item).MessageId)
	}
	return ids
}

// service stands in for Sluice and records requests. Its default response is success.
type service struct {
	*httptest.Server
	requests    chan *request
	connections chan net.Conn
	answer      func(n int, w http.ResponseWriter, r *request) // n counts from 1
	mu          sync.Mutex
	n           int
}

func newService(t testing.TB, answer func(n int, w http.ResponseWriter, r *request)) *service {
	s := &service{requests: make(chan *request, 100_000), connections: make(chan net.Conn, 1000), answer: answer}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(s.serve))
	s.Config.ErrorLog = nil
	s.Config.ConnState = func(conn net.Conn, state http.ConnState) {
		if state == http.StateNew {
			s.connections <- conn
		}
	}
	s.Start()
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return s
}

func (s *service) serve(w http.ResponseWriter, r *http.Request) {
	wire, _ := io.ReadAll(r.Body)
	got := &request{Request: r, wire: wire, body: wire}
	if r.Header.Get("Content-Encoding") == "gzip" {
		inflated, err := gzip.NewReader(bytes.NewReader(wire))
		if err == nil {
			got.body, err = io.ReadAll(inflated)
		}
		if err != nil {
			panic(err)
		}
	}
	var batch struct{ Batch []json.RawMessage }
	if err := json.Unmarshal(got.body, &batch); err != nil {
		panic(err)
	}
	got.items = batch.Batch
	s.mu.Lock()
	s.n++
	n := s.n
	s.mu.Unlock()
	s.requests <- got
	writer := &trackingWriter{ResponseWriter: w}
	if s.answer != nil {
		s.answer(n, writer, got)
	}
	if !writer.hasWritten {
		_, _ = io.WriteString(w, success)
	}
}

// trackingWriter records whether a response was written to it.
type trackingWriter struct {
	http.ResponseWriter
	hasWritten bool
}

func (t *trackingWriter) WriteHeader(code int) {
	t.hasWritten = true
	t.ResponseWriter.WriteHeader(code)
}

func (t *trackingWriter) Write(p []byte) (int, error) {
	t.hasWritten = true
	return t.ResponseWriter.Write(p)
}

func (t *trackingWriter) Flush() { t.ResponseWriter.(http.Flusher).Flush() }

func (t *trackingWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	t.hasWritten = true
	return t.ResponseWriter.(http.Hijacker).Hijack()
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func succeed(r *http.Request) *http.Response {
	return &http.Response{StatusCode: 200, Body: io.NopCloser(strings.NewReader(success)), Request: r}
}

func status(code int) func(int, http.ResponseWriter, *request) {
	return func(_ int, w http.ResponseWriter, _ *request) { w.WriteHeader(code) }
}

func (s *service) next(t testing.TB) *request {
	t.Helper()
	return receive(t, s.requests)
}

func receive[T any](t testing.TB, from <-chan T) T {
	t.Helper()
	select {
	case value := <-from:
		return value
	case <-time.After(testTimeout):
		t.Fatal("nothing came")
		panic("unreachable")
	}
}

func until(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(testTimeout); !holds(); runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatalf("still not so: %s", what)
		}
		time.Sleep(time.Millisecond)
	}
}

// newClient returns a client with short retries, closed at the end of the test, and its failures.
func newClient(t testing.TB, url string) (*Client, *failures) {
	c, f := New("shop-write-key"), &failures{came: make(chan Failure, 100_000)}
	c.Endpoint = url
	c.OnFailure = f.keep
	c.RetryBase = time.Millisecond
	c.Logger = &lines{}
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = c.CloseContext(ctx)
	})
	return c, f
}

type failures struct{ came chan Failure }

func (f *failures) keep(failure Failure) { f.came <- failure }

func (f *failures) none(t testing.TB) {
	t.Helper()
	select {
	case failure := <-f.came:
		t.Fatalf("a failure was reported: %v", failure.Err)
	default:
	}
}

type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Printf(format string, values ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprintf(&l.text, format+"\n", values...)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// fakeTime stands in for the clock and moves only on advance.
type fakeTime struct {
	mu      sync.Mutex
	at      time.Time
	lastNow time.Time // last result of now
	timers  []*fakeTimer
	armed   chan time.Duration // each timer that was made
}

type fakeTimer struct {
	at      time.Time
	elapsed chan time.Time
}

func newFakeTime() *fakeTime {
	return &fakeTime{at: time.Date(2026, 1, 2, 3, 4, 5, 678e6, time.UTC), armed: make(chan time.Duration, 1000)}
}

func (f *fakeTime) externals() externals {
	return externals{now: f.now, timer: f.timer, random: func() float64 { return 0.5 }}
}

func (f *fakeTime) now() time.Time {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.lastNow = f.at
	return f.at
}

func (f *fakeTime) timer(d time.Duration) (<-chan time.Time, func() bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	timer := &fakeTimer{at: f.lastNow.Add(d), elapsed: make(chan time.Time, 1)}
	if !timer.at.After(f.at) {
		timer.elapsed <- f.at
	}
	f.timers = append(f.timers, timer)
	f.armed <- d
	return timer.elapsed, func() bool { return true }
}

func (f *fakeTime) awaitArmed(t testing.TB, d time.Duration) {
	t.Helper()
	for receive(t, f.armed) != d {
	}
}

func (f *fakeTime) advance(d time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.at = f.at.Add(d)
	for _, timer := range f.timers {
		if !timer.at.After(f.at) {
			select {
			case timer.elapsed <- f.at:
			default:
			}
		}
	}
}

// instantly makes pauses take no time. It sends their durations to pauses while that has room: with a clock that stands still, the
// sender asks again and again whether a flush is due.
func instantly(pauses chan<- time.Duration) externals {
	elapsed := make(chan time.Time)
	close(elapsed)
	return externals{random: func() float64 { return 0.5 }, timer: func(d time.Duration) (<-chan time.Time, func() bool) {
		select {
		case pauses <- d:
		default:
		}
		return elapsed, func() bool { return true }
	}}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// A closed client leaves no goroutines behind, whatever a test has done with it.
func TestMain(m *testing.M) {
	code := m.Run()
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	for end := time.Now().Add(testTimeout); code == 0 && isLeft(stacks()); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			fmt.Fprintf(os.Stderr, "goroutines are left:\n%s\n", stacks())
			code = 1
		}
	}
	os.Exit(code)
}

// isLeft looks for goroutines by name, because a fuzzer has its own.
func isLeft(stacks string) bool {
	return strings.Contains(stacks, "(*sender).run") || strings.Contains(stacks, "(*persistConn)")
}

func stacks() string {
	text := make([]byte, 1<<20)
	return string(text[:runtime.Stack(text, true)])
}
