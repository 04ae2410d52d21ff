package analytics

import (
	"bytes"
	"compress/gzip"
	"slices"
)

// compressFrom is the size in bytes above which a body is compressed.
const compressFrom = 1024

// The service refuses gzip that inflates to more than inflatedTimes its size, and with it the whole batch.
const inflatedTimes = 100

// payload is the body of one attempt. It is never written to again: net/http may still read it after the response (see RoundTripper),
// with HTTP/2 even after it is closed.
type payload struct {
	bytes    []byte
	encoding string // Content-Encoding; empty for none
}

// compressor makes payloads. It reuses its writer of about 1 MB. Not safe for concurrent use.
type compressor struct {
	disabled bool
	writer   *gzip.Writer
}

// pack returns a payload; body may be changed afterwards.
func (c *compressor) pack(body []byte) payload {
	if c.disabled || len(body) <= compressFrom {
		return payload{bytes: slices.Clone(body)}
	}
	if c.writer == nil {
		c.writer, _ = gzip.NewWriterLevel(nil, gzip.BestSpeed) // fails only for unknown levels
	}
	var packed bytes.Buffer
	packed.Grow(len(body) / 4) // most bodies compress better
	c.writer.Reset(&packed)
	_, _ = c.writer.Write(body) // a bytes.Buffer never fails
	_ = c.writer.Close()
	if packed.Len()*inflatedTimes < len(body) {
		return uncompressed(body)
	}
	return payload{bytes: packed.Bytes(), encoding: "gzip"}
}

// uncompressed copies a body, because a batch reuses its memory.
func uncompressed(body []byte) payload {
	return payload{bytes: slices.Clone(body)}
}
