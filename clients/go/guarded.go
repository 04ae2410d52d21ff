package analytics

import (
	"errors"
	"fmt"
)

// guarded runs what is the caller's own: a callback, a logger, a RoundTripper. It returns what has become of it when it did not
// return: it may panic, or end its goroutine (runtime.Goexit, as the FailNow of a test does), and so has one of its own.
func guarded(run func()) (ended error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		returned := false
		defer func() {
			if p := recover(); p != nil {
				ended = fmt.Errorf("panicked: %v", p)
			} else if !returned {
				ended = errors.New("ended its goroutine")
			}
		}()
		run()
		returned = true
	}()
	<-done
	return ended
}
