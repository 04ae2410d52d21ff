package analytics

import (
	"bytes"
	"compress/gzip"
	"slices"
)

// compressFrom is the size in bytes above which a body is sent in gzip: below it there is nothing to gain.
const compressFrom = 1024

// payload is a body as it goes over the wire, in one try. It is never written to again: a request may be read on although its
// answer is there (net/http, RoundTripper), with HTTP/2 even after its body is closed.
type payload struct {
	bytes    []byte
	encoding string // Content-Encoding; empty for none
}

// compressor makes payloads. Its writer, of about 1 MB, is used again. Not safe for several goroutines.
type compressor struct {
	disabled bool
	writer   *gzip.Writer
}

// pack returns the payload of a body, which may be written to afterwards.
func (c *compressor) pack(body []byte) payload {
	if c.disabled || len(body) <= compressFrom {
		return payload{bytes: slices.Clone(body)}
	}
	if c.writer == nil {
		c.writer, _ = gzip.NewWriterLevel(nil, gzip.BestSpeed) // fails for unknown levels alone
	}
	var packed bytes.Buffer
	packed.Grow(len(body) / 4) // of most calls it takes less
	c.writer.Reset(&packed)
	_, _ = c.writer.Write(body) // a bytes.Buffer takes all
	_ = c.writer.Close()
	return payload{bytes: packed.Bytes(), encoding: "gzip"}
}
