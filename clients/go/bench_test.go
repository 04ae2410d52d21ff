package analytics

import (
	"context"
	"errors"
	"io"
	"net/http"
	"testing"
	"time"
)

// sink responds at once, so that only the client is measured.
func sink(r *http.Request) (*http.Response, error) {
	_, _ = io.Copy(io.Discard, r.Body)
	_ = r.Body.Close()
	return succeed(r), nil
}

func benchClient(b *testing.B) *Client {
	c := New("shop-write-key")
	c.HTTPClient = &http.Client{Transport: roundTripper(sink)}
	b.ReportAllocs()
	b.ResetTimer()
	return c
}

func benchTrack() *Track {
	return &Track{UserId: "user-4711", Event: "Order Completed", Properties: map[string]any{
		"orderId": "o-20260102-17", "total": 129.9, "currency": "EUR", "coupon": nil, "items": 3, "first": false,
		"products": []any{map[string]any{"sku": "p-1", "price": 99.9}, map[string]any{"sku": "p-2", "price": 30.0}},
	}}
}

// Measures a call until its batch is delivered, including gzip. Producers wait for room.
func BenchmarkTrackToTheEnd(b *testing.B) {
	c, message, ctx := benchClient(b), benchTrack(), context.Background()
	for i := 0; i < b.N; i++ {
		if err := c.TrackContext(ctx, message); err != nil {
			b.Fatal(err)
		}
	}
	if err := c.Close(); err != nil {
		b.Fatal(err)
	}
}

func BenchmarkTrackToTheEndFromManyGoroutines(b *testing.B) {
	c, ctx := benchClient(b), context.Background()
	b.RunParallel(func(pb *testing.PB) {
		message := benchTrack()
		for pb.Next() {
			if err := c.TrackContext(ctx, message); err != nil {
				b.Error(err)
				return
			}
		}
	})
	if err := c.Close(); err != nil {
		b.Fatal(err)
	}
}

func BenchmarkMinimalTrackToTheEnd(b *testing.B) {
	c, message, ctx := benchClient(b), &Track{UserId: "user-4711", Event: "Opened"}, context.Background()
	for i := 0; i < b.N; i++ {
		if err := c.TrackContext(ctx, message); err != nil {
			b.Fatal(err)
		}
	}
	if err := c.Close(); err != nil {
		b.Fatal(err)
	}
}

// Measures how long a caller waits while the queue is full.
func BenchmarkRefusal(b *testing.B) {
	c := benchClient(b)
	c.MaxQueue = 1
	release := make(chan struct{})
	c.HTTPClient.Transport = roundTripper(func(r *http.Request) (*http.Response, error) {
		<-release
		return sink(r)
	})
	message := benchTrack()
	_ = c.Track(message)
	b.ResetTimer()
	for i := 0; i < b.N; i++ {
		if err := c.Track(message); !errors.Is(err, ErrQueueFull) {
			b.Fatal(err)
		}
	}
	close(release)
	_ = c.Close()
}

// Measures the caller's part without the queue.
func BenchmarkEncode(b *testing.B) {
	e, message, now := encoders.Get().(*encoder), benchTrack().call(), time.Now()
	b.ReportAllocs()
	for i := 0; i < b.N; i++ {
		if _, err := e.encode(&message, now); err != nil {
			b.Fatal(err)
		}
	}
}
