// Sends calls with Segment's Go library and waits until each is delivered or given up.
//
// Usage: go run send_calls.go HOST WRITE_KEY < calls.json; prints how many were given up. Calls have the form of the HTTP API.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/segmentio/analytics-go/v3"
)

// Close drops pending retries, so the program waits for all outcomes.
type outcomes struct {
	open    sync.WaitGroup
	givenUp int32
}

func (o *outcomes) Success(analytics.Message) { o.open.Done() }

func (o *outcomes) Failure(analytics.Message, error) {
	atomic.AddInt32(&o.givenUp, 1)
	o.open.Done()
}

func main() {
	var calls []json.RawMessage
	check(json.NewDecoder(os.Stdin).Decode(&calls))
	var outcomes outcomes
	client, err := analytics.NewWithConfig(os.Args[2], analytics.Config{
		Endpoint:  os.Args[1],
		Interval:  100 * time.Millisecond,
		BatchSize: 20,
		Callback:  &outcomes,
	})
	check(err)
	for _, raw := range calls {
		outcomes.open.Add(1)
		check(client.Enqueue(message(raw)))
	}
	outcomes.open.Wait()
	check(client.Close())
	fmt.Println(outcomes.givenUp)
}

// The library's fields have the same names as those of the HTTP API.
func message(raw json.RawMessage) analytics.Message {
	var named struct{ Type string }
	check(json.Unmarshal(raw, &named))
	messages := map[string]analytics.Message{
		"identify": &analytics.Identify{},
		"track":    &analytics.Track{},
		"page":     &analytics.Page{},
		"screen":   &analytics.Screen{},
		"group":    &analytics.Group{},
		"alias":    &analytics.Alias{},
	}
	check(json.Unmarshal(raw, messages[named.Type]))
	return messages[named.Type]
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
