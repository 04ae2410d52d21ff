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

// answerBytes limits what is read of a response: 2,500 rejected calls need less than half of it.
const answerBytes = 1 << 20

// maxAbandoned limits requests that did not end with their context, each of which holds a goroutine and a body.
const maxAbandoned = 8

// endGrace is how long a request may take to end after its deadline.
const endGrace = 100 * time.Millisecond

type poster struct {
	target    target
	header    http.Header
	http      http.Client
	transport *http.Transport // nil if the caller has set HTTPClient
	timeout   time.Duration   // of one attempt
	inFlight  chan struct{}   // one entry per request that has not ended
}

func newPoster(s *settings) *poster {
	p := &poster{
		target:   s.target,
		timeout:  s.requestTimeout,
		inFlight: make(chan struct{}, maxAbandoned),
		header: http.Header{
			"Authorization": {"Basic " + base64.StdEncoding.EncodeToString([]byte(s.writeKey+":"))},
			"Content-Type":  {"application/json"},
			"User-Agent":    {libraryName + "/" + Version},
		},
	}
	if s.http != nil {
		p.http = *s.http
	} else {
		p.transport = newTransport()
		p.http.Transport = p.transport
	}
	// a redirected POST becomes a GET, or sends the write key to an unknown server
	p.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return p
}

func newTransport() *http.Transport {
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true}
	if common, ok := http.DefaultTransport.(*http.Transport); ok {
		transport = common.Clone()
	}
	transport.IdleConnTimeout = 60 * time.Second // less than the service's 75 s, so that the client closes first
	return transport
}

// post makes one request and reads the response, within left. If the caller's RoundTripper ignores its context, the request is
// abandoned.
func (p *poster) post(ctx context.Context, body payload, left time.Duration) answer {
	limit := min(p.timeout, left)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	select {
	case p.inFlight <- struct{}{}:
	case <-ctx.Done():
		return answer{err: fmt.Errorf("the HTTP client has not returned from %d requests whose context is done", cap(p.inFlight))}
	}
	var a answer
	client := p.http // a copy: an abandoned request may still use it after renew
	ended := started(func() {
		defer func() { <-p.inFlight }()
		a = p.exchange(ctx, &client, body)
	})
	err, isOver := awaitEnd(ctx, ended)
	if ctx.Err() != nil {
		p.renew()
	}
	switch {
	case !isOver: // the request may still write to a
		return answer{err: cause(ctx, limit, ctx.Err())}
	case err != nil:
		return answer{err: fmt.Errorf("the HTTP client %w", err)}
	case a.err != nil: // also if the response broke off: its status is meaningless
		return answer{err: cause(ctx, limit, a.err)}
	}
	return a
}

// awaitEnd waits until a request has ended, or until shortly after its deadline.
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

func (p *poster) exchange(ctx context.Context, client *http.Client, body payload) answer {
	request, err := p.request(ctx, body)
	if err != nil {
		return answer{err: err}
	}
	response, err := client.Do(request)
	if err != nil {
		return answer{err: err}
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusSwitchingProtocols {
		// its body is the connection, which has no end and ignores the context
		return answer{status: response.StatusCode}
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, answerBytes))
	a := answer{status: response.StatusCode, retryAfter: response.Header.Get("Retry-After"), body: text}
	if err != nil && a.status == http.StatusOK && !a.saysSuccess() {
		a.err = fmt.Errorf("the response broke off: %w", err)
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

// cause removes the URL, whose query may be secret.
func cause(ctx context.Context, limit time.Duration, err error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("no response within %v: %w", limit, context.DeadlineExceeded)
	}
	var withURL *url.Error
	if errors.As(err, &withURL) {
		return withURL.Err
	}
	return err
}

// renew gives the next attempt a new connection. A timeout does not close an HTTP/2 connection, so all retries could
// use a dead one.
func (p *poster) renew() {
	if p.transport == nil {
		return
	}
	old := p.transport
	p.transport = old.Clone()
	p.http.Transport = p.transport
	// the request has returned, but its HTTP/2 stream may need a moment to end: until then, the connection is not idle
	time.AfterFunc(endGrace, old.CloseIdleConnections)
}

// close closes idle connections, except those of the caller's HTTPClient.
func (p *poster) close() {
	if p.transport != nil {
		p.transport.CloseIdleConnections()
	}
}
