package analytics_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/sluice-dev/sluice/clients/go/analytics-go"
)

// printing is a service that prints the calls it receives.
func printing() *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct{ Batch []map[string]any }
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			fmt.Println(err)
		}
		for _, call := range body.Batch {
			fmt.Println(call["type"], call["timestamp"], call["properties"], call["context"])
		}
		_, _ = io.WriteString(w, `{"success":true}`)
	}))
}

func Example() {
	service := printing()
	defer service.Close()

	client, err := analytics.NewWithConfig("shop-write-key", analytics.Config{
		Endpoint:       service.URL,
		DefaultContext: &analytics.Context{App: analytics.AppInfo{Name: "Shop"}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	err = client.Enqueue(analytics.Track{
		UserId:     "u1",
		Event:      "Order Completed",
		Timestamp:  time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
		Properties: analytics.NewProperties().SetRevenue(9.9).SetCurrency("EUR"),
		Context:    &analytics.Context{Locale: "de-AT"},
	})
	if err != nil {
		fmt.Println(err)
	}
	if err := client.Close(); err != nil {
		fmt.Println(err)
	}
	// Output:
	// track 2026-01-02T03:04:05.000Z map[currency:EUR revenue:9.9] map[app:map[name:Shop] locale:de-AT]
}

type printer struct{}

func (printer) Success(m analytics.Message) {
	fmt.Println("accepted:", m.(analytics.Screen).Name)
}

func (printer) Failure(m analytics.Message, err error) {
	fmt.Println("lost:", m.(analytics.Screen).Name, err)
}

func ExampleCallback() {
	service := printing()
	defer service.Close()

	client, err := analytics.NewWithConfig("shop-write-key", analytics.Config{Endpoint: service.URL, Callback: printer{}})
	if err != nil {
		fmt.Println(err)
		return
	}
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	if err := client.Enqueue(analytics.Screen{UserId: "u1", Name: "Cart", Timestamp: at}); err != nil {
		fmt.Println(err)
	}
	if err := client.Close(); err != nil {
		fmt.Println(err)
	}
	// Output:
	// screen 2026-01-02T03:04:05.000Z <nil> <nil>
	// accepted: Cart
}
