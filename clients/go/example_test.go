package analytics_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"time"

	analytics "github.com/sluice-dev/sluice/clients/go"
)

// newService prints received calls or, with a status other than 200, rejects them.
func newService(status int) *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if status != http.StatusOK {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, `{"code":"unknown_source","message":"No source has this write key."}`)
			return
		}
		var body struct{ Batch []map[string]any }
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			fmt.Println(err)
		}
		for _, call := range body.Batch {
			fmt.Println(call["type"], call["userId"], call["event"])
		}
		_, _ = io.WriteString(w, `{"success":true}`)
	}))
}

func Example() {
	service := newService(http.StatusOK)
	defer service.Close()

	client := analytics.New("shop-write-key")
	client.Endpoint = service.URL
	if err := client.Identify(&analytics.Identify{UserId: "u1", Traits: map[string]any{"plan": "pro"}}); err != nil {
		fmt.Println(err)
	}
	if err := client.Track(&analytics.Track{UserId: "u1", Event: "Signed Up"}); err != nil {
		fmt.Println(err)
	}
	fmt.Println("queued")
	if err := client.Close(); err != nil {
		fmt.Println(err)
	}
	// Output:
	// queued
	// identify u1 <nil>
	// track u1 Signed Up
}

// A historical import sets the timestamp of each call, and waits for room in the queue.
func ExampleClient_TrackContext() {
	service := newService(http.StatusOK)
	defer service.Close()

	client := analytics.New("shop-write-key")
	client.Endpoint = service.URL
	client.FlushAt = 2500
	client.MaxQueue = 2
	ctx := context.Background()
	for year := 2019; year < 2024; year++ {
		err := client.TrackContext(ctx, &analytics.Track{
			UserId:    "u1",
			Event:     fmt.Sprint("Renewed ", year),
			Timestamp: time.Date(year, 12, 1, 9, 0, 0, 0, time.UTC).Format(time.RFC3339),
			MessageId: fmt.Sprint("renewal-u1-", year), // so that a repeated import adds no duplicates for a while
		})
		if err != nil {
			fmt.Println(err)
		}
	}
	if err := client.Close(); err != nil {
		fmt.Println(err)
	}
	// Output:
	// track u1 Renewed 2019
	// track u1 Renewed 2020
	// track u1 Renewed 2021
	// track u1 Renewed 2022
	// track u1 Renewed 2023
}

// Messages of any type, as values or pointers, with a context that all calls share.
func ExampleClient_Enqueue() {
	service := newService(http.StatusOK)
	defer service.Close()

	client := analytics.New("shop-write-key")
	client.Endpoint = service.URL
	client.DefaultContext = map[string]any{"app": map[string]any{"name": "Shop"}}
	for _, message := range []analytics.Message{
		analytics.Track{UserId: "u1", Event: "Order Completed", Time: time.Now()},
		&analytics.Screen{UserId: "u1", Name: "Cart", Properties: map[string]any{"items": 2}},
	} {
		if err := client.Enqueue(message); err != nil {
			fmt.Println(err)
		}
	}
	if err := client.Close(); err != nil {
		fmt.Println(err)
	}
	// Output:
	// track u1 Order Completed
	// screen u1 <nil>
}

// A program that waits for single calls learns of each by itself.
func ExampleClient_EnqueueFunc() {
	service := newService(http.StatusOK)
	defer service.Close()

	client := analytics.New("shop-write-key")
	client.Endpoint = service.URL
	message := analytics.Track{UserId: "u1", Event: "Invoice Paid", MessageId: "invoice-7"}
	err := client.EnqueueFunc(message, func(m analytics.QueuedMessage, err error) {
		fmt.Println(m.Type, m.MessageId, "failed:", err != nil)
	})
	if err != nil {
		fmt.Println(err)
	}
	if err := client.Close(); err != nil {
		fmt.Println(err)
	}
	// Output:
	// track u1 Invoice Paid
	// track invoice-7 failed: false
}

func ExampleClient_Flush() {
	service := newService(http.StatusOK)
	defer service.Close()

	client := analytics.New("shop-write-key")
	client.Endpoint = service.URL
	defer client.Close()
	if err := client.Track(&analytics.Track{UserId: "u1", Event: "Opened"}); err != nil {
		fmt.Println(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := client.Flush(ctx); err != nil {
		fmt.Println(err)
	}
	fmt.Println("settled")
	// Output:
	// track u1 Opened
	// settled
}

func ExampleFailure() {
	service := newService(http.StatusUnauthorized)
	defer service.Close()

	client := analytics.New("wrong-write-key")
	client.Endpoint = service.URL
	client.MaxRetries = -1 // otherwise retried for ten seconds, because the source could be new
	client.OnFailure = func(f analytics.Failure) {
		fmt.Println(len(f.Messages), "call,", f.Messages[0].Type, "with status", f.Status)
		fmt.Println("refused:", errors.Is(f.Err, analytics.ErrRejected))
		fmt.Println("by its key:", errors.Is(f.Err, &analytics.Error{Code: "unknown_source"}))
	}
	if err := client.Track(&analytics.Track{UserId: "u1", Event: "Opened"}); err != nil {
		fmt.Println(err)
	}
	fmt.Println("not all is sent:", errors.Is(client.Close(), analytics.ErrNotSent))
	// Output:
	// 1 call, track with status 401
	// refused: true
	// by its key: true
	// not all is sent: true
}

func ExampleError() {
	client := analytics.New("shop-write-key")
	defer client.Close()
	fmt.Println(client.Track(&analytics.Track{UserId: "u1"}))

	err := client.Track(&analytics.Track{
		UserId:     "u1",
		Event:      "Order Completed",
		Properties: map[string]any{"total": math.NaN()},
	})
	fmt.Println(err)

	var coded *analytics.Error
	if errors.As(err, &coded) {
		fmt.Println(coded.Code, errors.Is(err, analytics.ErrNotSerialisable))
	}
	// Output:
	// analytics: event_not_defined: Track requires Event, the name of the action
	// analytics: not_serialisable: properties.total cannot be written as JSON: json: unsupported value: NaN
	// not_serialisable true
}
