package analytics

import (
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"io"
	"time"
)

// ids makes UUIDs of version 7 (RFC 9562, 5.7), which sort by creation time, to a quarter of a microsecond. It reads random bytes for
// many ids at once. Not safe for concurrent use.
type ids struct {
	random [1024]byte
	unused int // bytes at the end of random
}

// append appends the text form of a new id. It fails only if the system has no random bytes.
func (g *ids) append(b []byte, now time.Time) ([]byte, error) {
	if g.unused < 8 {
		if _, err := io.ReadFull(rand.Reader, g.random[:]); err != nil {
			return b, err
		}
		g.unused = len(g.random)
	}
	random := binary.BigEndian.Uint64(g.random[len(g.random)-g.unused:])
	g.unused -= 8
	return appendUUID(b, uuid7(now, random)), nil
}

// uuid7 has 48 bits of milliseconds, 12 bits of the remaining time (RFC 9562, 6.2, method 3) and 62 random bits.
func uuid7(now time.Time, random uint64) (id [16]byte) {
	const version, variant = 7, 0b10
	nanoseconds := uint64(now.Nanosecond() % 1e6)
	binary.BigEndian.PutUint64(id[:8], uint64(now.UnixMilli())<<16|version<<12|nanoseconds<<12/1e6)
	binary.BigEndian.PutUint64(id[8:], variant<<62|random>>2)
	return id
}

func appendUUID(b []byte, id [16]byte) []byte {
	var text [36]byte
	hex.Encode(text[:8], id[:4])
	hex.Encode(text[9:13], id[4:6])
	hex.Encode(text[14:18], id[6:8])
	hex.Encode(text[19:23], id[8:10])
	hex.Encode(text[24:], id[10:])
	text[8], text[13], text[18], text[23] = '-', '-', '-', '-'
	return append(b, text[:]...)
}
