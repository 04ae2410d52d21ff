package analytics

import (
	"context"
	"math/rand"
	"time"
)

// edges are what decisions get from outside, for tests to stand in.
type edges struct {
	now    func() time.Time
	timer  func(time.Duration) (elapsed <-chan time.Time, stop func() bool)
	random func() float64 // in [0, 1)
}

func (e edges) orReal() edges {
	if e.now == nil {
		e.now = time.Now
	}
	if e.timer == nil {
		e.timer = realTimer
	}
	if e.random == nil {
		e.random = rand.Float64
	}
	return e
}

func realTimer(d time.Duration) (<-chan time.Time, func() bool) {
	timer := time.NewTimer(d)
	return timer.C, timer.Stop
}

// pause waits for d, or until ctx is done.
func (e edges) pause(ctx context.Context, d time.Duration) {
	elapsed, stop := e.timer(d)
	defer stop()
	select {
	case <-elapsed:
	case <-ctx.Done():
	}
}
