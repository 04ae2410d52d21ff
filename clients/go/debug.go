package analytics

import (
	"os"
	"strings"
)

// Logger is where a client writes; *log.Logger is one. It must take calls from many goroutines.
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

// journal writes lines. A logger that panics, or ends its goroutine, does no harm.
type journal struct {
	logger Logger
	debug  bool
}

func (j journal) printf(format string, values ...any) {
	_ = guarded(func() { j.logger.Printf("analytics: "+format, values...) })
}

// debugf is for DEBUG=analytics. It must never be given values of a call but its type, messageId and size.
func (j journal) debugf(format string, values ...any) {
	if j.debug {
		j.printf(format, values...)
	}
}
