package analytics

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestCloseSendsWhatWaits(t *testing.T) {
	s := newService(t, nil)
	c, f := newClient(t, s.URL)
	c.FlushAt = 10_000
	for i := 0; i < 6000; i++ {
		must(t, c.Track(&Track{UserId: "u1", Event: "Opened"}))
	}
	must(t, c.Close())
	var sizes []int
	for len(s.requests) > 0 {
		sizes = append(sizes, len(s.next(t).items))
	}
	if got := fmt.Sprint(sizes); got != "[2500 2500 1000]" {
		t.Fatalf("got %s", got)
	}
	f.none(t)
}

func TestCallsAfterCloseAreRefused(t *testing.T) {
	s := newService(t, nil)
	c, _ := newClient(t, s.URL)
	must(t, c.Close())
	if err := c.Track(&Track{UserId: "u1", Event: "Opened"}); !errors.Is(err, ErrClosed) {
		t.Fatalf("got %v", err)
	}
	if err := c.TrackContext(context.Background(), &Track{UserId: "u1", Event: "Opened"}); !errors.Is(err, ErrClosed) {
		t.Fatalf("got %v", err)
	}
	must(t, c.Flush(context.Background()))
	must(t, c.Close())
	if len(s.requests) > 0 {
		t.Fatal("something was sent")
	}
}

func TestCloseEndsAtItsLimitAndWhatIsLeftIsReported(t *testing.T) {
	for name, answer := range map[string]func(int, http.ResponseWriter, *request){
		"without an answer": func(_ int, _ http.ResponseWriter, r *request) { <-r.Context().Done() },
		"between two tries": func(_ int, w http.ResponseWriter, _ *request) {
			w.Header().Set("Retry-After", "300")
			w.WriteHeader(503)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newService(t, answer)
			c, f := newClient(t, s.URL)
			c.CloseTimeout = 50 * time.Millisecond
			for i := 0; i < 3000; i++ {
				must(t, c.Track(&Track{UserId: "u1", Event: "Opened", MessageId: fmt.Sprint(i)}))
			}
			start := time.Now()
			err := c.Close()
			if took := time.Since(start); took < 50*time.Millisecond || took > testTimeout {
				t.Fatalf("it took %v", took)
			}
			if !errors.Is(err, ErrNotSent) || !errors.Is(err, ErrClosed) || !errors.Is(err, context.DeadlineExceeded) || callsOf(err) != 3000 {
				t.Fatalf("got %v", err)
			}
			for i := 0; i < 3000; { // Close has waited for the callback
				failure := <-f.came
				if !errors.Is(failure.Err, ErrClosed) || !errors.Is(failure.Err, context.DeadlineExceeded) {
					t.Fatalf("got %v", failure.Err)
				}
				for _, m := range failure.Messages {
					if m.MessageId != fmt.Sprint(i) {
						t.Fatalf("%s came in the place of %d", m.MessageId, i)
					}
					i++
				}
			}
			f.none(t)
			if again := c.Close(); again != err {
				t.Fatalf("the second Close returned %v", again)
			}
		})
	}
}

func callsOf(err error) int {
	var coded *Error
	if !errors.As(err, &coded) {
		return 0
	}
	return coded.Calls
}

func TestCloseFailsWhenTheServiceRefusesWhatWaits(t *testing.T) {
	for name, test := range map[string]struct {
		status, maxRetries int
		want               error
	}{
		"for good":                    {401, 0, ErrRejected},
		"and the retries are used up": {503, -1, ErrGaveUp},
	} {
		t.Run(name, func(t *testing.T) {
			s := newService(t, status(test.status))
			c, f := newClient(t, s.URL)
			c.MaxRetries = test.maxRetries
			must(t, c.Track(&Track{UserId: "u1", Event: "Opened"}))
			must(t, c.Flush(context.Background())) // no longer counts for Close
			must(t, c.Track(&Track{UserId: "u1", Event: "Opened"}))
			must(t, c.Track(&Track{UserId: "u1", Event: "Opened"}))
			err := c.Close()
			if !errors.Is(err, ErrNotSent) || !errors.Is(err, test.want) || callsOf(err) != 2 || !strings.Contains(err.Error(), "2 calls could not be sent") {
				t.Fatalf("got %v", err)
			}
			if again := c.Close(); again != err {
				t.Fatalf("the second Close returned %v", again)
			}
			if one, two := receive(t, f.came), receive(t, f.came); len(one.Messages) != 1 || len(two.Messages) != 2 {
				t.Fatalf("got %+v and %+v", one, two)
			}
		})
	}
}

// reportedInFull checks the failures of two batches; the second one was not attempted.
func reportedInFull(t *testing.T, f *failures, first, second string) {
	t.Helper()
	for _, want := range []string{first, second} {
		failure := receive(t, f.came)
		if !errors.Is(failure.Err, ErrClosed) || !strings.Contains(failure.Err.Error(), want) {
			t.Fatalf("%s is not in %v", want, failure.Err)
		}
	}
	f.none(t)
}

func TestAtTheLimitOfCloseEachBatchHasItsCause(t *testing.T) {
	hang := func(r *request, end func()) {
		end()
		<-r.Context().Done()
	}
	for name, test := range map[string]struct {
		answer func(n int, w http.ResponseWriter, r *request, end func())
		cause  string
	}{
		"without an answer": {func(_ int, _ http.ResponseWriter, r *request, end func()) { hang(r, end) }, "no response yet"},
		"between two tries": {func(_ int, w http.ResponseWriter, _ *request, _ func()) {
			w.Header().Set("Retry-After", "300")
			w.WriteHeader(503)
			_, _ = io.WriteString(w, `{"code":"unavailable","message":"Kafka is away."}`)
		}, "unavailable: status 503: Kafka is away."},
		"in the second try": {func(n int, w http.ResponseWriter, r *request, end func()) {
			if n == 2 {
				hang(r, end)
			}
			w.WriteHeader(502)
		}, "status 502"},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, end := context.WithCancel(context.Background())
			s := newService(t, func(n int, w http.ResponseWriter, r *request) { test.answer(n, w, r, end) })
			c, f := newClient(t, s.URL)
			c.externals.timer = func(d time.Duration) (<-chan time.Time, func() bool) {
				if d == longestRetryAfter {
					end()
				}
				return realTimer(d)
			}
			for i := 0; i < batchCalls+1; i++ {
				must(t, c.Track(&Track{UserId: "u1", Event: "Opened"}))
			}
			first, second := "(last attempt: "+test.cause+")", "(not attempted; the batch before it: "+test.cause+")"
			err := c.CloseContext(ctx)
			if !errors.Is(err, ErrNotSent) || callsOf(err) != batchCalls+1 || !strings.Contains(err.Error(), first) {
				t.Fatalf("got %v", err)
			}
			reportedInFull(t, f, first, second)
		})
	}
}

func TestCloseSaysWhyTheFirstBatchWasNotSent(t *testing.T) {
	closed := make(chan struct{})
	ctx, end := context.WithCancel(context.Background())
	s := newService(t, func(n int, w http.ResponseWriter, r *request) {
		<-closed
		if n == 1 {
			w.WriteHeader(401)
			return
		}
		end()
		<-r.Context().Done()
	})
	c, f := newClient(t, s.URL)
	c.FlushAt = 1
	must(t, c.Track(&Track{UserId: "u1", Event: "Opened"}))
	must(t, c.Track(&Track{UserId: "u1", Event: "Opened"}))
	go func() {
		awaitClosed(c)
		close(closed)
	}()
	err := c.CloseContext(ctx)
	if !errors.Is(err, ErrNotSent) || !errors.Is(err, ErrRejected) || errors.Is(err, ErrClosed) || callsOf(err) != 2 {
		t.Fatalf("got %v", err)
	}
	if one, two := receive(t, f.came), receive(t, f.came); !errors.Is(one.Err, ErrRejected) || !errors.Is(two.Err, ErrClosed) {
		t.Fatalf("got %v and %v", one.Err, two.Err)
	}
}

// awaitClosed returns when Close has begun: earlier failures do not count for it.
func awaitClosed(c *Client) {
	for end := time.Now().Add(testTimeout); time.Now().Before(end); time.Sleep(time.Millisecond) {
		c.outbox.mu.Lock()
		closed := c.outbox.closed
		c.outbox.mu.Unlock()
		if closed {
			return
		}
	}
}

func TestCloseSaysWhyTheFirstBatchWasNotSentAlthoughACallbackDoesNotReturn(t *testing.T) {
	s := newService(t, status(400))
	c, _ := newClient(t, s.URL)
	entered, release, failures := make(chan struct{}), make(chan struct{}), 0
	c.OnFailure = func(Failure) {
		switch failures++; failures {
		case 1:
			awaitClosed(c)
		case 2:
			close(entered)
			<-release
		}
	}
	c.FlushAt = 10
	must(t, c.Track(&Track{UserId: "u1", Event: "Opened"}))
	c.outbox.mu.Lock() // two batches that are sent when it is closed
	c.outbox.queue.batchCalls = 1
	c.outbox.mu.Unlock()
	must(t, c.Track(&Track{UserId: "u1", Event: "Opened"}))
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		<-entered
		cancel()
	}()
	if err := c.CloseContext(ctx); !errors.Is(err, ErrNotSent) || !errors.Is(err, ErrRejected) || callsOf(err) != 2 {
		t.Fatalf("got %v", err)
	}
	close(release)
	<-c.sender.done
}

func TestCloseContextEndsWithItsContext(t *testing.T) {
	s := newService(t, status(503))
	c, f := newClient(t, s.URL)
	must(t, c.Track(&Track{UserId: "u1", Event: "Opened"}))
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		s.next(t)
		s.next(t) // so that the first has its response
		cancel()
	}()
	if err := c.CloseContext(ctx); !errors.Is(err, ErrClosed) || !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	if failure := receive(t, f.came); !strings.Contains(failure.Err.Error(), "status 503") {
		t.Fatalf("got %v", failure.Err)
	}
}

// holdFailure makes OnFailure wait for release. It closes entered when it begins, so it can be called once.
func holdFailure(c *Client) (entered, release chan struct{}) {
	entered, release = make(chan struct{}), make(chan struct{})
	c.OnFailure = func(Failure) {
		close(entered)
		<-release
	}
	return entered, release
}

func TestCloseEndsAlthoughACallbackDoesNot(t *testing.T) {
	s := newService(t, status(400))
	c, _ := newClient(t, s.URL)
	entered, release := holdFailure(c)
	c.FlushAt = 1
	must(t, c.Track(&Track{UserId: "u1", Event: "Opened"}))
	<-entered
	c.CloseTimeout = time.Millisecond
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := c.CloseContext(ctx); !errors.Is(err, ErrNotSent) || !errors.Is(err, ErrClosed) || callsOf(err) != 1 {
		t.Fatalf("got %v", err)
	}
	close(release)
	<-c.sender.done
}

func TestWhatTheServiceTookIsNotUnsentWhileItsRejectionsAreReported(t *testing.T) {
	for name, waiting := range map[string]int{"alone": 0, "with another batch behind it": 3} {
		t.Run(name, func(t *testing.T) {
			entered, release, mayAnswer := make(chan struct{}), make(chan struct{}), make(chan struct{})
			s := newService(t, func(n int, w http.ResponseWriter, r *request) {
				<-mayAnswer
				rejectsSome(n, w, r)
			})
			c, _ := newClient(t, s.URL)
			var once sync.Once
			c.OnFailure = func(Failure) {
				once.Do(func() { close(entered) })
				<-release
			}
			c.FlushAt = 10
			for i := 0; i < 10; i++ {
				must(t, c.Track(&Track{UserId: "u1", Event: "Opened"}))
			}
			s.next(t)
			for i := 0; i < waiting; i++ {
				must(t, c.Track(&Track{UserId: "u1", Event: "Opened"}))
			}
			close(mayAnswer)
			receive(t, entered)
			ctx, cancel := context.WithCancel(context.Background())
			cancel()
			err := c.CloseContext(ctx)
			if errors.Is(err, ErrNotSent) != (waiting > 0) || callsOf(err) != waiting {
				t.Errorf("got %v", err)
			}
			close(release)
			<-c.sender.done
		})
	}
}

func TestASecondCloseWaitsForTheFirst(t *testing.T) {
	release := make(chan struct{})
	s := newService(t, func(int, http.ResponseWriter, *request) { <-release })
	c, f := newClient(t, s.URL)
	must(t, c.Track(&Track{UserId: "u1", Event: "Opened"}))
	results := make(chan error, 2)
	for i := 0; i < 2; i++ {
		go func() { results <- c.Close() }()
	}
	s.next(t)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := c.CloseContext(ctx); !errors.Is(err, ErrClosed) || !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
	close(release)
	must(t, receive(t, results))
	must(t, receive(t, results))
	f.none(t)
}

func TestASecondCloseReturnsTheSameErrorAlthoughACallbackDoesNotReturn(t *testing.T) {
	s := newService(t, status(400))
	c, _ := newClient(t, s.URL)
	entered, release := holdFailure(c)
	c.FlushAt, c.CloseTimeout = 1, time.Millisecond
	must(t, c.Track(&Track{UserId: "u1", Event: "Opened"}))
	receive(t, entered)
	results := make(chan error, 3)
	for i := 0; i < 3; i++ {
		go func() { results <- c.Close() }()
	}
	for i := 0; i < 3; i++ {
		if err := receive(t, results); !errors.Is(err, ErrNotSent) || callsOf(err) != 1 {
			t.Errorf("got %v", err)
		}
	}
	close(release)
	<-c.sender.done
}

// Every queued call is sent or reported, whenever Close is called.
func TestCloseLosesNothingOfWhatIsCalledMeanwhile(t *testing.T) {
	for round := 0; round < 10; round++ {
		s := newService(t, func(n int, w http.ResponseWriter, _ *request) {
			if n%3 == 0 {
				w.WriteHeader(400)
			}
		})
		c, f := newClient(t, s.URL)
		c.FlushAt, c.MaxQueue = 5, 300
		var callers sync.WaitGroup
		var mu sync.Mutex
		accepted := map[string]int{}
		begun := make(chan struct{}, 1000)
		for i := 0; i < 8; i++ {
			i := i
			callers.Add(1)
			go func() {
				defer callers.Done()
				for n := 0; ; n++ {
					id := fmt.Sprint(i, "-", n)
					message := &Track{UserId: "u1", Event: "Opened", MessageId: id}
					var err error
					if i%2 == 0 {
						err = c.Track(message)
					} else {
						err = c.TrackContext(context.Background(), message)
					}
					switch {
					case err == nil:
						mu.Lock()
						accepted[id] = 0
						mu.Unlock()
					case errors.Is(err, ErrClosed):
						return
					case errors.Is(err, ErrQueueFull):
						runtime.Gosched()
					default:
						t.Error(err)
						return
					}
					if n == 20*round {
						begun <- struct{}{}
					}
				}
			}()
		}
		receive(t, begun)
		if err := c.Close(); err != nil && !errors.Is(err, ErrNotSent) {
			t.Fatal(err)
		}
		callers.Wait()
		refused := map[string]bool{}
		for len(f.came) > 0 {
			for _, m := range (<-f.came).Messages {
				refused[m.MessageId] = true
			}
		}
		arrived := map[string]bool{}
		for len(s.requests) > 0 {
			for _, id := range s.next(t).ids(t) {
				if arrived[id] {
					t.Fatalf("%s came twice", id)
				}
				arrived[id] = true
			}
		}
		for id := range accepted {
			if !arrived[id] {
				t.Fatalf("%s is lost", id)
			}
		}
		if len(arrived) != len(accepted) {
			t.Fatalf("%d calls were accepted and %d sent", len(accepted), len(arrived))
		}
		for id := range refused {
			if !arrived[id] {
				t.Fatalf("%s was reported and never sent", id)
			}
		}
	}
}

func TestNoGoroutineIsLeftAfterClose(t *testing.T) {
	before := runtime.NumGoroutine()
	var answered atomic.Int32
	s := newService(t, func(int, http.ResponseWriter, *request) { answered.Add(1) })
	serving := runtime.NumGoroutine()
	c, _ := newClient(t, s.URL)
	if n := runtime.NumGoroutine(); n > serving {
		t.Fatalf("New starts %d", n-serving)
	}
	must(t, c.Track(&Track{UserId: "u1", Event: "Opened"}))
	must(t, c.Close())
	until(t, "no goroutine of a client is there", func() bool { return !isLeft(stacks()) })
	s.Close()
	until(t, "as many goroutines as before", func() bool { return runtime.NumGoroutine() <= before })
	if answered.Load() != 1 {
		t.Fatal("nothing was sent")
	}
}
