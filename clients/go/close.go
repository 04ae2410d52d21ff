package analytics

import (
	"context"
	"time"
)

// closeGrace is how long Close waits after its limit until remaining calls are reported.
const closeGrace = time.Second

// Flush sends all queued calls, and returns when each is delivered or reported to OnFailure. If ctx is done first, it fails with
// [ErrNotFlushed]; the calls will still be sent.
func (c *Client) Flush(ctx context.Context) error {
	if err := c.open(); err != nil {
		return err
	}
	left, err := c.outbox.awaitSettled(orBackground(ctx))
	if err != nil {
		return ErrNotFlushed.about(left, "not settled yet", err)
	}
	return nil
}

// Close rejects further calls ([ErrClosed]), sends the queued ones, with retries, and ends the client's goroutine. After CloseTimeout
// it gives up: the remaining calls go to OnFailure.
//
// It fails with [ErrNotSent] if queued calls could not be sent, for lack of time or because the service rejected them; the cause is
// the error of the first. OnFailure has received each with its own error. A second Close returns the same result.
func (c *Client) Close() error {
	if err := c.open(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), c.timeout)
	defer cancel()
	if c.outbox.close() {
		return c.end(ctx)
	}
	// the first Close may take longer: it has a grace period
	longer, cancelLonger := context.WithTimeout(context.Background(), max(c.timeout, c.timeout+2*closeGrace))
	defer cancelLonger()
	return c.awaitClose(longer)
}

// CloseContext is like [Client.Close], with the deadline of ctx instead of CloseTimeout. Concurrent calls wait for the result of the first, or fail
// with [ErrClosed] when their own ctx is done.
func (c *Client) CloseContext(ctx context.Context) error {
	if err := c.open(); err != nil {
		return err
	}
	ctx = orBackground(ctx)
	if c.outbox.close() {
		return c.end(ctx)
	}
	return c.awaitClose(ctx)
}

func (c *Client) end(ctx context.Context) error {
	c.closeErr = c.awaitEnd(ctx)
	c.journal.debugf("close: %s", describeEnd(c.closeErr))
	close(c.closing)
	return c.closeErr
}

// awaitClose waits for the result of the first Close.
func (c *Client) awaitClose(ctx context.Context) error {
	select {
	case <-c.closing:
	case <-ctx.Done():
		select {
		case <-c.closing:
		default:
			return ErrClosed.because("another Close is still waiting", ctx.Err())
		}
	}
	return c.closeErr
}

// awaitEnd waits for the sender to end. When ctx is done, it makes the sender report the remaining calls.
func (c *Client) awaitEnd(ctx context.Context) error {
	select {
	case <-c.sender.done:
	case <-ctx.Done():
		c.sender.abandon(context.Cause(ctx))
		grace := time.NewTimer(closeGrace)
		defer grace.Stop()
		select {
		case <-c.sender.done:
		case <-grace.C: // a callback or a logger does not return
		}
	}
	failed, held, why := c.outbox.unsent()
	if held > 0 && why == nil {
		why = ErrClosed.because("Close ended before they could be reported", ctx.Err())
	}
	if failed+held == 0 {
		return nil
	}
	return ErrNotSent.about(failed+held, "could not be sent", why)
}

func describeEnd(err error) string {
	if err == nil {
		return "all calls are settled"
	}
	return textOf(err)
}
