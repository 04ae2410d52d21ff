package analytics

import (
	"context"
	"fmt"
	"log"
	"maps"
	"math/rand"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// Defaults of the fields of [Client].
const (
	DefaultEndpoint       = "http://localhost:8080/v1/batch"
	DefaultFlushAt        = 20
	DefaultFlushAfter     = 5 * time.Second
	DefaultMaxQueue       = 20_000
	DefaultMaxQueueBytes  = 32 << 20
	DefaultMaxRetries     = 25
	DefaultRetryBase      = 100 * time.Millisecond
	DefaultRequestTimeout = 15 * time.Second // the service responds within 10 s
	DefaultCloseTimeout   = 30 * time.Second
)

// settings are the fields of a client at its first call, checked and with defaults filled in.
type settings struct {
	writeKey           string
	target             target
	flushAt            int
	flushAfter         time.Duration
	bounds             bounds
	maxRetries         int // negative: none
	retryBase          time.Duration
	retryAfter         func(retries int) time.Duration // nil: by retryBase
	requestTimeout     time.Duration
	closeTimeout       time.Duration
	disableCompression bool
	defaultContext     map[string]any
	onFailure          func(Failure)
	logger             Logger
	debug              bool
	http               *http.Client // nil: a client of our own
	externals          externals
}

func (c *Client) settings() (*settings, *Error) {
	writeKey := c.writeKey.reveal()
	if writeKey == "" {
		return nil, ErrWriteKeyRequired
	}
	if strings.ContainsFunc(writeKey, func(r rune) bool { return r == ':' || unicode.IsControl(r) }) {
		// it becomes the user name of basic auth (RFC 7617, 2), which ends at a colon
		return nil, ErrInvalidOption.because("the write key must not contain colons or control characters", nil)
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
		retryAfter:         c.RetryAfter,
		defaultContext:     maps.Clone(c.DefaultContext),
		onFailure:          c.OnFailure,
		logger:             c.Logger,
		debug:              c.debug || c.Verbose,
		http:               c.HTTPClient,
		externals:          c.externals.orDefaults(),
	}
	s.flushAt = min(s.flushAt, s.bounds.calls, batchCalls) // otherwise a full queue or a full batch would wait for more calls
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
			return ErrInvalidOption.because(fmt.Sprintf("%s is %d but must not be negative", option.name, option.value), nil)
		}
	}
	if differ(c.Size, c.FlushAt) {
		return ErrInvalidOption.because("Size and FlushAt are the same option: set only one of them", nil)
	}
	if differ(c.Interval, c.FlushAfter) {
		return ErrInvalidOption.because("Interval and FlushAfter are the same option: set only one of them", nil)
	}
	return nil
}

func differ[T comparable](alias, value T) bool {
	var unset T
	return alias != unset && value != unset && alias != value
}

func or[T comparable](values ...T) T {
	var unset T
	for _, value := range values {
		if value != unset {
			return value
		}
	}
	return unset
}

const batchPath = "/v1/batch"

type target struct {
	url   string
	shown string // without the query, which may be secret
}

// parseEndpoint parses a request URL; one without a path means the batch route.
func parseEndpoint(endpoint string) (target, *Error) {
	u, err := url.Parse(endpoint)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.Opaque != "" || u.User != nil {
		return target{}, ErrInvalidEndpoint // does not show the URL, which may contain a password
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return target{}, ErrInvalidEndpoint
		}
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = batchPath
	}
	u.Fragment = ""
	return target{url: u.String(), shown: u.Scheme + "://" + u.Host + u.EscapedPath()}, nil
}

// externals are the time and randomness that decisions depend on; tests replace them.
type externals struct {
	now    func() time.Time
	timer  func(time.Duration) (elapsed <-chan time.Time, stop func() bool)
	random func() float64 // in [0, 1)
}

func (e externals) orDefaults() externals {
	if e.now == nil {
		e.now = time.Now
	}
	if e.timer == nil {
		e.timer = realTimer
	}
	if e.random == nil {
		e.random = rand.Float64
	}
	return e
}

func realTimer(d time.Duration) (<-chan time.Time, func() bool) {
	timer := time.NewTimer(d)
	return timer.C, timer.Stop
}

func (e externals) pause(ctx context.Context, d time.Duration) {
	elapsed, stop := e.timer(d)
	defer stop()
	select {
	case <-elapsed:
	case <-ctx.Done():
	}
}
