package analytics

import (
	"errors"
	"fmt"
)

// guarded runs what is the caller's own: a callback, a logger. It returns what has become of it when it did not return: it may
// panic, or end its goroutine (runtime.Goexit, as the FailNow of a test does), and so has one of its own.
func guarded(run func()) error { return <-started(run) }

// started does not wait for that: the channel gets nil, or what has become of it.
func started(run func()) <-chan error {
	ended := make(chan error, 1)
	go func() {
		returned := false
		defer func() {
			if p := recover(); p != nil {
				ended <- fmt.Errorf("panicked: %v", p)
			} else if !returned {
				ended <- errors.New("ended its goroutine")
			} else {
				ended <- nil
			}
		}()
		run()
		returned = true
	}()
	return ended
}
