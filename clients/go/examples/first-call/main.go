// Sends one call of each type and reports errors.
package main

import (
	"fmt"
	"log"
	"os"

	analytics "github.com/sluice-dev/sluice/clients/go"
)

func main() {
	client := analytics.New("shop-write-key")      // the write key of a source
	client.Endpoint = os.Getenv("SLUICE_ENDPOINT") // empty: http://localhost:8080/v1/batch
	client.OnFailure = func(f analytics.Failure) {
		for _, m := range f.Messages {
			log.Printf("%s %s will not arrive: %v", m.Type, m.MessageId, f.Err)
		}
	}

	report(client.Track(&analytics.Track{
		AnonymousId: "visitor-1",
		Event:       "Pricing Viewed",
		Properties:  map[string]any{"plan": "pro", "seats": 3},
	}))
	report(client.Alias(&analytics.Alias{PreviousId: "visitor-1", UserId: "u1"}))
	report(client.Identify(&analytics.Identify{UserId: "u1", Traits: map[string]any{"email": "ada@example.com"}}))
	report(client.Group(&analytics.Group{UserId: "u1", GroupId: "acme", Traits: map[string]any{"industry": "tools"}}))
	report(client.Page(&analytics.Page{UserId: "u1", Name: "Welcome", Properties: map[string]any{"path": "/welcome"}}))
	report(client.Screen(&analytics.Screen{UserId: "u1", Name: "Cart"}))

	// Close sends all queued calls; without it, the calls of the last seconds are lost.
	if err := client.Close(); err != nil {
		log.Fatal(err)
	}
	fmt.Println("sent")
}

// report does not end the program: that would lose the queued calls.
func report(err error) {
	if err != nil {
		log.Print(err)
	}
}
