package analytics

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	root "github.com/sluice-dev/sluice/clients/go"
)

// Version of the library that sends the messages.
const Version = root.Version

// Defaults of a [Config].
const (
	DefaultEndpoint  = "http://localhost:8080"
	DefaultInterval  = 5 * time.Second
	DefaultBatchSize = 250
)

// Errors of [Client.Enqueue] and [Client.Close]; compare with errors.Is.
var (
	// ErrClosed: the client was closed before.
	ErrClosed error = root.ErrClosed
	// ErrTooManyRequests: the queue is full, because the service is away or slower than the program.
	ErrTooManyRequests error = root.ErrQueueFull
	// ErrMessageTooBig: the message has more than 32,768 bytes of JSON.
	ErrMessageTooBig error = root.ErrCallTooLarge
)

// Client queues messages and sends them in the background. It is safe for concurrent use.
type Client interface {
	// Close sends all queued messages and ends the client. A second Close returns [ErrClosed].
	io.Closer

	// Enqueue queues a message, or a pointer to one. It returns an error if the message is invalid or too large, the queue is full, or
	// the client is closed.
	Enqueue(Message) error
}

// Callback learns how each queued message ended. The messages have their Type, MessageId and Timestamp. The client's next batch waits for
// the callback: it may enqueue messages, but must not call Close.
type Callback interface {
	// Success: the service has accepted the message.
	Success(Message)

	// Failure: the message will not arrive. It is not sent again.
	Failure(Message, error)
}

// Logger receives a client's log lines. It must be safe for concurrent use.
type Logger interface {
	// Logf logs what the client does.
	Logf(format string, args ...interface{})

	// Errorf logs failures.
	Errorf(format string, args ...interface{})
}

// StdLogger returns a Logger that writes to a standard logger, with the level before each line.
func StdLogger(logger *log.Logger) Logger { return stdLogger{logger} }

type stdLogger struct{ logger *log.Logger }

func (l stdLogger) Logf(format string, args ...interface{}) {
	l.logger.Printf("INFO: "+format, args...)
}

func (l stdLogger) Errorf(format string, args ...interface{}) {
	l.logger.Printf("ERROR: "+format, args...)
}

// Config has the options of a client. A field that is not set has its default.
type Config struct {
	// Endpoint is the address of the service; batches go to its path /v1/batch.
	Endpoint string

	// Interval is how long messages wait at most before they are sent.
	Interval time.Duration

	// Transport makes the requests. Default: one with keep-alive and the proxy of the environment.
	Transport http.RoundTripper

	// Logger gets a line when messages cannot be sent, one when they can again, and one for messages that are lost without a Callback.
	// Default: standard error.
	Logger Logger

	// Callback learns how each queued message ended.
	Callback Callback

	// BatchSize is the number of waiting messages that are sent before Interval has passed. It does not limit a batch, except for 1.
	BatchSize int

	// Verbose logs every step.
	Verbose bool

	// DefaultContext is added to the Context of each message, whose fields win. Its Library is ignored.
	DefaultContext *Context

	// RetryAfter returns the wait before a retry; its argument is 0 before the first one. Default: a random wait below 100 ms, which
	// doubles with each retry up to 10 s.
	RetryAfter func(int) time.Duration
}

// ConfigError is an invalid value of a [Config].
type ConfigError struct {
	// Reason says what is wrong.
	Reason string

	// Field is its name.
	Field string

	// Value is what it was set to; nil if it may contain a password.
	Value interface{}
}

// Error names the reason, the field and its value.
func (e ConfigError) Error() string {
	return fmt.Sprintf("analytics.NewWithConfig: %s (analytics.Config.%s: %#v)", e.Reason, e.Field, e.Value)
}

// New returns a client with the default [Config] for the source with this write key.
func New(writeKey string) Client { return newClient(writeKey, Config{}) }

// NewWithConfig returns a client for the source with this write key. It fails with a [ConfigError] if a value of config is invalid.
func NewWithConfig(writeKey string, config Config) (Client, error) {
	switch {
	case config.Interval < 0:
		return nil, ConfigError{Reason: "the interval must not be negative", Field: "Interval", Value: config.Interval}
	case config.BatchSize < 0:
		return nil, ConfigError{Reason: "the batch size must not be negative", Field: "BatchSize", Value: config.BatchSize}
	}
	c := newClient(writeKey, config)
	var invalid *root.Error
	if err := c.sender.Flush(context.Background()); errors.Is(err, root.ErrInvalidEndpoint) && errors.As(err, &invalid) {
		return nil, ConfigError{Reason: invalid.Message, Field: "Endpoint"}
	}
	return c, nil
}

type client struct {
	sender   *root.Client
	callback Callback
	closed   atomic.Bool
}

func newClient(writeKey string, config Config) *client {
	sender := root.New(writeKey)
	sender.Endpoint = DefaultEndpoint + "/v1/batch"
	if config.Endpoint != "" {
		sender.Endpoint = strings.TrimRight(config.Endpoint, "/") + "/v1/batch"
	}
	sender.FlushAfter = config.Interval
	sender.FlushAt = DefaultBatchSize
	if config.BatchSize != 0 {
		sender.FlushAt = config.BatchSize
	}
	if config.Transport != nil {
		sender.HTTPClient = &http.Client{Transport: config.Transport}
	}
	if config.Logger != nil {
		sender.Logger = logger{config.Logger}
	}
	sender.Verbose = config.Verbose
	if config.DefaultContext != nil {
		sender.DefaultContext = config.DefaultContext.fields()
		delete(sender.DefaultContext, "library") // the batch has it
	}
	sender.RetryAfter = config.RetryAfter
	return &client{sender: sender, callback: config.Callback}
}

// logger is a [Logger] for the root package, which uses its Errorf for failures.
type logger struct{ Logger }

func (l logger) Printf(format string, args ...interface{}) { l.Logf(format, args...) }

func (c *client) Enqueue(message Message) error {
	m, err := sendable(message)
	if err != nil {
		return err
	}
	if err := m.Validate(); err != nil {
		return err
	}
	now := time.Now()
	if c.callback == nil {
		return c.sender.Enqueue(m.outgoing(now))
	}
	return c.sender.EnqueueFunc(m.outgoing(now), func(queued root.QueuedMessage, err error) {
		sent := m.stamped(queued.MessageId, now)
		if err != nil {
			c.callback.Failure(sent, err)
		} else {
			c.callback.Success(sent)
		}
	})
}

func (c *client) Close() error {
	if c.closed.Swap(true) {
		return ErrClosed
	}
	return c.sender.Close()
}
