package analytics

import "time"

// The service's limits for a batch, inclusive.
const (
	batchBytes = 500 * 1024 // of the uncompressed body
	batchCalls = 2500
)

// A body is bodyStart, the calls separated by commas, bodySentAt, the time and bodyContext. The service merges the batch's context
// under that of each call.
const (
	bodyStart   = `{"batch":[`
	bodySentAt  = `],"sentAt":"`
	bodyContext = `","context":{"library":{"name":"` + libraryName + `","version":"` + Version + `"}}}`

	bodyEndBytes = len(bodySentAt) + timeBytes + len(bodyContext)
)

const libraryName = "sluice-go"

// Version of this library, sent to the service in context.library and in User-Agent.
const Version = "0.1.0"

// batch is the body of a future request; calls are written into it as they come.
type batch struct {
	body []byte
	ends []int                        // of each call in body
	done []func(QueuedMessage, error) // of each call, up to the last one that has a function
}

func (b *batch) calls() int { return len(b.ends) }

func (b *batch) bytes() int {
	if len(b.ends) == 0 {
		return 0
	}
	commas := len(b.ends) - 1
	return b.ends[len(b.ends)-1] - len(bodyStart) - commas
}

// takes reports whether one more call fits; most limits their number. A first call always fits.
func (b *batch) takes(size, most int) bool {
	return len(b.ends) == 0 || len(b.ends) < most && len(b.body)+len(",")+size+bodyEndBytes <= batchBytes
}

func (b *batch) add(e entry) {
	if len(b.ends) == 0 {
		b.body = append(b.body[:0], bodyStart...)
	} else {
		b.body = append(b.body, ',')
	}
	b.body = append(b.body, e.json...)
	b.ends = append(b.ends, len(b.body))
	if e.done != nil {
		b.done = append(b.done, make([]func(QueuedMessage, error), len(b.ends)-len(b.done))...)
		b.done[len(b.done)-1] = e.done
	}
}

func (b *batch) hasDone(place int) bool { return place < len(b.done) && b.done[place] != nil }

// seal completes the body for one attempt: from sentAt, the service computes this machine's clock error. Nothing can be added
// afterwards.
func (b *batch) seal(sentAt time.Time) {
	b.body = append(b.body[:b.ends[len(b.ends)-1]], bodySentAt...)
	b.body = sentAt.UTC().AppendFormat(b.body, timeForm)
	b.body = append(b.body, bodyContext...)
}

func (b *batch) call(index int) []byte {
	start := len(bodyStart)
	if index > 0 {
		start = b.ends[index-1] + len(",")
	}
	return b.body[start:b.ends[index]]
}
