package analytics

import "time"

// never is the wait for a flush of nothing.
const never time.Duration = -1

// flushFacts is what decides on when to flush.
type flushFacts struct {
	waiting    int  // calls
	flushAt    int  // so many are flushed at once
	asked      bool // by Flush or Close, or by an earlier flush that is not through
	sinceFlush time.Duration
	flushAfter time.Duration
}

// untilFlush returns how long to wait for the next flush: 0 when it is due, never when there is nothing to flush.
func untilFlush(f flushFacts) time.Duration {
	switch {
	case f.waiting == 0:
		return never
	case f.asked || f.waiting >= f.flushAt || f.sinceFlush >= f.flushAfter:
		return 0
	}
	return f.flushAfter - f.sinceFlush
}
