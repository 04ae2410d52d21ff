// Makes a number of calls with one Go client library, waits until all are delivered, and prints what that took as JSON.
//
// Usage: clients ours|peer URL CALLS
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	peer "github.com/segmentio/analytics-go/v3"

	analytics "github.com/sluice-dev/sluice/clients/go"
)

const goroutines = 8

type report struct {
	Calls  int64 `json:"calls"`
	Failed int64 `json:"failed"`
	// Until all were delivered.
	DeliveredSeconds float64 `json:"deliveredSeconds"`
	CpuSeconds       float64 `json:"cpuSeconds"`
	Allocations      uint64  `json:"allocations"`
	AllocatedBytes   uint64  `json:"allocatedBytes"`
}

// A library in use: one call, and the end.
type library struct {
	call  func(number int) error
	close func() error
}

var failed int64

func main() {
	libraries := map[string]func(url string) library{"ours": ours, "peer": theirs}
	calls, err := strconv.Atoi(os.Args[3])
	check(err)
	under := libraries[os.Args[1]](os.Args[2])
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start, cpu := time.Now(), cpuSeconds()
	makeCalls(under.call, calls)
	check(under.close())
	delivered := time.Since(start).Seconds()
	runtime.ReadMemStats(&after)
	check(json.NewEncoder(os.Stdout).Encode(report{
		Calls:            int64(calls),
		Failed:           atomic.LoadInt64(&failed),
		DeliveredSeconds: delivered,
		CpuSeconds:       cpuSeconds() - cpu,
		Allocations:      after.Mallocs - before.Mallocs,
		AllocatedBytes:   after.TotalAlloc - before.TotalAlloc,
	}))
}

func makeCalls(call func(number int) error, calls int) {
	var all sync.WaitGroup
	for goroutine := 0; goroutine < goroutines; goroutine++ {
		all.Add(1)
		go func(first int) {
			defer all.Done()
			for each := first; each < calls; each += goroutines {
				check(call(each))
			}
		}(goroutine)
	}
	all.Wait()
}

// A 400-byte call as applications make it; the map is made for each, as it would be there.
func properties(number int) map[string]any {
	return map[string]any{
		"orderId": number, "total": 129.5, "currency": "EUR", "coupon": "SPRING", "shipping": 4.9,
		"affiliation": "Web shop", "category": "Home and garden", "returning": true,
	}
}

func ours(url string) library {
	client := analytics.New("bench-write-key")
	client.Endpoint = url + "/v1/batch"
	client.OnFailure = func(failure analytics.Failure) { atomic.AddInt64(&failed, int64(len(failure.Messages))) }
	call := func(number int) error {
		return client.TrackContext(context.Background(), &analytics.Track{
			UserId: "user-1", Event: "Order Paid", Properties: properties(number),
		})
	}
	return library{call, client.Close}
}

// What it reports: closing it gives up what would be sent again.
type outcomes struct{ open sync.WaitGroup }

func (o *outcomes) Success(peer.Message) { o.open.Done() }

func (o *outcomes) Failure(peer.Message, error) {
	atomic.AddInt64(&failed, 1)
	o.open.Done()
}

func theirs(url string) library {
	outcomes := &outcomes{}
	client, err := peer.NewWithConfig("bench-write-key", peer.Config{Endpoint: url, Callback: outcomes})
	check(err)
	call := func(number int) error {
		outcomes.open.Add(1)
		return client.Enqueue(peer.Track{UserId: "user-1", Event: "Order Paid", Properties: properties(number)})
	}
	end := func() error {
		outcomes.open.Wait()
		return client.Close()
	}
	return library{call, end}
}

func cpuSeconds() float64 {
	var used syscall.Rusage
	check(syscall.Getrusage(syscall.RUSAGE_SELF, &used))
	seconds := func(time syscall.Timeval) float64 { return float64(time.Sec) + float64(time.Usec)/1e6 }
	return seconds(used.Utime) + seconds(used.Stime)
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
