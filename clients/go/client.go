package analytics

import (
	"context"
	"net/http"
	"sync"
	"time"
)

// Client queues calls and sends them in the background. Make one per write key with [New], use it from everywhere, and
// [Client.Close] it before the process ends. Set its fields before the first call; later changes do nothing. A field that is
// not set has its default. A negative number is an error of each call (invalid_option).
type Client struct {
	// Endpoint is the URL that all calls are posted to, by default [DefaultEndpoint]. One without a path
	// (http://sluice.internal:8080) means /v1/batch there. One with a path is taken as it is, and must be of a route for batches: also a
	// single call goes as a batch, which /v1/track and the other routes for one call refuse.
	Endpoint string

	// FlushAt is how many calls may wait before they are flushed, by default 20. 1 turns batching off: each call is a request of its own.
	// It is no bound for a batch: what comes while one is under way goes in the next, up to 500 KB and 2,500 calls. So much is flushed
	// at once, however high FlushAt is.
	FlushAt int
	// Size is another name of FlushAt. To set both to different values is an error of each call (invalid_option).
	Size int

	// FlushAfter is how long after the last flush what waits is flushed in any case, by default 5 s. Before there was a flush it counts
	// from the first call. So a call that comes when more than that has passed since the last flush goes at once.
	FlushAfter time.Duration
	// Interval is another name of FlushAfter. To set both to different values is an error of each call (invalid_option).
	Interval time.Duration

	// MaxQueue is how many calls may wait or be under way, by default 20,000. Further ones get [ErrQueueFull].
	MaxQueue int
	// MaxQueueBytes bounds the same by the bytes of their JSON, by default 32 MB (33,554,432).
	MaxQueueBytes int

	// MaxRetries is how often a batch is sent again after a network error, no answer within RequestTimeout, 429 or 5xx, or a 200 that is
	// not Sluice's; by default 25. Negative: never. Whatever it is, the tries of a batch end 45 minutes after the first began: the
	// service knows for an hour by default, or for the last million calls of a partition if that is shorter, what it has already, and later
	// could not tell that a call comes twice. Where a partition gets a million calls in less than 45 minutes, set it lower.
	MaxRetries int
	// RetryBase is the cap of the wait before the first retry, by default 100 ms. It doubles with each retry up to 10 s; the wait is random
	// below it, but at least what a Retry-After asks for, up to 300 s. By default all waits together take 96 s on average,
	// 193 s at most.
	RetryBase time.Duration

	// RequestTimeout is the limit for one try, from the connection to the end of the answer, by default 15 s. The service answers
	// within 10 s. It holds whatever HTTPClient does.
	RequestTimeout time.Duration
	// DisableCompression has all bodies sent as they are, and not those above 1 KB in gzip.
	DisableCompression bool

	// CloseTimeout is how long Close waits for calls to be sent, by default 30 s. It may take 1 s more, for OnFailure to be told of the rest.
	CloseTimeout time.Duration

	// OnFailure is told of calls that were queued and will not arrive. It is never called twice at a time, and the next batch waits
	// for it, as does Close. It may make calls, but must not call Flush or Close, nor wait for room with the Context methods.
	// Its panic, or the end of its goroutine, is logged. Without it one line per batch is logged.
	OnFailure func(Failure)

	// Logger gets a line when a batch fails and is tried again, the first since the service answered last, and one when it answers again;
	// failures without OnFailure; and all that DEBUG=analytics shows. By default it is standard error. Sending waits for it: it must return,
	// and must not call Flush or Close, nor wait for room with the Context methods.
	Logger Logger

	// HTTPClient makes the requests, by default one of the client's own with keep-alive and the proxy of the environment
	// ([http.ProxyFromEnvironment]). Redirects are never followed. Its idle connections are not closed by Close. A request that does
	// not end with its context is left behind; with 8 of these there is no further one until one has ended.
	HTTPClient *http.Client

	writeKey secret
	debug    bool
	edges    edges

	opening sync.Once
	invalid *Error // what is wrong with the fields
	journal journal
	outbox  *outbox
	sender  *sender
	timeout time.Duration // of Close
	now     func() time.Time

	closing  chan struct{} // closed when closeErr is known
	closeErr error
}

// New returns a client for the source that has this write key. It starts nothing yet, and fails never: an empty write key is an error of
// each call (write_key_required). With the environment variable DEBUG set to "analytics", alone or in a list, the
// client logs what it does.
func New(writeKey string) *Client {
	return &Client{writeKey: secretOf(writeKey), debug: isDebug()}
}

// Identify queues an identify call. It never waits; what the sender has not got room for is refused.
//
// This and the other four fail with an [Error] of one of these codes, and the call is then not queued: what is wrong with the
// call ([ErrNoUserOrAnonymousId], [ErrCallTooLarge] and the like), [ErrQueueFull], [ErrClosed], or what is wrong with
// the client's fields.
func (c *Client) Identify(m *Identify) error { return c.put(m.call()) }

// Track queues a track call, as [Client.Identify] does.
func (c *Client) Track(m *Track) error { return c.put(m.call()) }

// Page queues a page call, as [Client.Identify] does.
func (c *Client) Page(m *Page) error { return c.put(m.call()) }

// Group queues a group call, as [Client.Identify] does.
func (c *Client) Group(m *Group) error { return c.put(m.call()) }

// Alias queues an alias call, as [Client.Identify] does.
func (c *Client) Alias(m *Alias) error { return c.put(m.call()) }

// IdentifyContext is Identify for those who rather wait than be refused: when the queue is full it waits for room until
// ctx is done, and then fails with an error that matches both [ErrQueueFull] and ctx.Err(). With room it never looks at ctx.
// Those who wait get room in no certain order.
func (c *Client) IdentifyContext(ctx context.Context, m *Identify) error {
	return c.putContext(ctx, m.call())
}

// TrackContext is Track that waits for room, as [Client.IdentifyContext] does.
func (c *Client) TrackContext(ctx context.Context, m *Track) error {
	return c.putContext(ctx, m.call())
}

// PageContext is Page that waits for room, as [Client.IdentifyContext] does.
func (c *Client) PageContext(ctx context.Context, m *Page) error {
	return c.putContext(ctx, m.call())
}

// GroupContext is Group that waits for room, as [Client.IdentifyContext] does.
func (c *Client) GroupContext(ctx context.Context, m *Group) error {
	return c.putContext(ctx, m.call())
}

// AliasContext is Alias that waits for room, as [Client.IdentifyContext] does.
func (c *Client) AliasContext(ctx context.Context, m *Alias) error {
	return c.putContext(ctx, m.call())
}

// put never waits: nil stands for no context.
func (c *Client) put(message call) error { return c.enqueue(nil, &message) }

func (c *Client) putContext(ctx context.Context, message call) error {
	return c.enqueue(orBackground(ctx), &message)
}

// enqueue checks and encodes a call, without the queue's lock, and queues it.
func (c *Client) enqueue(ctx context.Context, message *call) error {
	if err := c.open(); err != nil {
		return err
	}
	if err := message.check(); err != nil {
		return err
	}
	e := encoders.Get().(*encoder) // of New of the pool
	defer e.release()
	now := c.now()
	item, err := e.encode(message, now)
	if err != nil {
		return err
	}
	if err := c.outbox.put(ctx, item, now); err != nil {
		return err
	}
	if c.journal.debug {
		queued := describe(item)
		c.journal.debugf("queue: %s %q, %d bytes, %s held", queued.Type, queued.MessageId, len(item), counted(c.outbox.held(), "call", "calls"))
	}
	return nil
}

// open reads the fields and starts the sender, once.
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
		c.now, c.timeout = s.edges.now, s.closeTimeout
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
