package analytics

import (
	"context"
	"fmt"
	"sync"
	"time"
)

// outbox is the queue between the callers and the sender, with the signals between them.
type outbox struct {
	flushAt    int
	flushAfter time.Duration
	isFull     [3]*Error // by what is full

	mu        sync.Mutex
	queue     queue
	closed    bool
	failed    int           // calls of batches that could not be sent, since it is closed
	why       *Error        // the first of them could not: those behind it may not have had a try
	reporting int           // calls of a batch that the service took, and that is not settled
	flushTo   uint64        // a flush goes on until so many calls since the beginning are settled
	lastFlush time.Time     // or the first call
	progress  chan struct{} // closed when calls are settled, or on Close; nil while nobody waits for that

	wake chan struct{} // tells the sender to look again; holds one
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
	o.isFull[fullOfCalls] = ErrQueueFull.because(counted(s.bounds.calls, "call waits or is under way", "calls wait or are under way")+" (MaxQueue)", nil)
	o.isFull[fullOfBytes] = ErrQueueFull.because(
		fmt.Sprintf("the calls that wait or are under way have %d bytes (MaxQueueBytes), or would have more", s.bounds.bytes), nil)
	return o
}

// put queues a copy of an encoded call. Without room it fails, or with a context waits until that is done.
func (o *outbox) put(ctx context.Context, call []byte, now time.Time) *Error {
	for {
		err, progress := o.tryPut(call, now, ctx != nil)
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

// tryPut returns a channel that is closed when there may be room, if there is none now and the caller waits for some.
func (o *outbox) tryPut(call []byte, now time.Time, waits bool) (err *Error, progress <-chan struct{}) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return ErrClosed, nil
	}
	if room := o.queue.room(len(call)); room != free {
		o.flush()
		if waits && len(call) <= o.queue.bounds.bytes {
			progress = o.nextProgress()
		}
		return o.isFull[room], progress
	}
	if o.queue.put == 0 {
		o.lastFlush = now
	}
	o.queue.add(call)
	if o.queue.waiting == 1 || o.queue.waiting >= o.flushAt || o.queue.hasWhole() {
		o.signal()
	}
	return nil, nil
}

// take returns the next batch when it is due, else how long to wait for one, until wake at the latest. done says
// that nothing will come any more.
func (o *outbox) take(now time.Time) (b *batch, wait time.Duration, done bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	wait = untilFlush(flushFacts{
		waiting:    o.queue.waiting,
		flushAt:    o.flushAt,
		whole:      o.queue.hasWhole(),
		asked:      o.queue.settled < o.flushTo,
		sinceFlush: now.Sub(o.lastFlush),
		flushAfter: o.flushAfter,
	})
	if wait != 0 {
		return nil, wait, o.closed && o.queue.waiting == 0
	}
	o.lastFlush = now
	return o.queue.take(), 0, false
}

// arrived: the service took a batch. It keeps its place until its rejections are reported, and is not unsent any more.
func (o *outbox) arrived(b *batch) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.reporting = b.calls()
}

// settle frees the place of a batch that was sent or, for that reason, reported.
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

// awaitSettled has all that waits flushed, and returns when it is settled; else how many calls are not, with why it ended.
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

// close refuses further calls and has the others flushed. first: it was not closed yet.
func (o *outbox) close() (first bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	first = !o.closed
	o.closed = true
	o.flush()
	o.announce()
	return first
}

// unsent returns how many calls have failed since it is closed, and why the first did, and how many it still holds that have not arrived.
func (o *outbox) unsent() (failed, held int, why *Error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.failed, o.queue.held.calls - o.reporting, o.why
}

// held returns how many calls wait or are under way.
func (o *outbox) held() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.queue.held.calls
}

// What follows needs the lock.

func (o *outbox) flush() {
	o.flushTo = o.queue.put
	o.signal()
}

func (o *outbox) signal() {
	select {
	case o.wake <- struct{}{}:
	default: // it is told already
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
