package analytics

import (
	"net/url"
	"strconv"
)

const batchPath = "/v1/batch"

// target is where batches go.
type target struct {
	url   string
	shown string // without its query, which may be secret
}

// parseEndpoint takes a request URL. One without a path means the batch route of that host.
func parseEndpoint(endpoint string) (target, *Error) {
	u, err := url.Parse(endpoint)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.Opaque != "" || u.User != nil {
		return target{}, ErrInvalidEndpoint // without its text, which may hold a password; the write key is the user
	}
	if port := u.Port(); port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return target{}, ErrInvalidEndpoint
		}
	}
	if u.Path == "" || u.Path == "/" {
		u.Path = batchPath
	}
	u.Fragment = ""
	return target{url: u.String(), shown: u.Scheme + "://" + u.Host + u.EscapedPath()}, nil
}
