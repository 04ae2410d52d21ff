package analytics

import (
	"fmt"
	"log"
	"net/http"
	"os"
	"strings"
	"time"
	"unicode"
)

// What the fields of [Client] are when they are not set.
const (
	DefaultEndpoint       = "http://localhost:8080/v1/batch"
	DefaultFlushAt        = 20
	DefaultFlushAfter     = 5 * time.Second
	DefaultMaxQueue       = 20_000
	DefaultMaxQueueBytes  = 32 << 20
	DefaultMaxRetries     = 25
	DefaultRetryBase      = 100 * time.Millisecond
	DefaultRequestTimeout = 15 * time.Second // the service answers within 10 s
	DefaultCloseTimeout   = 30 * time.Second
)

// settings are the fields of a client as they are at its first call, checked, with the defaults in their places.
type settings struct {
	writeKey           string
	target             target
	flushAt            int
	flushAfter         time.Duration
	bounds             bounds
	maxRetries         int // negative: none
	retryBase          time.Duration
	requestTimeout     time.Duration
	closeTimeout       time.Duration
	disableCompression bool
	onFailure          func(Failure)
	logger             Logger
	debug              bool
	http               *http.Client // nil: one of our own
	edges              edges
}

func (c *Client) settings() (*settings, *Error) {
	writeKey := c.writeKey.reveal()
	if writeKey == "" {
		return nil, ErrWriteKeyRequired
	}
	if strings.ContainsFunc(writeKey, func(r rune) bool { return r == ':' || unicode.IsControl(r) }) {
		// it is the user name of basic auth (RFC 7617, 2): what stands behind a colon would be cut off
		return nil, ErrInvalidOption.because("the write key must be without colons and control characters", nil)
	}
	target, err := parseEndpoint(or(c.Endpoint, DefaultEndpoint))
	if err != nil {
		return nil, err
	}
	if err := c.checkOptions(); err != nil {
		return nil, err
	}
	s := &settings{
		writeKey:           writeKey,
		target:             target,
		flushAt:            or(c.FlushAt, c.Size, DefaultFlushAt),
		flushAfter:         or(c.FlushAfter, c.Interval, DefaultFlushAfter),
		bounds:             bounds{calls: or(c.MaxQueue, DefaultMaxQueue), bytes: or(c.MaxQueueBytes, DefaultMaxQueueBytes)},
		maxRetries:         or(c.MaxRetries, DefaultMaxRetries),
		retryBase:          or(c.RetryBase, DefaultRetryBase),
		requestTimeout:     or(c.RequestTimeout, DefaultRequestTimeout),
		closeTimeout:       or(c.CloseTimeout, DefaultCloseTimeout),
		disableCompression: c.DisableCompression,
		onFailure:          c.OnFailure,
		logger:             c.Logger,
		debug:              c.debug,
		http:               c.HTTPClient,
		edges:              c.edges.orReal(),
	}
	s.flushAt = min(s.flushAt, s.bounds.calls, batchCalls) // or a full queue, or a whole batch, would wait for more
	if s.logger == nil {
		s.logger = log.New(os.Stderr, "", log.LstdFlags)
	}
	return s, nil
}

func (c *Client) checkOptions() *Error {
	for _, option := range [...]struct {
		name  string
		value int64
	}{
		{"Size", int64(c.Size)},
		{"FlushAt", int64(c.FlushAt)},
		{"FlushAfter", int64(c.FlushAfter)},
		{"Interval", int64(c.Interval)},
		{"MaxQueue", int64(c.MaxQueue)},
		{"MaxQueueBytes", int64(c.MaxQueueBytes)},
		{"RetryBase", int64(c.RetryBase)},
		{"RequestTimeout", int64(c.RequestTimeout)},
		{"CloseTimeout", int64(c.CloseTimeout)},
	} {
		if option.value < 0 {
			return ErrInvalidOption.because(fmt.Sprintf("%s is %d and must not be negative", option.name, option.value), nil)
		}
	}
	if differ(c.Size, c.FlushAt) {
		return ErrInvalidOption.because("Size is another name of FlushAt: set one of them", nil)
	}
	if differ(c.Interval, c.FlushAfter) {
		return ErrInvalidOption.because("Interval is another name of FlushAfter: set one of them", nil)
	}
	return nil
}

// differ reports whether both values are set, and not the same.
func differ[T comparable](alias, value T) bool {
	var unset T
	return alias != unset && value != unset && alias != value
}

// or returns the first value that is set.
func or[T comparable](values ...T) T {
	var unset T
	for _, value := range values {
		if value != unset {
			return value
		}
	}
	return unset
}
