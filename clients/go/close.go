package analytics

import (
	"context"
	"time"
)

// closeGrace is how long Close waits, after its limit, for what is left to be reported.
const closeGrace = time.Second

// Flush has all calls sent that wait now, and returns when each of them is: sent, or reported to OnFailure. That takes
// as long as it takes; when ctx is done first it fails with [ErrNotFlushed], and the calls are sent as ever.
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

// Close refuses further calls ([ErrClosed]), flushes all others, with retries, and ends the client's goroutine. After
// CloseTimeout it goes on no longer: what is left goes to OnFailure.
//
// It fails with [ErrNotSent] when calls that waited or were under way could not be sent, be it for the lack of time or because the
// service refused them; the cause is that of the first. OnFailure has got each of them, with its own. A second Close returns the same as the first.
func (c *Client) Close() error {
	if err := c.open(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), c.timeout)
	defer cancel()
	return c.CloseContext(ctx)
}

// CloseContext is Close with the limit of ctx in the place of CloseTimeout. The limit of the first one counts: another
// that is called meanwhile waits for its result, or fails with [ErrClosed] when its own ctx is done.
func (c *Client) CloseContext(ctx context.Context) error {
	if err := c.open(); err != nil {
		return err
	}
	ctx = orBackground(ctx)
	if c.outbox.close() {
		c.closeErr = c.awaitEnd(ctx)
		c.journal.debugf("close: %s", describeEnd(c.closeErr))
		close(c.closing)
		return c.closeErr
	}
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

// awaitEnd waits for the sender to end, and has it report what is left when ctx is done.
func (c *Client) awaitEnd(ctx context.Context) error {
	select {
	case <-c.sender.done:
	case <-ctx.Done():
		c.sender.abandon(context.Cause(ctx))
		grace := time.NewTimer(closeGrace)
		defer grace.Stop()
		select {
		case <-c.sender.done:
		case <-grace.C: // a callback or a logger that does not end
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
		return "nothing is left"
	}
	return textOf(err)
}
