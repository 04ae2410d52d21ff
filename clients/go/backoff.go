package analytics

import "time"

// longestBackoff bounds the wait between two tries, but for what a Retry-After asks for.
const longestBackoff = 10 * time.Second

// backoff returns how long to wait after so many tries, the first of them being 1: capped exponential backoff
// with full jitter, that is, evenly between nothing and the cap. random is in [0, 1).
func backoff(tries int, base time.Duration, random float64) time.Duration {
	ceiling := longestBackoff
	if doublings := tries - 1; doublings < 30 && base <= longestBackoff>>doublings {
		ceiling = base << doublings
	}
	return time.Duration(random * float64(ceiling))
}
