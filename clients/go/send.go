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

// poster makes the requests.
type poster struct {
	target  target
	header  http.Header
	http    http.Client
	own     *http.Transport // nil when the caller gave a client
	timeout time.Duration   // of one try
}

func newPoster(s *settings) *poster {
	p := &poster{
		target:  s.target,
		timeout: s.requestTimeout,
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

// post makes one request and reads its answer. It returns in any case, whatever a RoundTripper of the caller does.
func (p *poster) post(ctx context.Context, body payload) (a answer) {
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	if ended := guarded(func() { a = p.exchange(ctx, body) }); ended != nil {
		return answer{err: fmt.Errorf("the HTTP client %w", ended)}
	}
	return a
}

func (p *poster) exchange(ctx context.Context, body payload) answer {
	request, err := p.request(ctx, body)
	if err != nil {
		return answer{err: err}
	}
	response, err := p.http.Do(request)
	if err != nil {
		return answer{err: p.cause(ctx, err)}
	}
	defer response.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(response.Body, answerBytes)) // where it breaks off it is no JSON
	return answer{status: response.StatusCode, retryAfter: response.Header.Get("Retry-After"), body: text}
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
func (p *poster) cause(ctx context.Context, err error) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return fmt.Errorf("no answer within %v: %w", p.timeout, context.DeadlineExceeded)
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
