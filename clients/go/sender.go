package analytics

import (
	"context"
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
	trouble    trouble
	// refusedSince is when a refusal that may pass came first. It begins anew when a batch has been taken, not with each batch.
	refusedSince time.Time

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
		trouble:    trouble{endpoint: s.target.shown, journal: j},
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
	if o.err == nil {
		s.outbox.arrived(b)
	}
	s.reporter.report(b, o)
	s.outbox.settle(b, o.err)
}

// deliver tries until the batch is taken or refused, its retries or its time are used up, or the client is given up.
func (s *sender) deliver(b *batch) outcome {
	var last answer
	began := s.edges.now()
	for tries := 0; ; {
		if s.quit.Err() != nil {
			return outcome{err: abandoned(tries, s.trouble.reason, context.Cause(s.quit)), status: last.status, tries: tries}
		}
		a := s.try(b, retryFor-elapsed(began, s.edges.now()))
		tries++
		if a.err != nil && s.quit.Err() != nil {
			if tries == 1 {
				s.trouble.reason = errNoAnswerYet // else the answer before it says more
			}
			continue
		}
		last = a
		switch last.judge() {
		case taken:
			s.trouble.over()
			s.refusedSince = time.Time{}
			return outcome{rejections: last.rejections(b.calls()), status: last.status, tries: tries}
		case refused:
			if !s.mayPass(&last) {
				if s.refusedSince.IsZero() { // else it is still the same trouble
					s.trouble.over()
				}
				return outcome{err: refusal(&last), status: last.status, tries: tries}
			}
		}
		if err := s.waitToRetry(b, &last, tries, began); err != nil {
			return outcome{err: err, status: last.status, tries: tries}
		}
	}
}

// mayPass says whether a refusal is worth another try.
func (s *sender) mayPass(a *answer) bool {
	within := passesWithin(a)
	if within == 0 {
		return false
	}
	now := s.edges.now()
	if s.refusedSince.IsZero() {
		s.refusedSince = now
	}
	return elapsed(s.refusedSince, now) < within
}

func (s *sender) try(b *batch, left time.Duration) answer {
	b.seal(s.edges.now())
	body := s.compressor.pack(b.body)
	s.journal.debugf("flush: %s, %d bytes, %d on the wire", counted(b.calls(), "call", "calls"), len(b.body), len(body.bytes))
	start := s.edges.now()
	a := s.poster.post(s.quit, body, left)
	a.endpoint = s.poster.target.shown
	s.journal.debugf("response: %v in %d ms", &a, s.edges.now().Sub(start).Milliseconds())
	return a
}

// waitToRetry fails when there is no further try.
func (s *sender) waitToRetry(b *batch, last *answer, tries int, began time.Time) *Error {
	facts := retryFacts{tries: tries, maxRetries: s.maxRetries, elapsed: elapsed(began, s.edges.now())}
	facts.wait = max(
		backoff(tries, s.retryBase, s.edges.random()),
		retryAfterOf(last.retryAfter, s.edges.now()),
	)
	if err := gaveUp(facts, last); err != nil {
		s.trouble.reason = last.reason()
		return err
	}
	s.trouble.met(last.reason(), b.calls())
	s.journal.debugf("retry: try %d in %d ms", tries+1, facts.wait.Milliseconds())
	s.edges.pause(s.quit, facts.wait)
	if s.quit.Err() != nil {
		return nil // for want of time to wait
	}
	facts.elapsed, facts.wait = elapsed(began, s.edges.now()), 0 // it may have been longer, as where the process was stopped
	return gaveUp(facts, last)
}
