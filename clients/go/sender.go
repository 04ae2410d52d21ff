package analytics

import (
	"context"
	"net/http"
	"time"
)

type outcome struct {
	err        *Error // nil if the service accepted the batch
	rejections []rejection
	unlisted   int // more rejected calls, after those in rejections
	status     int // of the last response
	tries      int
}

// sender is the goroutine that empties an outbox, one batch at a time and in order.
type sender struct {
	outbox     *outbox
	poster     *poster
	compressor compressor
	reporter   reporter
	journal    journal
	maxRetries int
	retryBase  time.Duration
	retryAfter func(retries int) time.Duration
	externals  externals
	outage     outage
	// refusedSince is the time of the first temporary refusal since a batch was accepted.
	refusedSince time.Time

	quit    context.Context         // done when remaining calls must be reported instead of sent
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
		retryAfter: s.retryAfter,
		externals:  s.externals,
		outage:     outage{endpoint: s.target.shown, journal: j},
		quit:       quit,
		abandon:    abandon,
		done:       make(chan struct{}),
	}
}

func (s *sender) run() {
	defer close(s.done)
	defer s.abandon(nil)
	defer s.poster.close()
	for {
		b, wait, done := s.outbox.take(s.externals.now())
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

func (s *sender) rest(wait time.Duration) {
	var elapsed <-chan time.Time
	if wait != never {
		var stop func() bool
		elapsed, stop = s.externals.timer(wait)
		defer stop()
	}
	select {
	case <-s.outbox.wake:
	case <-elapsed:
	}
}

// settle sends a batch, reports its failures, and then frees its place: unreported calls still count as held.
func (s *sender) settle(b *batch) {
	o := s.deliver(b)
	if o.err == nil {
		s.outbox.arrived(b)
	}
	s.reporter.report(b, o)
	s.outbox.settle(b, o.err)
}

// deliver sends a batch until it is accepted or refused, its retries or its time are used up, or quit is done.
func (s *sender) deliver(b *batch) outcome {
	var last answer
	began := s.externals.now()
	for tries := 0; ; {
		if s.quit.Err() != nil {
			return outcome{err: abandoned(tries, s.outage.reason, context.Cause(s.quit)), status: last.status, tries: tries}
		}
		a := s.try(b, retryFor-elapsed(began, s.externals.now()))
		tries++
		if a.err != nil && s.quit.Err() != nil {
			if tries == 1 {
				s.outage.reason = errNoAnswerYet // otherwise the response before says more
			}
			continue
		}
		last = a
		switch last.judge() {
		case accepted:
			s.outage.end()
			s.refusedSince = time.Time{}
			return outcome{rejections: last.rejections(b.calls()), unlisted: last.rejectedUnlisted(), status: last.status, tries: tries}
		case refused:
			if !s.mayPass(&last) {
				if s.refusedSince.IsZero() { // otherwise it is the same outage
					s.outage.end()
				}
				return outcome{err: refusal(&last), status: last.status, tries: tries}
			}
		}
		if err := s.waitToRetry(b, &last, tries, began); err != nil {
			return outcome{err: err, status: last.status, tries: tries}
		}
	}
}

func (s *sender) mayPass(a *answer) bool {
	within := passesWithin(a)
	if within == 0 {
		return false
	}
	now := s.externals.now()
	if s.refusedSince.IsZero() {
		s.refusedSince = now
	}
	return elapsed(s.refusedSince, now) < within
}

func (s *sender) try(b *batch, left time.Duration) answer {
	b.seal(s.externals.now())
	body := s.compressor.pack(b.body)
	s.journal.debugf("flush: %s, %d bytes, %d on the wire", counted(b.calls(), "call", "calls"), len(b.body), len(body.bytes))
	start := s.externals.now()
	a := s.poster.post(s.quit, body, left)
	if a.status == http.StatusRequestEntityTooLarge && body.encoding != "" {
		// the limit can be lower for gzip: what the service writes counts, and may have about 160 times the compressed size
		s.journal.debugf("response: %v; sending the batch again without gzip", &a)
		a = s.poster.post(s.quit, uncompressed(b.body), left-elapsed(start, s.externals.now()))
	}
	a.endpoint = s.poster.target.shown
	s.journal.debugf("response: %v in %d ms", &a, s.externals.now().Sub(start).Milliseconds())
	return a
}

func (s *sender) waitToRetry(b *batch, last *answer, tries int, began time.Time) *Error {
	facts := retryFacts{tries: tries, maxRetries: s.maxRetries, elapsed: elapsed(began, s.externals.now())}
	facts.wait = max(
		s.backoff(tries),
		retryAfterOf(last.retryAfter, s.externals.now()),
	)
	if err := gaveUp(facts, last); err != nil {
		s.outage.reason = last.reason()
		return err
	}
	s.outage.start(last.reason(), b.calls())
	s.journal.debugf("retry: attempt %d in %d ms", tries+1, facts.wait.Milliseconds())
	s.externals.pause(s.quit, facts.wait)
	if s.quit.Err() != nil {
		return nil // deliver reports the batch as abandoned
	}
	facts.elapsed, facts.wait = elapsed(began, s.externals.now()), 0 // a stopped process waits longer
	return gaveUp(facts, last)
}

// backoff asks the caller's RetryAfter, if there is one and it returns.
func (s *sender) backoff(tries int) time.Duration {
	if s.retryAfter != nil {
		var wait time.Duration
		ended := guarded(func() { wait = s.retryAfter(tries - 1) })
		if ended == nil {
			return wait
		}
		s.journal.errorf("RetryAfter %v", ended)
	}
	return backoff(tries, s.retryBase, s.externals.random())
}
