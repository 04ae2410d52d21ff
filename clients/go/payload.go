package analytics

import (
	"bytes"
	"compress/gzip"
	"io"
	"sync/atomic"
)

// compressFrom is the size in bytes above which a body is sent in gzip: below it there is nothing to gain.
const compressFrom = 1024

// payload is a body as it goes over the wire, in one try.
type payload struct {
	bytes    []byte
	encoding string // Content-Encoding; empty for none
	readers  atomic.Int32
}

// reader returns the payload from its beginning, for one request.
func (p *payload) reader() io.ReadCloser {
	p.readers.Add(1)
	return &payloadReader{Reader: bytes.NewReader(p.bytes), payload: p}
}

// isRead reports whether nobody reads it any more. A request may be read on although its answer is there: until its
// body is closed (net/http, RoundTripper), what it reads must not be written to.
func (p *payload) isRead() bool { return p.readers.Load() == 0 }

type payloadReader struct {
	*bytes.Reader
	payload *payload
	closed  atomic.Bool
}

func (r *payloadReader) Close() error {
	if !r.closed.Swap(true) {
		r.payload.readers.Add(-1)
	}
	return nil
}

// compressor makes payloads. Its writer and its buffer are used again, about 1 MB together. Not safe for several goroutines.
type compressor struct {
	writer *gzip.Writer
	buffer *bytes.Buffer
	last   *payload // that has the buffer
}

// pack returns the payload of a body; the one before it is no longer to be sent.
func (c *compressor) pack(body []byte) *payload {
	if len(body) <= compressFrom {
		return &payload{bytes: body}
	}
	if c.writer == nil {
		c.writer, _ = gzip.NewWriterLevel(nil, gzip.BestSpeed) // fails for unknown levels alone
	}
	if c.last == nil || !c.last.isRead() {
		c.buffer = new(bytes.Buffer)
	}
	c.buffer.Reset()
	c.writer.Reset(c.buffer)
	_, _ = c.writer.Write(body) // a bytes.Buffer takes all
	_ = c.writer.Close()
	c.last = &payload{bytes: c.buffer.Bytes(), encoding: "gzip"}
	return c.last
}
