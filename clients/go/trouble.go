package analytics

// trouble is what keeps calls from being sent, over all tries and batches until the service answers one for good. The log says once
// that there is some, or nobody would know before the last retry, and once that it is over.
type trouble struct {
	endpoint string // as it may be shown
	journal  journal
	reason   error // of the last try; nil when there is none
	said     bool
}

// met: a batch failed for this reason, and is tried again.
func (t *trouble) met(reason error, calls int) {
	t.reason = reason
	if !t.said {
		t.said = true
		t.journal.printf("%s not sent yet, and tried again: POST %s: %q", counted(calls, "call", "calls"), t.endpoint, textOf(reason))
	}
}

// over: the service has answered.
func (t *trouble) over() {
	t.reason = nil
	if t.said {
		t.said = false
		t.journal.printf("the service answers again: POST %s", t.endpoint)
	}
}
