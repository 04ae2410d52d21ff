package analytics

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"
)

// answerBytes bounds what is read of an answer: 2,500 rejected calls take less than half of it.
const answerBytes = 1 << 20

// A RoundTripper that heeds no context is left behind with its request. So many may be, each with a goroutine and a body; with more
// of them there is no further request until one has ended.
const leftBehind = 8

// endGrace is how long a request may take to end after its time.
const endGrace = 100 * time.Millisecond

// poster makes the requests.
type poster struct {
	target   target
	header   http.Header
	http     http.Client
	own      *http.Transport // nil when the caller gave a client
	timeout  time.Duration   // of one try
	underWay chan struct{}   // holds one for each request that has not ended
}

func newPoster(s *settings) *poster {
	p := &poster{
		target:   s.target,
		timeout:  s.requestTimeout,
		underWay: make(chan struct{}, leftBehind),
		header: http.Header{
			"Authorization": {"Basic " + base64.StdEncoding.EncodeToString([]byte(s.writeKey+":"))},
			"Content-Type":  {"application/json"},
			"User-Agent":    {libraryName + "/" + Version},
		},
	}
	if s.http != nil {
		p.http = *s.http
	} else {
		p.own = newTransport()
		p.http.Transport = p.own
	}
	// a POST that is redirected becomes a GET, or goes where nobody said that the write key may go
	p.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return p
}

func newTransport() *http.Transport {
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true}
	if common, ok := http.DefaultTransport.(*http.Transport); ok {
		transport = common.Clone()
	}
	transport.IdleConnTimeout = 60 * time.Second // below the 75 s of the service, so that it is we who close
	return transport
}

// post makes one request and reads its answer, for left at most. It returns in any case, whatever a RoundTripper of the caller does:
// one that heeds no context is left behind, with a body that nobody writes to.
func (p *poster) post(ctx context.Context, body payload, left time.Duration) answer {
	limit := min(p.timeout, left)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	select {
	case p.underWay <- struct{}{}:
	case <-ctx.Done():
		return answer{err: fmt.Errorf("the HTTP client has not returned from %d requests whose context is done", cap(p.underWay))}
	}
	var a answer
	ended := started(func() {
		defer func() { <-p.underWay }()
		a = p.exchange(ctx, body)
	})
	err, isOver := awaitEnd(ctx, ended)
	switch {
	case !isOver: // it may still write to a
		return answer{err: cause(ctx, limit, ctx.Err())}
	case err != nil:
		return answer{err: fmt.Errorf("the HTTP client %w", err)}
	case a.err != nil: // also of one that broke off: its status says nothing
		return answer{err: cause(ctx, limit, a.err)}
	}
	return a
}

// awaitEnd waits until a request has ended, or should have. Whoever heeds the context gets a moment to end in order.
func awaitEnd(ctx context.Context, ended <-chan error) (err error, isOver bool) {
	select {
	case err = <-ended:
		return err, true
	case <-ctx.Done():
	}
	grace := time.NewTimer(endGrace)
	defer grace.Stop()
	select {
	case err = <-ended:
		return err, true
	case <-grace.C:
		return nil, false
	}
}

func (p *poster) exchange(ctx context.Context, body payload) answer {
	request, err := p.request(ctx, body)
	if err != nil {
		return answer{err: err}
	}
	response, err := p.http.Do(request)
	if err != nil {
		return answer{err: err}
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, answerBytes))
	a := answer{status: response.StatusCode, retryAfter: response.Header.Get("Retry-After"), body: text}
	if err != nil && a.status == http.StatusOK && !a.saysSuccess() {
		a.err = fmt.Errorf("the answer broke off: %w", err)
	}
	return a
}

func (p *poster) request(ctx context.Context, body payload) (*http.Request, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, p.target.url, bytes.NewReader(body.bytes))
	if err != nil {
		return nil, err
	}
	for name, values := range p.header {
		request.Header[name] = values
	}
	if body.encoding != "" {
		request.Header.Set("Content-Encoding", body.encoding)
	}
	return request, nil
}

// cause leaves out the URL, whose query may be secret.
func cause(ctx context.Context, limit time.Duration, err error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("no answer within %v: %w", limit, context.DeadlineExceeded)
	}
	var withURL *url.Error
	if errors.As(err, &withURL) {
		return withURL.Err
	}
	return err
}

// close lets go of idle connections, and so of their goroutines. Those of the caller's client stay.
func (p *poster) close() {
	if p.own != nil {
		p.own.CloseIdleConnections()
	}
}
