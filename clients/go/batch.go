package analytics

import "time"

// The service's limits for a batch. Exactly at them is within them.
const (
	batchBytes = 500 * 1024 // of the uninflated body
	batchCalls = 2500
)

// A body is bodyStart, calls with commas between them, and bodyEnd with the time in its middle. The service merges
// the batch's context under that of each call.
const (
	bodyStart   = `{"batch":[`
	bodySentAt  = `],"sentAt":"`
	bodyContext = `","context":{"library":{"name":"` + libraryName + `","version":"` + Version + `"}}}`

	bodyEndBytes = len(bodySentAt) + timeBytes + len(bodyContext)
)

const libraryName = "sluice-go"

// Version of this library; the service sees it in context.library and in User-Agent.
const Version = "0.1.0"

// batch is the body of one request in the making: calls are written into it as they come.
type batch struct {
	body []byte
	ends []int // of each call in body
}

func (b *batch) calls() int { return len(b.ends) }

// bytes counts those of the calls alone.
func (b *batch) bytes() int {
	if len(b.ends) == 0 {
		return 0
	}
	commas := len(b.ends) - 1
	return b.ends[len(b.ends)-1] - len(bodyStart) - commas
}

// takes reports whether one more call fits: most is how many there may be. A first one fits always.
func (b *batch) takes(size, most int) bool {
	return len(b.ends) == 0 || len(b.ends) < most && len(b.body)+len(",")+size+bodyEndBytes <= batchBytes
}

func (b *batch) add(call []byte) {
	if len(b.ends) == 0 {
		b.body = append(b.body[:0], bodyStart...)
	} else {
		b.body = append(b.body, ',')
	}
	b.body = append(b.body, call...)
	b.ends = append(b.ends, len(b.body))
}

// seal completes the body, anew for each try: the service takes the difference between sentAt and its own clock for an error of
// this machine's. Nothing can be added afterwards.
func (b *batch) seal(sentAt time.Time) {
	b.body = append(b.body[:b.ends[len(b.ends)-1]], bodySentAt...)
	b.body = sentAt.UTC().AppendFormat(b.body, timeForm)
	b.body = append(b.body, bodyContext...)
}

// call returns the JSON of one call, as it stands in the body.
func (b *batch) call(index int) []byte {
	start := len(bodyStart)
	if index > 0 {
		start = b.ends[index-1] + len(",")
	}
	return b.body[start:b.ends[index]]
}
