package analytics

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

// Logger receives a client's log lines, for example a *log.Logger. It must be safe for concurrent use.
type Logger interface {
	Printf(format string, values ...any)
}

// isDebug reads the environment variable DEBUG: a list of names, or * for all.
func isDebug() bool {
	names := strings.FieldsFunc(os.Getenv("DEBUG"), func(r rune) bool { return r == ',' || r == ' ' })
	for _, name := range names {
		if name == "analytics" || name == "*" {
			return true
		}
	}
	return false
}

// journal writes log lines. It survives a logger that panics or ends its goroutine.
type journal struct {
	logger Logger
	debug  bool
}

func (j journal) printf(format string, values ...any) {
	_ = guarded(func() { j.logger.Printf("analytics: "+format, values...) })
}

// errorf writes a failure, as an error if the logger distinguishes them.
func (j journal) errorf(format string, values ...any) {
	if logger, has := j.logger.(interface{ Errorf(string, ...any) }); has {
		_ = guarded(func() { logger.Errorf("analytics: "+format, values...) })
		return
	}
	j.printf(format, values...)
}

// debugf writes for DEBUG=analytics and Verbose. Of a call, pass only its type, messageId and size.
func (j journal) debugf(format string, values ...any) {
	if j.debug {
		j.printf(format, values...)
	}
}

// outage is a time in which calls cannot be sent, from the first failed attempt until the service gives a final answer. It is logged
// when it starts and when it ends.
type outage struct {
	endpoint string // without secrets
	journal  journal
	reason   error // of the last attempt; nil if there is no outage
	logged   bool
}

// start: an attempt failed, and the batch is retried.
func (o *outage) start(reason error, calls int) {
	o.reason = reason
	if !o.logged {
		o.logged = true
		o.journal.errorf("%s not sent yet, retrying: POST %s: %q", counted(calls, "call", "calls"), o.endpoint, textOf(reason))
	}
}

// end: the service has responded.
func (o *outage) end() {
	o.reason = nil
	if o.logged {
		o.logged = false
		o.journal.printf("the service responds again: POST %s", o.endpoint)
	}
}

// guarded runs a function of the caller. It returns an error if that panics or ends its goroutine (runtime.Goexit, for example by
// FailNow of a test).
func guarded(run func()) error { return <-started(run) }

// started is guarded without waiting: the channel gets the result.
func started(run func()) <-chan error {
	ended := make(chan error, 1)
	go func() {
		returned := false
		defer func() {
			if p := recover(); p != nil {
				ended <- fmt.Errorf("panicked: %v", p)
			} else if !returned {
				ended <- errors.New("ended its goroutine")
			} else {
				ended <- nil
			}
		}()
		run()
		returned = true
	}()
	return ended
}
