package analytics

import (
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
		timeout: s.edges.tryTimeout,
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

// post makes one request and reads its answer to the end. It never panics, whatever a RoundTripper of the caller does.
func (p *poster) post(ctx context.Context, body *payload) (a answer) {
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	defer func() {
		if r := recover(); r != nil {
			a = answer{err: fmt.Errorf("the HTTP client panicked: %v", r)}
		}
	}()
	request, err := p.request(ctx, body)
	if err != nil {
		return answer{err: err}
	}
	response, err := p.http.Do(request)
	if err != nil {
		return answer{err: p.cause(ctx, err)}
	}
	defer response.Body.Close()
	a = answer{status: response.StatusCode, retryAfter: response.Header.Get("Retry-After")}
	a.body, _ = io.ReadAll(io.LimitReader(response.Body, answerBytes)) // the status says all that is needed
	return a
}

func (p *poster) request(ctx context.Context, body *payload) (*http.Request, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, p.target.url, nil)
	if err != nil {
		return nil, err
	}
	for name, values := range p.header {
		request.Header[name] = values
	}
	if body.encoding != "" {
		request.Header.Set("Content-Encoding", body.encoding)
	}
	request.ContentLength = int64(len(body.bytes))
	request.GetBody = func() (io.ReadCloser, error) { return body.reader(), nil }
	request.Body = body.reader()
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
