package analytics

type bounds struct {
	calls int
	bytes int // of the calls' JSON
}

// entry is an encoded call. done is called when it is delivered or has failed; it may be nil.
type entry struct {
	json []byte
	done func(QueuedMessage, error)
}

// queue holds calls in order, already written into batches; only the last batch still takes calls. The batches are the same as if
// the whole queue were split at once. Not safe for concurrent use.
type queue struct {
	bounds     bounds
	batchCalls int // limit per batch; 1 turns batching off

	batches []*batch // waiting
	spare   *batch   // a settled batch, for reuse
	waiting int      // calls in batches
	held    bounds   // waiting and being sent

	put, settled uint64 // calls since the start
}

type room int

const (
	free room = iota
	fullOfCalls
	fullOfBytes
)

func (q *queue) room(size int) room {
	switch {
	case q.held.calls >= q.bounds.calls:
		return fullOfCalls
	case q.held.bytes+size > q.bounds.bytes:
		return fullOfBytes
	}
	return free
}

// hasWhole reports whether a full batch is waiting. The last batch never counts: a small call may still fit.
func (q *queue) hasWhole() bool { return len(q.batches) > 1 }

func (q *queue) add(e entry) {
	if n := len(q.batches); n == 0 || !q.batches[n-1].takes(len(e.json), q.batchCalls) {
		q.batches = append(q.batches, q.empty())
	}
	q.batches[len(q.batches)-1].add(e)
	q.waiting++
	q.held.calls++
	q.held.bytes += len(e.json)
	q.put++
}

func (q *queue) empty() *batch {
	b := q.spare
	q.spare = nil
	if b == nil {
		return &batch{}
	}
	b.ends = b.ends[:0]
	clear(b.done) // do not retain the caller's functions
	b.done = b.done[:0]
	return b
}

// take removes the first batch, or returns nil. It counts as held until it is settled.
func (q *queue) take() *batch {
	if len(q.batches) == 0 {
		return nil
	}
	b := q.batches[0]
	q.batches[0] = nil
	q.batches = q.batches[1:]
	q.waiting -= b.calls()
	return b
}

// settle frees the place of a batch that was taken. The batch must not be used afterwards.
func (q *queue) settle(b *batch) {
	q.held.calls -= b.calls()
	q.held.bytes -= b.bytes()
	q.settled += uint64(b.calls())
	q.spare = b
}
