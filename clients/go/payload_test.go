package analytics

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math/rand"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestALargeBodyIsSentInGzipAndASmallOneAsItIs(t *testing.T) {
	s := newService(t, nil)
	c, _ := newClient(t, s.URL)
	send := func(padding int) *request {
		must(t, c.Track(&Track{UserId: "u1", Event: "Opened", Properties: map[string]any{"p": strings.Repeat("x", padding)}}))
		must(t, c.Flush(context.Background()))
		return s.next(t)
	}
	around := len(send(0).body)
	if r := send(1024 - around); len(r.body) != 1024 || r.Header.Get("Content-Encoding") != "" {
		t.Fatalf("%d bytes went as %q", len(r.body), r.Header.Get("Content-Encoding"))
	}
	for i := 0; i < 3; i++ { // the writer is reused
		r := send(1025 - around + i)
		if len(r.body) != 1025+i || r.Header.Get("Content-Encoding") != "gzip" || len(r.wire) > 400 || r.ContentLength != int64(len(r.wire)) {
			t.Fatalf("%d bytes went as %q in %d", len(r.body), r.Header.Get("Content-Encoding"), len(r.wire))
		}
	}
	must(t, c.Close())
}

// The service refuses gzip that inflates to more than 100 times its size, and with it the whole batch.
func TestABodyThatTheServiceWouldNotInflateGoesAsItIs(t *testing.T) {
	s := newService(t, nil)
	c, _ := newClient(t, s.URL)
	zeros := make([]int, 14_000)
	for i := 0; i < 17; i++ {
		must(t, c.Track(&Track{UserId: "u1", Event: "Opened", Properties: map[string]any{"p": zeros}}))
	}
	must(t, c.Close())
	if r := s.next(t); len(r.body) < 450_000 || len(r.wire) != len(r.body) || r.Header.Get("Content-Encoding") != "" {
		t.Fatalf("%d bytes went as %q in %d", len(r.body), r.Header.Get("Content-Encoding"), len(r.wire))
	}
}

// The limits can be lower for gzip.
func TestABatchRefusedAsTooLargeWithGzipIsSentAgainUncompressed(t *testing.T) {
	s := newService(t, func(_ int, w http.ResponseWriter, r *request) {
		if r.Header.Get("Content-Encoding") == "gzip" {
			w.WriteHeader(http.StatusRequestEntityTooLarge)
			_, _ = io.WriteString(w, `{"code":"batch_too_large","message":"too large"}`)
			return
		}
		_, _ = io.WriteString(w, `{"success":true}`)
	})
	c, f := newClient(t, s.URL)
	must(t, c.Track(&Track{UserId: "u1", Event: "Opened", Properties: map[string]any{"p": strings.Repeat("x", 2*compressFrom)}}))
	must(t, c.Close())
	f.none(t)
	for _, encoding := range []string{"gzip", ""} {
		if r := s.next(t); r.Header.Get("Content-Encoding") != encoding || len(r.items) != 1 {
			t.Fatalf("got encoding %q and %d calls", r.Header.Get("Content-Encoding"), len(r.items))
		}
	}
}

func TestABatchTooLargeWithoutGzipIsNotSentAgain(t *testing.T) {
	s := newService(t, func(_ int, w http.ResponseWriter, _ *request) { w.WriteHeader(http.StatusRequestEntityTooLarge) })
	c, f := newClient(t, s.URL)
	for _, padding := range []int{0, 2 * compressFrom} {
		must(t, c.Track(&Track{UserId: "u1", Event: "Opened", Properties: map[string]any{"p": strings.Repeat("x", padding)}}))
		must(t, c.Flush(context.Background()))
	}
	must(t, c.Close())
	if len(f.came) != 2 || len(s.requests) != 3 {
		t.Fatalf("%d failures after %d requests", len(f.came), len(s.requests))
	}
}

func TestWithoutCompressionALargeBodyGoesAsItIs(t *testing.T) {
	s := newService(t, nil)
	c, _ := newClient(t, s.URL)
	c.DisableCompression = true
	must(t, c.Track(&Track{UserId: "u1", Event: "Opened", Properties: map[string]any{"p": strings.Repeat("x", 2*compressFrom)}}))
	must(t, c.Close())
	if r := s.next(t); len(r.wire) < 2*compressFrom || r.Header.Get("Content-Encoding") != "" || r.ContentLength != int64(len(r.wire)) {
		t.Fatalf("it went as %q in %d bytes", r.Header.Get("Content-Encoding"), len(r.wire))
	}
}

func TestABodyThatIsReadAfterItsAnswerIsNotWrittenInto(t *testing.T) {
	for _, padding := range []int{0, 2 * compressFrom} {
		var first io.ReadCloser
		c, f := newClient(t, "http://localhost:1")
		c.HTTPClient = &http.Client{Transport: roundTripper(func(r *http.Request) (*http.Response, error) {
			if first == nil {
				first = r.Body // it stays open
			} else {
				_ = r.Body.Close()
			}
			return succeed(r), nil
		})}
		for i := 0; i < 3; i++ {
			properties := map[string]any{"p": strings.Repeat("x", padding)}
			must(t, c.Track(&Track{UserId: "u1", Event: "Opened", MessageId: fmt.Sprint("m", i), Properties: properties}))
			must(t, c.Flush(context.Background()))
		}
		must(t, c.Close())
		f.none(t)
		body, _ := io.ReadAll(first)
		if inflated, err := gzip.NewReader(bytes.NewReader(body)); err == nil {
			body, _ = io.ReadAll(inflated)
		}
		if !bytes.Contains(body, []byte(`"m0"`)) {
			t.Fatalf("it became %s", body)
		}
	}
}

// slowConn makes a body take longer than an attempt may.
type slowConn struct{ net.Conn }

func (c slowConn) Write(p []byte) (int, error) {
	time.Sleep(2 * time.Millisecond)
	return c.Conn.Write(p)
}

// Over HTTP/2, the body of an abandoned request may still be read after it is closed. The race detector finds writes to it.
func TestABodyThatIsReadAfterItsTryIsNotWrittenInto(t *testing.T) {
	for name, disableCompression := range map[string]bool{"in gzip": false, "as it is": true} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.ProtoMajor != 2 {
					t.Errorf("it came over %s", r.Proto)
				}
				_, _ = io.Copy(io.Discard, r.Body)
			}))
			server.EnableHTTP2 = true
			server.StartTLS()
			t.Cleanup(server.Close)
			transport := server.Client().Transport.(*http.Transport)
			transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
				conn, err := new(net.Dialer).DialContext(ctx, network, address)
				return slowConn{conn}, err
			}
			c, f := newClient(t, server.URL)
			c.HTTPClient, c.DisableCompression = server.Client(), disableCompression
			c.RequestTimeout, c.MaxRetries = 20*time.Millisecond, 5
			noise := make([]byte, 20_000) // gzip cannot compress it
			rand.New(rand.NewSource(1)).Read(noise)
			properties := map[string]any{"p": base64.StdEncoding.EncodeToString(noise)}
			for i := 0; i < 15; i++ {
				must(t, c.Track(&Track{UserId: "u1", Event: "Opened", Properties: properties}))
			}
			must(t, c.Flush(context.Background()))
			if failure := receive(t, f.came); !errors.Is(failure.Err, ErrGaveUp) || failure.Tries != 6 {
				t.Fatalf("got %+v", failure)
			}
		})
	}
}
