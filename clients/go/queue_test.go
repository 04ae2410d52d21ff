package analytics

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"math"
	"testing"
	"time"
)

func unbounded(most int) *queue {
	return &queue{bounds: bounds{calls: math.MaxInt, bytes: math.MaxInt}, batchCalls: most}
}

// split queues calls of these sizes, checks each body, and returns the batches.
func split(t testing.TB, sizes []int, most int) (batches [][]int) {
	q := unbounded(most)
	for _, size := range sizes {
		q.add(entry{json: bytes.Repeat([]byte("7"), size)}) // a number, so that bodies are JSON
	}
	index := 0
	for b := q.take(); b != nil; b = q.take() {
		b.seal(time.Now())
		if b.calls() > 1 && len(b.body) > batchBytes {
			t.Fatalf("a body has %d bytes", len(b.body))
		}
		var places []int
		for i := 0; i < b.calls(); i++ {
			if len(b.call(i)) != sizes[index] {
				t.Fatalf("call %d has %d bytes instead of %d", index, len(b.call(i)), sizes[index])
			}
			places = append(places, index)
			index++
		}
		batches = append(batches, places)
		q.settle(b)
	}
	if index != len(sizes) || q.held != (bounds{}) || q.waiting != 0 || q.settled != uint64(len(sizes)) {
		t.Fatalf("%d of %d calls came out, and %v is held", index, len(sizes), q.held)
	}
	return batches
}

func TestABodyIsJSONWithTheLibraryInItsContext(t *testing.T) {
	q := unbounded(batchCalls)
	q.add(entry{json: []byte(`{"a":1}`)})
	q.add(entry{json: []byte(`{"b":2}`)})
	b := q.take()
	size := b.bytes()
	b.seal(time.Date(2026, 1, 2, 4, 4, 5, 678e6, time.FixedZone("", 3600)))
	want := `{"batch":[{"a":1},{"b":2}],"sentAt":"2026-01-02T03:04:05.678Z","context":{"library":{"name":"sluice-go","version":"` + Version + `"}}}`
	if string(b.body) != want {
		t.Fatalf("got  %s\nwant %s", b.body, want)
	}
	if size != 14 {
		t.Fatalf("the calls have 14 bytes, not %d", size)
	}
	if string(b.call(0)) != `{"a":1}` || string(b.call(1)) != `{"b":2}` {
		t.Fatalf("the calls are %s and %s", b.call(0), b.call(1))
	}
}

func TestWhatIsUnderWayCountsAsHeld(t *testing.T) {
	q := &queue{bounds: bounds{calls: 2, bytes: 10}, batchCalls: batchCalls}
	q.add(entry{json: []byte("12345")})
	b := q.take()
	if got := q.room(6); got != fullOfBytes {
		t.Fatalf("there is room for 11 of 10 bytes: %v", got)
	}
	if got := q.room(5); got != free {
		t.Fatalf("there is no room for 10 of 10 bytes: %v", got)
	}
	q.add(entry{json: []byte("1")})
	if got := q.room(1); got != fullOfCalls {
		t.Fatalf("there is room for 3 of 2 calls: %v", got)
	}
	q.settle(b)
	if got := q.room(9); got != free {
		t.Fatalf("what is settled is held: %v", got)
	}
}

func TestABatchIsWrittenIntoAgainWhenItIsSettled(t *testing.T) {
	q := unbounded(batchCalls)
	q.add(entry{json: []byte("1")})
	first := q.take()
	q.add(entry{json: []byte("2")})
	if second := q.take(); second == first {
		t.Fatal("it was before")
	}
	q.settle(first)
	q.add(entry{json: []byte("3")})
	if third := q.take(); third != first || string(third.call(0)) != "3" || third.calls() != 1 {
		t.Fatal("it was not")
	}
}

func FuzzSplit(f *testing.F) {
	f.Add([]byte{1, 2, 3}, 2500)
	f.Add(bytes.Repeat([]byte{0x80, 0}, 100), 2500)
	f.Add(bytes.Repeat([]byte{0, 1}, 3000), 1)
	f.Fuzz(func(t *testing.T, seed []byte, most int) {
		if most < 1 || most > batchCalls {
			most = batchCalls
		}
		var sizes []int
		for total := 0; len(seed) > 1 && total < 4*batchBytes; seed = seed[2:] {
			sizes = append(sizes, 1+int(binary.BigEndian.Uint16(seed))%callBytes)
			total += sizes[len(sizes)-1]
		}
		batches := split(t, sizes, most)
		for i, batch := range batches {
			size := len(bodyStart) + bodyEndBytes + len(batch) - 1
			for _, index := range batch {
				size += sizes[index]
			}
			if len(batch) > most || size > batchBytes {
				t.Fatalf("batch %d has %d calls and %d bytes", i, len(batch), size)
			}
			if i+1 < len(batches) && len(batch) < most && size+1+sizes[batches[i+1][0]] <= batchBytes {
				t.Fatalf("batch %d has room for the next call", i)
			}
		}
	})
}

func TestABodyOfManyCallsIsValid(t *testing.T) {
	q := unbounded(batchCalls)
	for i := 0; i < 3000; i++ {
		q.add(entry{json: []byte(`{"type":"track"}`)})
	}
	for b := q.take(); b != nil; b = q.take() {
		b.seal(time.Now())
		if !json.Valid(b.body) {
			t.Fatalf("this is no JSON: %s", b.body)
		}
	}
}
