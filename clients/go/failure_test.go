package analytics

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
)

// rejectsSome accepts all calls of a batch except the second and the fourth.
func rejectsSome(_ int, w http.ResponseWriter, _ *request) {
	_, _ = io.WriteString(w, `{"success":true,"rejected":[
		{"index":1,"code":"event_not_defined","message":"A track call needs event."},
		{"index":3,"code":"too_deep","message":"Too deep."}]}`)
}

func TestEachRejectedCallOfABatchIsReportedWithItsCode(t *testing.T) {
	s := newService(t, rejectsSome)
	c, f := newClient(t, s.URL)
	for i := 0; i < 5; i++ {
		must(t, c.Track(&Track{UserId: "u1", Event: "Opened", MessageId: fmt.Sprint("m", i)}))
	}
	must(t, c.Close())
	one, two := receive(t, f.came), receive(t, f.came)
	if !errors.Is(one.Err, ErrEventNotDefined) || one.Status != 200 || len(one.Messages) != 1 || one.Messages[0].MessageId != "m1" {
		t.Fatalf("got %+v", one)
	}
	if !errors.Is(two.Err, ErrTooDeep) || two.Err.Message != "Too deep." || two.Messages[0].MessageId != "m3" {
		t.Fatalf("got %+v", two)
	}
	f.none(t)
	if n := len(s.requests); n != 1 {
		t.Fatalf("%d requests", n)
	}
}

func TestARejectionThatCannotBeReadHidesNoOther(t *testing.T) {
	s := newService(t, func(_ int, w http.ResponseWriter, _ *request) {
		_, _ = io.WriteString(w, `{"success":true,"rejected":[7,{"index":"0"},{"index":1,"code":42},{"index":99,"code":"x"},{"index":2,"code":"too_deep"}]}`)
	})
	c, f := newClient(t, s.URL)
	for i := 0; i < 3; i++ {
		must(t, c.Track(&Track{UserId: "u1", Event: "Opened", MessageId: fmt.Sprint("m", i)}))
	}
	must(t, c.Close())
	one, two := receive(t, f.came), receive(t, f.came)
	if one.Err.Error() != "analytics: rejected: the service gave no reason" || one.Messages[0].MessageId != "m1" {
		t.Fatalf("got %+v", one)
	}
	if !errors.Is(two.Err, ErrTooDeep) || two.Messages[0].MessageId != "m2" {
		t.Fatalf("got %+v", two)
	}
	f.none(t)
}

func TestRejectedCallsThatAreOnlyCountedAreReportedTogether(t *testing.T) {
	for _, test := range []struct {
		body, message string
		first         int
	}{
		{`"rejected":[{"index":1,"code":"too_deep"}],"rejectedUnlisted":2`, "the service rejected 2 of these 3 calls, without listing which", 2},
		{`"rejected":[{"index":1,"code":"too_deep"}],"rejectedUnlisted":3`, "the service rejected the call", 2},
		{`"rejected":[],"rejectedUnlisted":5`, "the service rejected the call", 0},
	} {
		s := newService(t, func(_ int, w http.ResponseWriter, _ *request) {
			_, _ = io.WriteString(w, `{"success":true,`+test.body+`}`)
		})
		c, f := newClient(t, s.URL)
		codes := map[string]string{}
		for i := 0; i < 5; i++ {
			must(t, c.EnqueueFunc(Track{UserId: "u1", Event: "Opened", MessageId: fmt.Sprint("m", i)}, func(m QueuedMessage, err error) {
				var failure *Error
				if errors.As(err, &failure) {
					codes[m.MessageId] = failure.Code
				}
			}))
		}
		must(t, c.Close())
		failure := receive(t, f.came)
		if test.first > 0 {
			if !errors.Is(failure.Err, ErrTooDeep) || failure.Messages[0].MessageId != "m1" || codes["m1"] != "too_deep" {
				t.Fatalf("got %+v", failure)
			}
			failure = receive(t, f.came)
		}
		f.none(t)
		if failure.Err.Code != "rejected" || failure.Err.Message != test.message || failure.Status != 200 || len(failure.Messages) != 5-test.first {
			t.Fatalf("got %+v", failure)
		}
		for i := test.first; i < 5; i++ {
			id := fmt.Sprint("m", i)
			if failure.Messages[i-test.first].MessageId != id || codes[id] != "rejected" {
				t.Fatalf("got %v and %+v", codes, failure)
			}
		}
		if codes["m0"] != "" && test.first > 0 {
			t.Fatalf("got %v", codes)
		}
	}
}

func TestUnlistedRejectionsComeAfterAllListedOnesWhateverTheirOrder(t *testing.T) {
	o := outcome{unlisted: 1, rejections: []rejection{{Index: 2}, {Index: 0}}}
	if places := o.unlistedPlaces(4); len(places) != 1 || places[0] != 3 {
		t.Fatalf("got %v", places)
	}
}

func TestRejectedCallsThatAreOnlyCountedAreLogged(t *testing.T) {
	s := newService(t, func(_ int, w http.ResponseWriter, _ *request) {
		_, _ = io.WriteString(w, `{"success":true,"rejectedUnlisted":1}`)
	})
	c, _ := newClient(t, s.URL)
	log := &lines{}
	c.Logger, c.OnFailure = log, nil
	must(t, c.Track(&Track{UserId: "u1", Event: "Opened"}))
	must(t, c.Close())
	if !strings.Contains(log.String(), `1 of 1 call rejected, the first with "rejected": "the service rejected the call"`) {
		t.Fatalf("got %s", log)
	}
}

func TestWhatWasReportedStaysAsItIs(t *testing.T) {
	s := newService(t, status(400))
	c, f := newClient(t, s.URL)
	var kept []Failure
	for i := 0; i < 3; i++ { // the batches reuse the same memory
		must(t, c.Track(&Track{UserId: "u1", Event: "Opened", MessageId: fmt.Sprint("m", i)}))
		must(t, c.Flush(context.Background()))
		kept = append(kept, receive(t, f.came))
	}
	for i, failure := range kept {
		if m := failure.Messages[0]; describe(m.JSON).MessageId != fmt.Sprint("m", i) {
			t.Fatalf("%d became %s", i, m.JSON)
		}
	}
}

func TestA200OfAnotherIsTriedAgain(t *testing.T) {
	for name, answer := range map[string]func(w http.ResponseWriter){
		"a page to log in": func(w http.ResponseWriter) { _, _ = io.WriteString(w, "<html>") },
		"nothing":          func(w http.ResponseWriter) { w.WriteHeader(200) },
		"a body that breaks off": func(w http.ResponseWriter) {
			w.Header().Set("Content-Length", "1000")
			_, _ = io.WriteString(w, `{"success":true,"rejected":[`)
			w.(http.Flusher).Flush()
			hangUp(w)
		},
	} {
		answer := answer
		t.Run(name, func(t *testing.T) {
			s := newService(t, func(n int, w http.ResponseWriter, _ *request) {
				if n <= 2 {
					answer(w)
				}
			})
			c, f := newClient(t, s.URL)
			must(t, c.Track(&Track{UserId: "u1", Event: "Opened"}))
			must(t, c.Close())
			f.none(t)
			if n := len(s.requests); n != 3 {
				t.Fatalf("%d requests", n)
			}
		})
	}
}

func TestA200OfAnotherIsNoSuccessInTheEnd(t *testing.T) {
	s := newService(t, status(200))
	c, f := newClient(t, s.URL)
	c.MaxRetries = -1
	must(t, c.Track(&Track{UserId: "u1", Event: "Opened"}))
	must(t, c.Flush(context.Background()))
	failure := receive(t, f.came)
	if !errors.Is(failure.Err, ErrGaveUp) || failure.Status != 200 || !strings.Contains(failure.Err.Error(), "is Endpoint an address of Sluice?") ||
		!strings.Contains(failure.Err.Error(), " to "+s.URL+"/v1/batch in 1 attempt") {
		t.Fatalf("got %v", failure.Err)
	}
}

func TestWhatIsRefusedIsToldWithItsEndpointAndItsStatusOnce(t *testing.T) {
	const response = `{"code":"no_user_or_anonymous_id","message":"userId or anonymousId is needed."}`
	for body, want := range map[string]string{
		response: "status 400: no_user_or_anonymous_id: userId or anonymousId is needed.",
		"":       "status 400",
	} {
		s := newService(t, func(_ int, w http.ResponseWriter, _ *request) {
			w.WriteHeader(400)
			_, _ = io.WriteString(w, body)
		})
		c, f := newClient(t, s.URL+"/v1/track?writeKey=secret")
		must(t, c.Track(&Track{UserId: "u1", Event: "Opened"}))
		must(t, c.Flush(context.Background()))
		if got := receive(t, f.came).Err.Error(); got != "analytics: rejected: POST "+s.URL+"/v1/track: "+want {
			t.Errorf("got %s", got)
		}
	}
}

// worst is what the caller's code may do at the worst moment, and how it is reported.
var worst = map[string]func(){
	"panicked: at the worst moment": func() { panic("at the worst moment") },
	"ended its goroutine":           runtime.Goexit, // like FailNow of a test
}

func TestACallbackThatDoesNotReturnEndsNothing(t *testing.T) {
	for reported, end := range worst {
		end := end
		t.Run(reported, func(t *testing.T) {
			s := newService(t, status(400))
			c, _ := newClient(t, s.URL)
			log := &lines{}
			called := 0
			c.Logger, c.OnFailure = log, func(Failure) {
				called++
				end()
			}
			for i := 0; i < 3; i++ {
				must(t, c.Track(&Track{UserId: "u1", Event: "Opened"}))
				must(t, c.Flush(context.Background()))
			}
			must(t, c.Close())
			if called != 3 || strings.Count(log.String(), "OnFailure "+reported) != 3 {
				t.Fatalf("called %d times: %s", called, log)
			}
		})
	}
}

func TestACallbackMayMakeCalls(t *testing.T) {
	s := newService(t, func(n int, w http.ResponseWriter, _ *request) {
		if n == 1 {
			w.WriteHeader(400)
		}
	})
	c, _ := newClient(t, s.URL)
	var err error
	c.OnFailure = func(f Failure) {
		err = c.Track(&Track{UserId: "u1", Event: "Failed", MessageId: "again"})
	}
	must(t, c.Track(&Track{UserId: "u1", Event: "Opened", MessageId: "m1"}))
	must(t, c.Flush(context.Background()))
	must(t, err)
	must(t, c.Close())
	s.next(t)
	if ids := s.next(t).ids(t); len(ids) != 1 || ids[0] != "again" {
		t.Fatalf("got %v", ids)
	}
}

func TestWithoutACallbackOneLinePerBatchIsLogged(t *testing.T) {
	s := newService(t, func(n int, w http.ResponseWriter, r *request) {
		if n <= 2 { // with gzip and without
			w.WriteHeader(413)
			_, _ = io.WriteString(w, `{"code":"batch_too_large","message":"A batch may have at most 500 KB."}`)
			return
		}
		rejectsSome(n, w, r)
	})
	c, _ := newClient(t, s.URL)
	log := &lines{}
	c.Logger, c.OnFailure = log, nil
	for batch := 0; batch < 2; batch++ {
		for i := 0; i < 5; i++ {
			must(t, c.Track(&Track{UserId: "u-secret", Event: "Opened", Properties: map[string]any{"card": "4111 1111 1111 1111"}}))
		}
		must(t, c.Flush(context.Background()))
	}
	must(t, c.Close())
	text := log.String()
	if strings.Count(text, "\n") != 2 || !strings.Contains(text, "5 calls lost after 1 attempt") || !strings.Contains(text, "batch_too_large") ||
		strings.Count(text, "analytics:") != 2 || !strings.Contains(text, `2 of 5 calls rejected, the first with "event_not_defined"`) {
		t.Fatalf("got %s", text)
	}
	for _, secret := range []string{"u-secret", "4111 1111 1111 1111", "shop-write-key", "Opened"} {
		if strings.Contains(text, secret) {
			t.Fatalf("%s is in %s", secret, text)
		}
	}
}

type loggerFunc func()

func (f loggerFunc) Printf(string, ...any) { f() }

func TestALoggerThatDoesNotReturnEndsNothing(t *testing.T) {
	for reported, end := range worst {
		t.Run(reported, func(t *testing.T) {
			s := newService(t, status(400))
			c, _ := newClient(t, s.URL)
			c.Logger, c.OnFailure, c.debug = loggerFunc(end), nil, true
			must(t, c.Track(&Track{UserId: "u1", Event: "Opened"}))
			must(t, c.Flush(context.Background()))
			must(t, c.Close())
		})
	}
}

func TestErrorsAreToldByTheirCodes(t *testing.T) {
	cause := errors.New("disk full")
	err := error(ErrNotSerialisable.because("properties.a cannot be written as JSON", cause))
	if !errors.Is(err, ErrNotSerialisable) || !errors.Is(err, cause) || errors.Is(err, ErrTooDeep) || errors.Is(err, (*Error)(nil)) {
		t.Fatal("they are not")
	}
	if got := err.Error(); got != "analytics: not_serialisable: properties.a cannot be written as JSON: disk full" {
		t.Fatalf("got %s", got)
	}
	nested := ErrNotSent.about(1, "could not be sent", ErrGaveUp.because("the batch could not be sent in 1 attempt", ErrTooDeep))
	if got := nested.Error(); got != "analytics: not_sent: 1 call could not be sent: gave_up: the batch could not be sent in 1 attempt: "+
		"too_deep: the call is nested deeper than 64 levels" {
		t.Fatalf("got %s", got)
	}
}
