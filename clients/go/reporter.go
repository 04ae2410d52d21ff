package analytics

// reporter tells of calls that have failed: the callback, or else the log. Nothing is dropped in silence.
type reporter struct {
	onFailure func(Failure)
	journal   journal
}

// report tells of what came of a batch.
func (r *reporter) report(b *batch, o outcome) {
	if o.err != nil {
		r.tell(Failure{Err: o.err, Status: o.status, Tries: o.tries}, b)
	}
	for _, rejected := range o.rejections {
		r.tell(Failure{
			Err:    &Error{Code: rejected.Code, Message: rejected.Message},
			Status: o.status,
			Tries:  o.tries,
		}, b, rejected.Index)
	}
	if n := len(o.rejections); n > 0 && r.onFailure == nil {
		r.journal.printf("%d of %s rejected, the first with %q: %q; set OnFailure to get them",
			n, counted(b.calls(), "call", "calls"), o.rejections[0].Code, o.rejections[0].Message)
	}
	if o.err != nil && r.onFailure == nil {
		r.journal.printf("%s lost after %s: %q; set OnFailure to get them",
			counted(b.calls(), "call", "calls"), counted(o.tries, "try", "tries"), o.err.text())
	}
}

// tell calls the callback. It must not end the sender, so that its panic is only logged.
func (r *reporter) tell(f Failure, b *batch, places ...int) {
	if r.onFailure == nil {
		return
	}
	f.Messages = failedMessages(b, places...)
	if ended := guarded(func() { r.onFailure(f) }); ended != nil {
		r.journal.printf("OnFailure %v", ended)
	}
}
