package analytics

import (
	"context"
	"net/http"
	"sync"
	"time"
)

// Client queues calls and sends them in the background. Create one per write key with [New], share it, and call [Client.Close]
// before the process ends. Set its fields before the first call; later changes have no effect. With a negative number, each call
// fails (invalid_option).
type Client struct {
	// Endpoint is the URL for batches, by default [DefaultEndpoint]; without a path, /v1/batch. Routes for one call, such as /v1/track,
	// reject batches.
	Endpoint string

	// FlushAt is the number of waiting calls that triggers a flush, by default 20; 1 turns batching off. A batch may be larger: up to
	// 500 KB and 2,500 calls, which are flushed however high FlushAt is.
	FlushAt int
	// Size is an alias of FlushAt. If they differ, each call fails (invalid_option).
	Size int

	// FlushAfter is the longest time between two flushes while calls wait, by default 5 s. It starts at the last flush or the first
	// call. After a longer pause, a call is sent at once.
	FlushAfter time.Duration
	// Interval is an alias of FlushAfter. If they differ, each call fails (invalid_option).
	Interval time.Duration

	// MaxQueue limits the calls that are waiting or being sent, by default 20,000. Further calls get [ErrQueueFull].
	MaxQueue int
	// MaxQueueBytes limits the same by bytes of JSON, by default 32 MB (33,554,432).
	MaxQueueBytes int

	// MaxRetries is how often a batch is retried after a network error, no response within RequestTimeout, 408, 429, 5xx, or a 200 that
	// is not Sluice's; by default 25. Negative: never. All attempts of a batch end within 45 minutes: the service recognizes
	// duplicates for an hour by default, among the last million calls of a partition. Set a lower value if a partition gets more
	// than a million calls in 45 minutes.
	MaxRetries int
	// RetryBase is the longest wait before the first retry, by default 100 ms; it doubles with each retry up to 10 s. The wait is
	// random below that, but at least what a Retry-After asks for, up to 300 s. By default, waits add up to 96 s on average and
	// 193 s at most.
	RetryBase time.Duration

	// RequestTimeout limits one attempt and its whole response, by default 15 s, whatever HTTPClient does. The service responds
	// within 10 s.
	RequestTimeout time.Duration
	// DisableCompression turns off gzip for bodies above 1 KB.
	DisableCompression bool

	// CloseTimeout is how long Close waits for calls to be sent, by default 30 s, plus up to 1 s for OnFailure to receive the rest.
	CloseTimeout time.Duration

	// RetryAfter, if set, returns the wait before a retry, instead of RetryBase; retries is 0 before the first one. A Retry-After header
	// can lengthen the wait, and the 45 minutes still apply.
	RetryAfter func(retries int) time.Duration

	// DefaultContext is merged into the Context of each call at the first level; the call's keys win. Its bytes count for each call. Do
	// not change its values after the first call.
	DefaultContext map[string]any

	// OnFailure receives queued calls that will not arrive. Its calls do not overlap; the next batch and Close wait for it. It may
	// make calls, but must not call Flush or Close, nor wait for room with the Context methods. If it panics or ends its goroutine,
	// that is logged. Without it, each batch logs one line about the failed calls without a function of EnqueueFunc.
	OnFailure func(Failure)

	// Logger gets a line when deliveries start to fail, one when the service responds again, failures if OnFailure is nil, and the
	// output of DEBUG=analytics. Default: standard error. Sending waits for it. Like OnFailure, it must not call Flush or Close, nor
	// wait for room. If it has a method Errorf like Printf, that gets the failures.
	Logger Logger
	// Verbose logs every step, like DEBUG=analytics.
	Verbose bool

	// HTTPClient makes the requests. Default: a client with keep-alive and the proxy of the environment ([http.ProxyFromEnvironment]).
	// Redirects are never followed. Close does not close its idle connections. A request that does not end with its context is
	// abandoned; with 8 of these, no further request is made until one has ended.
	HTTPClient *http.Client

	writeKey  secret
	debug     bool
	externals externals

	opening sync.Once
	invalid *Error // set if the fields are invalid
	journal journal
	outbox  *outbox
	sender  *sender
	timeout time.Duration // of Close
	context map[string]any
	now     func() time.Time

	closing  chan struct{} // closed when closeErr is known
	closeErr error
}

// New returns a client for the source with this write key. It starts nothing and never fails: with an empty write key, each call
// fails (write_key_required). If the environment variable DEBUG lists "analytics", the client logs every step.
func New(writeKey string) *Client {
	return &Client{writeKey: secretOf(writeKey), debug: isDebug()}
}

// Identify queues an identify call. It never waits.
//
// If a method returns an [Error], the call is not queued. The error says what is wrong with the call ([ErrNoUserOrAnonymousId],
// [ErrCallTooLarge] and so on) or with the client's fields, or is [ErrQueueFull] or [ErrClosed].
func (c *Client) Identify(m *Identify) error { return c.put(callAt(m)) }

// Track queues a track call, like [Client.Identify].
func (c *Client) Track(m *Track) error { return c.put(callAt(m)) }

// Page queues a page call, like [Client.Identify].
func (c *Client) Page(m *Page) error { return c.put(callAt(m)) }

// Screen queues a screen call, like [Client.Identify].
func (c *Client) Screen(m *Screen) error { return c.put(callAt(m)) }

// Group queues a group call, like [Client.Identify].
func (c *Client) Group(m *Group) error { return c.put(callAt(m)) }

// Alias queues an alias call, like [Client.Identify].
func (c *Client) Alias(m *Alias) error { return c.put(callAt(m)) }

// Enqueue queues a message of any type, or a pointer to one, like [Client.Identify].
func (c *Client) Enqueue(m Message) error { return c.put(callOf(m)) }

// EnqueueFunc is like [Client.Enqueue], and calls done once when the call has ended: with nil if the service accepted it, else with
// the [Error] of its [Failure]. It does not call done if it returns an error. The next batch waits for done, which has the same limits
// as OnFailure. A failed call is passed to both.
func (c *Client) EnqueueFunc(m Message, done func(QueuedMessage, error)) error {
	message := callOf(m)
	message.done = done
	return c.put(message)
}

// EnqueueContext is like [Client.Enqueue], but waits for room as [Client.IdentifyContext] does.
func (c *Client) EnqueueContext(ctx context.Context, m Message) error {
	return c.putContext(ctx, callOf(m))
}

// IdentifyContext is like [Client.Identify], but waits for room if the queue is full. If ctx is done first, the error matches both
// [ErrQueueFull] and ctx.Err(). If there is room, it ignores ctx. Waiters get room in no particular order.
func (c *Client) IdentifyContext(ctx context.Context, m *Identify) error {
	return c.putContext(ctx, callAt(m))
}

// TrackContext is like [Client.Track], but waits for room as [Client.IdentifyContext] does.
func (c *Client) TrackContext(ctx context.Context, m *Track) error {
	return c.putContext(ctx, callAt(m))
}

// PageContext is like [Client.Page], but waits for room as [Client.IdentifyContext] does.
func (c *Client) PageContext(ctx context.Context, m *Page) error {
	return c.putContext(ctx, callAt(m))
}

// ScreenContext is like [Client.Screen], but waits for room as [Client.IdentifyContext] does.
func (c *Client) ScreenContext(ctx context.Context, m *Screen) error {
	return c.putContext(ctx, callAt(m))
}

// GroupContext is like [Client.Group], but waits for room as [Client.IdentifyContext] does.
func (c *Client) GroupContext(ctx context.Context, m *Group) error {
	return c.putContext(ctx, callAt(m))
}

// AliasContext is like [Client.Alias], but waits for room as [Client.IdentifyContext] does.
func (c *Client) AliasContext(ctx context.Context, m *Alias) error {
	return c.putContext(ctx, callAt(m))
}

// put never waits: a nil context means that.
func (c *Client) put(message call) error { return c.enqueue(nil, &message) }

func (c *Client) putContext(ctx context.Context, message call) error {
	return c.enqueue(orBackground(ctx), &message)
}

// enqueue checks, encodes and queues a call. Only the last step holds the queue's lock.
func (c *Client) enqueue(ctx context.Context, message *call) error {
	if err := c.open(); err != nil {
		return err
	}
	message.withDefaults(c.context)
	if err := message.check(); err != nil {
		return err
	}
	e := encoders.Get().(*encoder)
	defer e.release()
	now := c.now()
	item, err := e.encode(message, now)
	if err != nil {
		return err
	}
	if err := c.outbox.put(ctx, entry{json: item, done: message.done}, now); err != nil {
		return err
	}
	if c.journal.debug {
		queued := describe(item)
		c.journal.debugf("queue: %s %q, %d bytes, %s held", queued.Type, queued.MessageId, len(item), counted(c.outbox.held(), "call", "calls"))
	}
	return nil
}

// open reads the fields and starts the sender, at the first call.
func (c *Client) open() *Error {
	if c == nil {
		return ErrWriteKeyRequired
	}
	c.opening.Do(func() {
		s, err := c.settings()
		if err != nil {
			c.invalid = err
			return
		}
		c.now, c.timeout, c.context = s.externals.now, s.closeTimeout, s.defaultContext
		c.closing = make(chan struct{})
		c.journal = journal{logger: s.logger, debug: s.debug}
		c.outbox = newOutbox(s)
		c.sender = newSender(s, c.outbox, c.journal)
		c.journal.debugf("start: POST %s with write key %s, flush at %s and after %v",
			s.target.shown, masked(s.writeKey), counted(s.flushAt, "call", "calls"), s.flushAfter)
		go c.sender.run()
	})
	return c.invalid
}

func orBackground(ctx context.Context) context.Context {
	if ctx == nil {
		return context.Background()
	}
	return ctx
}
