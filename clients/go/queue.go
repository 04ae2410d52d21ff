package analytics

// bounds of what a queue may hold. What is under way counts as well as what waits.
type bounds struct {
	calls int
	bytes int // of the calls' JSON
}

// queue holds calls in their order, as bodies in the making: what waits is in batches, of which only the last still takes
// calls. As each begins where the one before it was full, they are those that one would make of the whole queue at once.
// Not safe for several goroutines.
type queue struct {
	bounds     bounds
	batchCalls int // how many a batch may have: 1 turns batching off

	batches []*batch // that wait
	spare   *batch   // that is settled: to be written into next
	waiting int      // calls in batches
	held    bounds   // waiting and under way

	put, settled uint64 // calls since the beginning
}

// room says whether a call fits, and else what is full.
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

// hasWhole reports whether a batch waits that takes no more calls. For all that is known the last may be one too.
func (q *queue) hasWhole() bool { return len(q.batches) > 1 }

// add copies a call behind the others. There must be room for it.
func (q *queue) add(call []byte) {
	if n := len(q.batches); n == 0 || !q.batches[n-1].takes(len(call), q.batchCalls) {
		q.batches = append(q.batches, q.empty())
	}
	q.batches[len(q.batches)-1].add(call)
	q.waiting++
	q.held.calls++
	q.held.bytes += len(call)
	q.put++
}

func (q *queue) empty() *batch {
	b := q.spare
	q.spare = nil
	if b == nil {
		return &batch{}
	}
	b.ends = b.ends[:0]
	return b
}

// take removes the first batch: as many of the calls that wait as fit. It counts as held until it is settled. nil when nothing waits.
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

// settle frees the place of a batch that was taken. Nobody may read it any more.
func (q *queue) settle(b *batch) {
	q.held.calls -= b.calls()
	q.held.bytes -= b.bytes()
	q.settled += uint64(b.calls())
	q.spare = b
}
