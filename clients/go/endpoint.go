package analytics

import "net/url"

const batchPath = "/v1/batch"

// target is where batches go.
type target struct {
	url   string
	shown string // without its query, which may be secret
}

// parseEndpoint takes a request URL. One without a path means the batch route of that host.
func parseEndpoint(endpoint string) (target, *Error) {
	u, err := url.Parse(endpoint)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.Opaque != "" {
		return target{}, ErrInvalidEndpoint // without its text, which may hold a password
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = batchPath
	}
	u.User, u.Fragment = nil, "" // the write key is the user
	return target{url: u.String(), shown: u.Scheme + "://" + u.Host + u.EscapedPath()}, nil
}
