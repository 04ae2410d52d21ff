package analytics

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// outbox is the queue between callers and sender, with their signals.
type outbox struct {
	flushAt    int
	flushAfter time.Duration
	isFull     [3]*Error // indexed by room

	mu        sync.Mutex
	queue     queue
	closed    bool
	failed    int           // calls that could not be sent since the close
	why       *Error        // of the first of them; later ones may not have been attempted
	reporting int           // calls of a batch that was delivered but is not settled
	flushTo   uint64        // flush until this many calls since the start are settled
	lastFlush time.Time     // or of the first call
	progress  chan struct{} // closed when calls are settled, or on Close; nil if nobody waits

	wake chan struct{} // wakes the sender; holds one signal
}

func newOutbox(s *settings) *outbox {
	o := &outbox{
		flushAt:    s.flushAt,
		flushAfter: s.flushAfter,
		queue:      queue{bounds: s.bounds, batchCalls: batchCalls},
		wake:       make(chan struct{}, 1),
	}
	if s.flushAt == 1 {
		o.queue.batchCalls = 1
	}
	o.isFull[fullOfCalls] = ErrQueueFull.because(counted(s.bounds.calls, "call is", "calls are")+" waiting or being sent (MaxQueue)", nil)
	o.isFull[fullOfBytes] = ErrQueueFull.because(
		fmt.Sprintf("calls waiting or being sent would exceed %d bytes (MaxQueueBytes)", s.bounds.bytes), nil)
	return o
}

// put queues a copy of an encoded call. Without room it fails or, with a context, waits until that is done.
func (o *outbox) put(ctx context.Context, e entry, now time.Time) *Error {
	for {
		err, progress := o.tryPut(e, now, ctx != nil)
		if progress == nil {
			return err
		}
		select {
		case <-progress:
		case <-ctx.Done():
			return err.because(err.Message, ctx.Err())
		}
	}
}

// tryPut returns, for a waiting caller without room, a channel that is closed when there may be room.
func (o *outbox) tryPut(e entry, now time.Time, waits bool) (err *Error, progress <-chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return ErrClosed, nil
	}
	if room := o.queue.room(len(e.json)); room != free {
		o.flush()
		if waits && len(e.json) <= o.queue.bounds.bytes {
			progress = o.nextProgress()
		}
		return o.isFull[room], progress
	}
	if o.queue.put == 0 {
		o.lastFlush = now
	}
	o.queue.add(e)
	if o.queue.waiting == 1 || o.queue.waiting >= o.flushAt || o.queue.hasWhole() {
		o.signal()
	}
	return nil, nil
}

// take returns the next batch if it is due, and otherwise how long to wait, unless woken. done: the outbox is closed and empty.
func (o *outbox) take(now time.Time) (b *batch, wait time.Duration, done bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	wait = untilFlush(flushFacts{
		waiting:    o.queue.waiting,
		flushAt:    o.flushAt,
		whole:      o.queue.hasWhole(),
		requested:  o.queue.settled < o.flushTo,
		sinceFlush: now.Sub(o.lastFlush),
		flushAfter: o.flushAfter,
	})
	if wait != 0 {
		return nil, wait, o.closed && o.queue.waiting == 0
	}
	o.lastFlush = now
	return o.queue.take(), 0, false
}

// arrived marks a batch as delivered. It keeps its place until its rejections are reported.
func (o *outbox) arrived(b *batch) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.reporting = b.calls()
}

// settle frees the place of a batch that was delivered, or reported with the reason.
func (o *outbox) settle(b *batch, why *Error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed && why != nil {
		o.failed += b.calls()
		o.why = or(o.why, why)
	}
	o.reporting = 0
	o.queue.settle(b)
	o.announce()
}

// awaitSettled flushes the queue and waits until it is settled, or returns how many calls are not when ctx is done.
func (o *outbox) awaitSettled(ctx context.Context) (left int, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	target := o.queue.put
	o.flush()
	for o.queue.settled < target {
		progress := o.nextProgress()
		o.mu.Unlock()
		select {
		case <-progress:
		case <-ctx.Done():
			err = ctx.Err()
		}
		o.mu.Lock()
		if err != nil && o.queue.settled < target {
			return int(target - o.queue.settled), err
		}
	}
	return 0, nil
}

// close rejects further calls and flushes the others. first: it was not closed before.
func (o *outbox) close() (first bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	first = !o.closed
	o.closed = true
	o.flush()
	o.announce()
	return first
}

// unsent returns how many calls have failed since the close, how many are held but not delivered, and the first failure.
func (o *outbox) unsent() (failed, held int, why *Error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.failed, o.queue.held.calls - o.reporting, o.why
}

func (o *outbox) held() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.queue.held.calls
}

// The methods below need the lock.

func (o *outbox) flush() {
	o.flushTo = o.queue.put
	o.signal()
}

func (o *outbox) signal() {
	select {
	case o.wake <- struct{}{}:
	default: // already signalled
	}
}

func (o *outbox) nextProgress() <-chan struct{} {
	if o.progress == nil {
		o.progress = make(chan struct{})
	}
	return o.progress
}

func (o *outbox) announce() {
	if o.progress != nil {
		close(o.progress)
		o.progress = nil
	}
}

const never time.Duration = -1

type flushFacts struct {
	waiting    int
	flushAt    int
	whole      bool // at least one batch is full
	requested  bool // by Flush or Close, or because the queue is full
	sinceFlush time.Duration
	flushAfter time.Duration
}

// untilFlush returns how long to wait for the next batch: 0 if it is due, never if nothing is waiting.
func untilFlush(f flushFacts) time.Duration {
	switch {
	case f.waiting == 0:
		return never
	case f.requested || f.waiting >= f.flushAt || f.whole || f.sinceFlush >= f.flushAfter:
		return 0
	}
	return f.flushAfter - f.sinceFlush
}
