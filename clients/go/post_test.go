package analytics

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// hanging is a RoundTripper that ignores the context of a request, or whose response body does.
type hanging struct {
	release chan struct{}
	inBody  bool // of the response
	now     atomic.Int32
	most    atomic.Int32
	mu      sync.Mutex
	bodies  [][]byte // as read after the release
}

func newHanging(t *testing.T) *hanging {
	h := &hanging{release: make(chan struct{})}
	t.Cleanup(func() { h.end(t) })
	return h
}

func (h *hanging) end(t *testing.T) {
	select {
	case <-h.release:
	default:
		close(h.release)
	}
	until(t, "no request is under way", func() bool { return h.now.Load() == 0 })
}

func (h *hanging) RoundTrip(r *http.Request) (*http.Response, error) {
	h.most.Store(max(h.most.Load(), h.now.Add(1)))
	if h.inBody {
		return &http.Response{StatusCode: 200, Request: r, Body: io.NopCloser(readerFunc(func([]byte) (int, error) {
			<-h.release
			h.now.Add(-1)
			return 0, io.EOF
		}))}, nil
	}
	<-h.release
	body, err := io.ReadAll(r.Body)
	h.mu.Lock()
	h.bodies = append(h.bodies, body)
	h.mu.Unlock()
	h.now.Add(-1)
	return succeed(r), err
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func TestATryEndsInTimeAlthoughTheHTTPClientDoesNot(t *testing.T) {
	for name, inBody := range map[string]bool{"before the answer": false, "in its body": true} {
		t.Run(name, func(t *testing.T) {
			h := newHanging(t)
			h.inBody = inBody
			c, f := newClient(t, "http://localhost:1")
			c.HTTPClient = &http.Client{Transport: h}
			c.RequestTimeout, c.MaxRetries = 10*time.Millisecond, 2
			must(t, c.Track(&Track{UserId: "u1", Event: "Opened"}))
			ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
			defer cancel()
			must(t, c.Flush(ctx))
			failure := receive(t, f.came)
			if !errors.Is(failure.Err, ErrGaveUp) || !errors.Is(failure.Err, context.DeadlineExceeded) || failure.Tries != 3 ||
				!strings.Contains(failure.Err.Error(), "no response within 10ms") {
				t.Fatalf("got %+v", failure)
			}
			must(t, c.Close())
		})
	}
}

func TestAResponseThatSwitchesProtocolsIsFinalAndItsConnectionIsClosed(t *testing.T) {
	s := newService(t, func(_ int, w http.ResponseWriter, _ *request) {
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			panic(err)
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
		_, _ = conn.Read(make([]byte, 1)) // until the client closes it
	})
	c, f := newClient(t, s.URL)
	must(t, c.Track(&Track{UserId: "u1", Event: "Opened"}))
	must(t, c.Flush(context.Background()))
	if failure := receive(t, f.came); !errors.Is(failure.Err, ErrRejected) || failure.Status != 101 {
		t.Fatalf("got %v", failure.Err)
	}
}

func TestCloseEndsInTimeAlthoughTheHTTPClientDoesNot(t *testing.T) {
	h := newHanging(t)
	c, f := newClient(t, "http://localhost:1")
	c.HTTPClient = &http.Client{Transport: h}
	c.FlushAt, c.CloseTimeout = 1, 10*time.Millisecond
	must(t, c.Track(&Track{UserId: "u1", Event: "Opened"}))
	until(t, "the request is under way", func() bool { return h.now.Load() == 1 })
	if err := c.Close(); !errors.Is(err, ErrNotSent) || !strings.Contains(err.Error(), "(last attempt: no response yet)") {
		t.Fatalf("got %v", err)
	}
	if failure := receive(t, f.came); !errors.Is(failure.Err, ErrClosed) || failure.Tries != 1 {
		t.Fatalf("got %+v", failure)
	}
	<-c.sender.done
}

func TestRequestsThatDoNotEndAreFewAndKeepTheirBodies(t *testing.T) {
	h := newHanging(t)
	c, f := newClient(t, "http://localhost:1")
	c.HTTPClient = &http.Client{Transport: h}
	c.RequestTimeout, c.MaxRetries = time.Millisecond, 4
	for i := 0; i < 3; i++ {
		must(t, c.Track(&Track{UserId: "u1", Event: "Opened", MessageId: fmt.Sprint("m", i)})) // reuses the memory of the one before
		must(t, c.Flush(context.Background()))
	}
	for i := 0; i < 3; i++ {
		failure := receive(t, f.came)
		if failure.Tries != 5 {
			t.Fatalf("got %+v", failure)
		}
		if i == 2 && !strings.Contains(failure.Err.Error(), "has not returned from 8 requests") {
			t.Fatalf("got %v", failure.Err)
		}
	}
	until(t, "the last ones have begun", func() bool { return h.now.Load() >= maxAbandoned })
	if most := h.most.Load(); most != maxAbandoned {
		t.Fatalf("%d were under way", most)
	}
	h.end(t)
	first, second := 0, 0
	for _, body := range h.bodies {
		switch {
		case bytes.Contains(body, []byte(`"m0"`)):
			first++
		case bytes.Contains(body, []byte(`"m1"`)):
			second++
		}
	}
	if len(h.bodies) != maxAbandoned || first != 5 || second != 3 {
		t.Fatalf("of %d bodies %d are the first call's, and %d the second's", len(h.bodies), first, second)
	}
	until(t, "they have ended", func() bool { return len(c.sender.poster.inFlight) == 0 })
	must(t, c.Track(&Track{UserId: "u1", Event: "Opened"})) // now requests are made again
	must(t, c.Close())
	f.none(t)
}

// mutedConn is a connection that can go dead: it stays open, but nothing that is written to it arrives.
type mutedConn struct {
	net.Conn
	isMuted *atomic.Bool
	closed  chan<- struct{} // of a dead one, once the client has closed it
}

func (m mutedConn) Close() error {
	if m.isMuted.Load() {
		select {
		case m.closed <- struct{}{}:
		default:
		}
	}
	return m.Conn.Close()
}

func (m mutedConn) Write(p []byte) (int, error) {
	if m.isMuted.Load() {
		return len(p), nil
	}
	return m.Conn.Write(p)
}

type mutedListener struct {
	net.Listener
	mute   chan *atomic.Bool // one per connection
	closed chan struct{}
}

func (l mutedListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	isMuted := &atomic.Bool{}
	l.mute <- isMuted
	return mutedConn{conn, isMuted, l.closed}, err
}

func TestARetryDoesNotUseAnHTTP2ConnectionThatIsDead(t *testing.T) {
	protocols := make(chan string, 100)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		protocols <- r.Proto
		_, _ = io.WriteString(w, success)
	}))
	mute := make(chan *atomic.Bool, 100)
	closed := make(chan struct{}, 1)
	server.Listener = mutedListener{server.Listener, mute, closed}
	server.EnableHTTP2 = true
	server.StartTLS()
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	common := http.DefaultTransport
	t.Cleanup(func() { http.DefaultTransport = common })
	http.DefaultTransport = server.Client().Transport
	c, f := newClient(t, server.URL)
	must(t, c.Track(&Track{UserId: "u1", Event: "Opened"}))
	must(t, c.Flush(context.Background()))
	if protocol := receive(t, protocols); protocol != "HTTP/2.0" {
		t.Fatalf("got %s", protocol)
	}
	receive(t, mute).Store(true)
	c.sender.poster.timeout = 100 * time.Millisecond
	must(t, c.Track(&Track{UserId: "u1", Event: "Opened"}))
	must(t, c.Close())
	f.none(t)
	receive(t, closed) // otherwise it would stay open until IdleConnTimeout
}
