// Sends many calls with the Go client library, like an application with several goroutines.
//
// Usage: produce ENDPOINT WRITE_KEY COUNT MAX_QUEUE [GATED]; the message ids are go-0, go-1 and so on. With GATED, the second half waits
// for a line on standard input. Prints as JSON how many calls returned an error, how many the library reported as lost, and the
// peak memory of the process in bytes.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	analytics "github.com/sluice-dev/sluice/clients/go"
)

const goroutines = 8

type report struct {
	Refused int64 `json:"refused"`
	Lost    int64 `json:"lost"`
	MaxRss  int64 `json:"maxRss"`
}

func main() {
	count := number(os.Args[3])
	var done report
	client := analytics.New(os.Args[2])
	client.Endpoint = os.Args[1]
	client.MaxQueue = number(os.Args[4])
	client.CloseTimeout = 2 * time.Minute
	client.OnFailure = func(failure analytics.Failure) {
		atomic.AddInt64(&done.Lost, int64(len(failure.Messages)))
	}
	opened := gate(len(os.Args) > 5)
	var all sync.WaitGroup
	for goroutine := 0; goroutine < goroutines; goroutine++ {
		all.Add(1)
		go func(first int) {
			defer all.Done()
			for each := first; each < count; each += goroutines {
				if each >= count/2 {
					<-opened
				}
				if err := client.TrackContext(context.Background(), call(each)); err != nil {
					atomic.AddInt64(&done.Refused, 1)
				}
			}
		}(goroutine)
	}
	all.Wait()
	check(client.Close())
	done.MaxRss = maxRss()
	check(json.NewEncoder(os.Stdout).Encode(done))
}

// gate opens at once or, if shut, with the first line of standard input.
func gate(isShut bool) <-chan struct{} {
	opened := make(chan struct{})
	go func() {
		defer close(opened)
		if isShut {
			_, err := bufio.NewReader(os.Stdin).ReadString('\n')
			check(err)
		}
	}()
	return opened
}

func call(number int) *analytics.Track {
	return &analytics.Track{
		MessageId:  "go-" + strconv.Itoa(number),
		UserId:     "user-" + strconv.Itoa(number%1000),
		Event:      "Order Paid",
		Properties: map[string]any{"total": "12.50", "currency": "EUR", "number": number},
	}
}

// maxRss reads /proc, which only Linux has; elsewhere it is -1.
func maxRss() int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return -1
	}
	_, after, _ := strings.Cut(string(status), "VmHWM:")
	line, _, _ := strings.Cut(after, " kB")
	return int64(number(strings.TrimSpace(line))) * 1024
}

func number(text string) int {
	value, err := strconv.Atoi(text)
	check(err)
	return value
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
