package analytics

import "time"

// never is the wait for a flush of nothing.
const never time.Duration = -1

// flushFacts is what decides on when to flush.
type flushFacts struct {
	waiting    int  // calls
	flushAt    int  // so many are flushed at once
	whole      bool // so many bytes wait that there is more than one batch
	asked      bool // by Flush or Close, or for want of room
	sinceFlush time.Duration
	flushAfter time.Duration
}

// untilFlush returns how long to wait for the next batch: 0 when it is due, never when nothing waits.
func untilFlush(f flushFacts) time.Duration {
	switch {
	case f.waiting == 0:
		return never
	case f.asked || f.waiting >= f.flushAt || f.whole || f.sinceFlush >= f.flushAfter:
		return 0
	}
	return f.flushAfter - f.sinceFlush
}
