package analytics

import (
	"context"
	"fmt"
	"time"
)

// outcome of a batch, when nothing more is done about it.
type outcome struct {
	err        *Error // why no call of it was taken; nil when the service took it
	rejections []rejection
	status     int // of the last answer
	tries      int
}

// sender is the goroutine that empties an outbox: one batch at a time, in order, each until it is settled.
type sender struct {
	outbox     *outbox
	poster     *poster
	compressor compressor
	reporter   reporter
	journal    journal
	maxRetries int
	retryBase  time.Duration
	edges      edges

	quit    context.Context         // is done when what is left must be reported instead of sent
	abandon context.CancelCauseFunc // ends quit
	done    chan struct{}
}

func newSender(s *settings, o *outbox, j journal) *sender {
	quit, abandon := context.WithCancelCause(context.Background())
	return &sender{
		outbox:     o,
		poster:     newPoster(s),
		compressor: compressor{disabled: s.disableCompression},
		reporter:   reporter{onFailure: s.onFailure, journal: j},
		journal:    j,
		maxRetries: s.maxRetries,
		retryBase:  s.retryBase,
		edges:      s.edges,
		quit:       quit,
		abandon:    abandon,
		done:       make(chan struct{}),
	}
}

// run ends when the outbox is closed and empty.
func (s *sender) run() {
	defer close(s.done)
	defer s.abandon(nil)
	defer s.poster.close()
	for {
		b, wait, done := s.outbox.take(s.edges.now())
		switch {
		case done:
			return
		case b != nil:
			s.settle(b)
		default:
			s.rest(wait)
		}
	}
}

// rest waits until the outbox has something new, or for so long.
func (s *sender) rest(wait time.Duration) {
	var elapsed <-chan time.Time
	if wait != never {
		var stop func() bool
		elapsed, stop = s.edges.timer(wait)
		defer stop()
	}
	select {
	case <-s.outbox.wake:
	case <-elapsed:
	}
}

// settle sends a batch, reports what has failed of it and frees its place, in this order: what is not reported yet is still held.
func (s *sender) settle(b *batch) {
	o := s.deliver(b)
	s.reporter.report(b, o)
	s.outbox.settle(b, o.err)
}

// deliver tries until the batch is taken or refused, the retries are used up, or the client is given up.
func (s *sender) deliver(b *batch) outcome {
	var last answer
	for tries := 0; ; {
		if s.quit.Err() != nil {
			return outcome{err: s.abandoned(&last), status: last.status, tries: tries}
		}
		a := s.try(b)
		tries++
		if a.err != nil && s.quit.Err() != nil {
			continue // ended by us, which says nothing
		}
		last = a
		switch verdict := last.judge(); {
		case verdict == taken:
			return outcome{rejections: last.rejections(b.calls()), status: last.status, tries: tries}
		case verdict == refused:
			return outcome{err: refusal(&last), status: last.status, tries: tries}
		case tries > s.maxRetries:
			return outcome{err: gaveUp(&last, tries), status: last.status, tries: tries}
		}
		s.waitToRetry(&last, tries)
	}
}

func (s *sender) try(b *batch) answer {
	b.seal(s.edges.now())
	body := s.compressor.pack(b.body)
	s.journal.debugf("flush: %d calls, %d bytes, %d on the wire", b.calls(), len(b.body), len(body.bytes))
	start := s.edges.now()
	a := s.poster.post(s.quit, body)
	s.journal.debugf("response: %v in %d ms", &a, s.edges.now().Sub(start).Milliseconds())
	return a
}

func (s *sender) waitToRetry(last *answer, tries int) {
	wait := max(
		backoff(tries, s.retryBase, s.edges.random()),
		retryAfterOf(last.retryAfter, s.edges.now()),
	)
	s.journal.debugf("retry: try %d in %d ms", tries+1, wait.Milliseconds())
	s.edges.pause(s.quit, wait)
}

func (s *sender) abandoned(last *answer) *Error {
	message := "Close ended before it could be sent"
	if last.status != 0 || last.err != nil {
		message += fmt.Sprintf(" (last try: %v)", last.reason())
	}
	return ErrClosed.because(message, context.Cause(s.quit))
}

func refusal(a *answer) *Error {
	return ErrRejected.because(fmt.Sprintf("the service refused the batch with status %d", a.status), a.reason())
}

func gaveUp(a *answer, tries int) *Error {
	return ErrGaveUp.because(fmt.Sprintf("the batch could not be sent in %d tries", tries), a.reason())
}
