// A program that uses analytics-go v3. The test also runs it with the import path of Sluice's package instead.
//
// Usage: program ENDPOINT; it prints how each message ended.
package main

import (
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/segmentio/analytics-go/v3"
)

var birthday = time.Date(1815, 12, 10, 0, 0, 0, 0, time.UTC)

// at is not in UTC and has more than milliseconds.
var at = time.Date(2026, 1, 2, 4, 4, 5, 678_912_345, time.FixedZone("", 3600))

var messages = []analytics.Message{
	analytics.Identify{
		MessageId: "identify", UserId: "u1", AnonymousId: "a1", Timestamp: at,
		Traits: analytics.NewTraits().SetAddress("1 Main St").SetAge(36).SetAvatar("https://example.com/a.png").SetBirthday(birthday).
			SetCreatedAt(at).SetDescription("a <b> & c").SetEmail("ada@example.com").SetFirstName("Ada").SetGender("f").SetLastName("Lovelace").
			SetName("Ada Lovelace").SetPhone("1").SetTitle("Countess").SetUsername("ada").SetWebsite("https://example.com").Set("seats", 3),
		Integrations: analytics.NewIntegrations().EnableAll().Disable("Webhooks").Set("CRM", map[string]any{"list": 7}),
	},
	&analytics.Track{
		MessageId: "track", UserId: "u1", Event: "Order Completed", Timestamp: at,
		Properties: analytics.NewProperties().SetRevenue(10.5).SetCurrency("EUR").SetValue(1).SetPath("/").SetReferrer("r").SetTitle("t").
			SetURL("u").SetName("n").SetCategory("c").SetSKU("s").SetPrice(2).SetProductId("p").SetOrderId("o").SetTotal(12).SetSubtotal(11).
			SetShipping(3).SetTax(4).SetDiscount(5).SetCoupon("half").SetRepeat(true).Set("nested", []any{1, "two", nil}).
			SetProducts(analytics.Product{ID: "1", SKU: "sku-1", Name: "Book", Price: 9.99}, analytics.Product{}),
		Context: &analytics.Context{
			App:      analytics.AppInfo{Name: "Shop", Version: "1", Build: "2", Namespace: "com.example"},
			Campaign: analytics.CampaignInfo{Name: "spring", Source: "mail", Medium: "m", Term: "t", Content: "c"},
			Device:   analytics.DeviceInfo{Id: "d", Manufacturer: "m", Model: "X1", Name: "n", Type: "phone", Version: "v", AdvertisingID: "ad"},
			Library:  analytics.LibraryInfo{Name: "own", Version: "9"},
			Location: analytics.LocationInfo{City: "Vienna", Country: "AT", Region: "W", Latitude: 48.2, Longitude: 16.4, Speed: 1},
			Network:  analytics.NetworkInfo{Bluetooth: true, Cellular: true, WIFI: true, Carrier: "c"},
			OS:       analytics.OSInfo{Name: "os", Version: "10"},
			Page:     analytics.PageInfo{Hash: "#", Path: "/", Referrer: "r", Search: "?q", Title: "t", URL: "u"},
			Referrer: analytics.ReferrerInfo{Type: "t", Name: "n", URL: "u", Link: "l"},
			Screen:   analytics.ScreenInfo{Density: 2, Width: 100, Height: 200},
			IP:       net.IPv4(192, 0, 2, 1), Direct: true, Locale: "de-AT", GroupID: "g1", Timezone: "Europe/Vienna", UserAgent: "agent",
			Traits: analytics.Traits{"plan": "pro"}, Extra: map[string]any{"more": 1, "locale": "never sent"},
		},
	},
	analytics.Page{MessageId: "page", AnonymousId: "a1", Name: "Home", Properties: analytics.Properties{"path": "/"}},
	&analytics.Page{MessageId: "empty", UserId: "u1", Properties: analytics.NewProperties(), Context: &analytics.Context{}, Integrations: analytics.NewIntegrations()},
	analytics.Screen{MessageId: "screen", UserId: "u1", Name: "Cart", Properties: analytics.Properties{"items": 2}},
	analytics.Group{MessageId: "group", UserId: "u1", GroupId: "g1", Traits: analytics.Traits{"industry": "tools"}, Context: &analytics.Context{Locale: "en"}},
	analytics.Alias{MessageId: "alias", UserId: "u1", PreviousId: "a1", Integrations: analytics.NewIntegrations().DisableAll().Enable("Webhooks")},
	analytics.Track{UserId: "u1", Event: "without an id"},
}

var invalid = []analytics.Message{
	analytics.Identify{}, analytics.Track{UserId: "u1"}, analytics.Track{Event: "e"}, analytics.Track{}, &analytics.Page{}, analytics.Screen{},
	analytics.Group{UserId: "u1"}, analytics.Group{GroupId: "g1"}, analytics.Group{}, analytics.Alias{UserId: "u1"}, analytics.Alias{PreviousId: "a1"},
	fields{}, fields{"type": "track", "event": "e"}, fields{"type": "group", "userId": "u1"}, fields{"type": "alias", "userId": "u1"},
	fields{"type": "page"}, fields{"type": "screen"}, fields{"type": "identify"}, fields{"type": 7},
}

// fields is a message of its own type.
type fields map[string]any

func (f fields) Validate() error { return analytics.ValidateFields(f) }

func (f fields) GetField(name string) (any, bool) {
	value, has := f[name]
	return value, has
}

type callback struct{ sync.Mutex }

func (c *callback) Success(m analytics.Message)            { c.print("success", m) }
func (c *callback) Failure(m analytics.Message, err error) { c.print("failure", m) }

func (c *callback) print(how string, message analytics.Message) {
	c.Lock()
	defer c.Unlock()
	kind, id, isTimed := "", "", false
	switch m := message.(type) {
	case analytics.Identify:
		kind, id, isTimed = m.Type, m.MessageId, m.Timestamp.Equal(at)
	case analytics.Track:
		kind, id, isTimed = m.Type, m.MessageId, !m.Timestamp.IsZero()
		if m.Event == "without an id" && id != "" {
			id = "its own"
		}
	case analytics.Page:
		kind, id, isTimed = m.Type, m.MessageId, !m.Timestamp.IsZero()
	case analytics.Screen:
		kind, id, isTimed = m.Type, m.MessageId, !m.Timestamp.IsZero()
	case analytics.Group:
		kind, id, isTimed = m.Type, m.MessageId, !m.Timestamp.IsZero()
	case analytics.Alias:
		kind, id, isTimed = m.Type, m.MessageId, !m.Timestamp.IsZero()
	}
	fmt.Println(how, kind, id, isTimed)
}

func main() {
	for _, config := range []analytics.Config{{Interval: -1}, {BatchSize: -1}} {
		client, err := analytics.NewWithConfig("key", config)
		var field analytics.ConfigError
		fmt.Println(client == nil, errors.As(err, &field), field.Field, field.Value)
	}
	client, err := analytics.NewWithConfig("shop-write-key", analytics.Config{
		Endpoint:  os.Args[1],
		Interval:  time.Minute,
		BatchSize: 100,
		Transport: http.DefaultTransport,
		Callback:  &callback{},
		Logger:    analytics.StdLogger(log.New(io.Discard, "", 0)),
		Verbose:   true,
		DefaultContext: &analytics.Context{
			App: analytics.AppInfo{Name: "Default"}, Timezone: "UTC", Extra: map[string]any{"instance": "i-1"},
			Library: analytics.LibraryInfo{Name: "overwritten"},
		},
		RetryAfter: func(int) time.Duration { return time.Millisecond },
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, message := range messages {
		if err := client.Enqueue(message); err != nil {
			log.Fatal(err)
		}
	}
	for _, message := range invalid {
		fmt.Println(message.Validate(), client.Enqueue(message) != nil)
	}
	_ = client.Close()
	fmt.Println(client.Enqueue(messages[0]) == analytics.ErrClosed, client.Close() == analytics.ErrClosed)
}
