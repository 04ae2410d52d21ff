package analytics

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// stuck is a service that does not respond until it is released.
func stuck(t *testing.T) (s *service, release func()) {
	hold := make(chan struct{})
	s = newService(t, func(_ int, _ http.ResponseWriter, r *request) {
		select {
		case <-hold:
		case <-r.Context().Done():
		}
	})
	var once sync.Once
	release = func() { once.Do(func() { close(hold) }) }
	t.Cleanup(release)
	return s, release
}

func TestAQueueThatIsFullOfCallsRefusesMoreAndKeepsWhatItHas(t *testing.T) {
	s, release := stuck(t)
	c, f := newClient(t, s.URL)
	c.MaxQueue, c.FlushAt = 50, 10
	for i := 0; i < 50; i++ {
		must(t, c.Track(&Track{UserId: "u1", Event: "Opened", MessageId: fmt.Sprint(i)}))
		if i == 9 {
			s.next(t) // counts while it is being sent
		}
	}
	err := c.Track(&Track{UserId: "u1", Event: "Opened"})
	if !errors.Is(err, ErrQueueFull) || !strings.Contains(err.Error(), "MaxQueue)") || !strings.Contains(err.Error(), "50") {
		t.Fatalf("got %v", err)
	}
	release()
	must(t, c.Flush(context.Background()))
	if n := len(s.next(t).items); n != 40 {
		t.Fatalf("%d calls came next", n)
	}
	must(t, c.Track(&Track{UserId: "u1", Event: "Opened"}))
	must(t, c.Close())
	f.none(t)
}

func TestAQueueThatIsFullOfBytesRefusesMore(t *testing.T) {
	s, _ := stuck(t)
	c, _ := newClient(t, s.URL)
	message := &Track{UserId: "u1", Event: "Opened", MessageId: "m1", Timestamp: "2026-01-02"}
	encoded := message.call()
	text, _ := encodeOne(&encoded)
	c.MaxQueueBytes = 10 * len(text)
	for i := 0; i < 10; i++ {
		must(t, c.Track(message))
	}
	err := c.Track(message)
	if !errors.Is(err, ErrQueueFull) || !strings.Contains(err.Error(), "MaxQueueBytes") {
		t.Fatalf("got %v", err)
	}
}

func TestAThresholdAboveTheQueueIsThatOfAFullOne(t *testing.T) {
	s := newService(t, nil)
	c, _ := newClient(t, s.URL)
	c.externals = newFakeTime().externals()
	c.MaxQueue, c.FlushAt = 5, 100
	for i := 0; i < 5; i++ {
		must(t, c.Track(&Track{UserId: "u1", Event: "Opened"}))
	}
	s.next(t)
}

func TestAQueueThatIsFullIsFlushedBelowItsThreshold(t *testing.T) {
	s := newService(t, nil)
	c, _ := newClient(t, s.URL)
	c.externals = newFakeTime().externals()
	c.MaxQueueBytes = 1000
	for c.Track(&Track{UserId: "u1", Event: "Opened"}) == nil {
	}
	if n := len(s.next(t).items); n < 5 || n > 15 {
		t.Fatalf("%d calls came", n)
	}
}

func TestTheContextMethodsWaitForRoom(t *testing.T) {
	s, release := stuck(t)
	c, f := newClient(t, s.URL)
	c.MaxQueue = 1
	must(t, c.Track(&Track{UserId: "u1", Event: "Opened"}))
	s.next(t)
	ctx := context.Background()
	done := make(chan error, 7)
	go func() { done <- c.IdentifyContext(ctx, &Identify{UserId: "u1"}) }()
	go func() { done <- c.TrackContext(ctx, &Track{UserId: "u1", Event: "Opened"}) }()
	go func() { done <- c.PageContext(ctx, &Page{UserId: "u1"}) }()
	go func() { done <- c.ScreenContext(ctx, &Screen{UserId: "u1"}) }()
	go func() { done <- c.EnqueueContext(ctx, Screen{UserId: "u1"}) }()
	go func() { done <- c.GroupContext(ctx, &Group{UserId: "u1", GroupId: "g1"}) }()
	go func() { done <- c.AliasContext(ctx, &Alias{UserId: "u1", PreviousId: "a1"}) }()
	until(t, "somebody waits", func() bool {
		c.outbox.mu.Lock()
		defer c.outbox.mu.Unlock()
		return c.outbox.progress != nil
	})
	if len(done) > 0 {
		t.Fatal("one did not wait")
	}
	release()
	for i := 0; i < 7; i++ {
		must(t, receive(t, done))
	}
	must(t, c.Close())
	f.none(t)
}

func TestTheContextMethodsWaitNoLongerThanTheirContext(t *testing.T) {
	s, release := stuck(t)
	c, _ := newClient(t, s.URL)
	c.MaxQueue = 1
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Millisecond)
	defer cancel()
	must(t, c.TrackContext(ctx, &Track{UserId: "u1", Event: "Opened"}))
	err := c.TrackContext(ctx, &Track{UserId: "u1", Event: "Opened"})
	if !errors.Is(err, ErrQueueFull) || !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got %v", err)
	}
	release()
	must(t, c.Flush(context.Background()))
	must(t, c.TrackContext(ctx, &Track{UserId: "u1", Event: "Opened"})) // there is room
}

func TestWhatCanNeverFitIsNotWaitedFor(t *testing.T) {
	c, _ := newClient(t, "http://localhost:1")
	c.MaxQueueBytes = 10
	if err := c.TrackContext(context.Background(), &Track{UserId: "u1", Event: "Opened"}); !errors.Is(err, ErrQueueFull) {
		t.Fatalf("got %v", err)
	}
}

func TestThoseWhoWaitForRoomAreToldOfClose(t *testing.T) {
	s, release := stuck(t)
	c, _ := newClient(t, s.URL)
	c.MaxQueue = 1
	must(t, c.Track(&Track{UserId: "u1", Event: "Opened"}))
	done := make(chan error, 1)
	go func() { done <- c.TrackContext(context.Background(), &Track{UserId: "u1", Event: "Opened"}) }()
	until(t, "it waits", func() bool {
		c.outbox.mu.Lock()
		defer c.outbox.mu.Unlock()
		return c.outbox.progress != nil
	})
	closed := make(chan error, 1)
	go func() { closed <- c.Close() }()
	if err := receive(t, done); !errors.Is(err, ErrClosed) {
		t.Fatalf("got %v", err)
	}
	release()
	must(t, receive(t, closed))
}

func TestMemoryIsBoundedWhileTheServiceIsAway(t *testing.T) {
	s := newService(t, status(503))
	c, _ := newClient(t, s.URL)
	c.MaxQueueBytes, c.MaxRetries = 4<<20, 1_000_000
	c.RetryBase = 10 * time.Millisecond
	properties := map[string]any{"p": strings.Repeat("x", 1000)}
	heap := func() uint64 {
		var stats runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&stats)
		return stats.HeapAlloc
	}
	before, refused := heap(), 0
	for i := 0; i < 30_000; i++ { // 30 MB
		if err := c.Track(&Track{UserId: "u1", Event: "Opened", Properties: properties}); errors.Is(err, ErrQueueFull) {
			refused++
		} else {
			must(t, err)
		}
		if len(s.requests) > 0 {
			<-s.requests
		}
	}
	if held := c.outbox.held(); held < 3500 || refused != 30_000-held {
		t.Fatalf("%d calls are held and %d were refused", held, refused)
	}
	if after := heap(); after > before+4<<20*3/2+4<<20 {
		t.Fatalf("the heap has grown by %d bytes", after-before)
	}
}
