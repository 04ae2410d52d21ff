package analytics

import (
	"errors"
	"math"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestAFlushIsDue(t *testing.T) {
	const second = time.Second
	for _, test := range []struct {
		name  string
		facts flushFacts
		want  time.Duration
	}{
		{"never without calls", flushFacts{waiting: 0, flushAt: 20, requested: true, sinceFlush: 9 * second, flushAfter: 5 * second}, never},
		{"at the threshold", flushFacts{waiting: 20, flushAt: 20, flushAfter: 5 * second}, 0},
		{"not below it", flushFacts{waiting: 19, flushAt: 20, flushAfter: 5 * second}, 5 * second},
		{"for each call at the threshold 1", flushFacts{waiting: 1, flushAt: 1, flushAfter: 5 * second}, 0},
		{"after the interval", flushFacts{waiting: 1, flushAt: 20, sinceFlush: 5 * second, flushAfter: 5 * second}, 0},
		{"not before", flushFacts{waiting: 1, flushAt: 20, sinceFlush: 4 * second, flushAfter: 5 * second}, second},
		{"at once when requested", flushFacts{waiting: 1, flushAt: 20, requested: true, flushAfter: 5 * second}, 0},
		{"when there is more than one batch", flushFacts{waiting: 19, flushAt: 20, whole: true, flushAfter: 5 * second}, 0},
	} {
		if got := untilFlush(test.facts); got != test.want {
			t.Errorf("%s: got %v, want %v", test.name, got, test.want)
		}
	}
}

func TestBackoffDoublesUpToItsCapWithFullJitter(t *testing.T) {
	base := 100 * time.Millisecond
	for tries, want := range map[int]time.Duration{
		1: 100 * time.Millisecond, 2: 200 * time.Millisecond, 7: 6400 * time.Millisecond, 8: longestBackoff, 20: longestBackoff, 1e6: longestBackoff,
	} {
		if got := backoff(tries, base, 1); got != want {
			t.Errorf("after %d tries at most %v, want %v", tries, got, want)
		}
		if got := backoff(tries, base, 0); got != 0 {
			t.Errorf("after %d tries at least %v", tries, got)
		}
		if got := backoff(tries, base, 0.5); got != want/2 {
			t.Errorf("after %d tries %v in the middle", tries, got)
		}
	}
	if got := backoff(1, time.Hour, 1); got != longestBackoff {
		t.Errorf("a base of an hour waits %v", got)
	}
}

func TestTheWaitsOfTheDocumentation(t *testing.T) {
	total := time.Duration(0)
	for tries := 1; tries <= DefaultMaxRetries; tries++ {
		total += backoff(tries, DefaultRetryBase, 1)
	}
	if total.Round(time.Second) != 193*time.Second || (total/2).Round(time.Second) != 96*time.Second {
		t.Fatalf("%v at most, %v on average", total, total/2)
	}
}

func TestABatchIsTriedAgainUntilItsRetriesOrItsTimeAreUsedUp(t *testing.T) {
	last := &answer{endpoint: "http://host/v1/batch", status: 503}
	for _, test := range []struct {
		facts retryFacts
		want  string // text of the error
	}{
		{retryFacts{tries: 25, maxRetries: 25}, ""},
		{retryFacts{tries: 26, maxRetries: 25}, "gave_up: the batch could not be sent to http://host/v1/batch in 26 attempts: status 503"},
		{retryFacts{tries: 1, maxRetries: -1}, "gave_up: the batch could not be sent to http://host/v1/batch in 1 attempt: status 503"},
		{retryFacts{tries: 9, maxRetries: 25, elapsed: 40 * time.Minute, wait: 5*time.Minute - 1}, ""},
		{retryFacts{tries: 9, maxRetries: 25, elapsed: 40 * time.Minute, wait: 5 * time.Minute},
			"gave_up: the batch could not be sent to http://host/v1/batch within 45 minutes, in 9 attempts: status 503"},
		{retryFacts{tries: 1, maxRetries: 25, elapsed: time.Second, wait: math.MaxInt64},
			"gave_up: the batch could not be sent to http://host/v1/batch within 45 minutes, in 1 attempt: status 503"},
		{retryFacts{tries: 1, maxRetries: 25, elapsed: 2 * time.Hour}, "gave_up: the batch could not be sent to http://host/v1/batch within 45 minutes, in 1 attempt: status 503"},
	} {
		got := gaveUp(test.facts, last)
		if got == nil != (test.want == "") || got != nil && got.text() != test.want {
			t.Errorf("%+v: got %v", test.facts, got)
		}
	}
}

func TestAnAnswerIsJudgedByItsStatus(t *testing.T) {
	for status, want := range map[int]verdict{
		200: accepted, 201: refused, 202: refused, 204: refused, 301: refused, 302: refused, 304: refused, 307: refused, 308: refused,
		400: refused, 401: refused, 403: refused, 404: refused, 405: refused, 413: refused, 415: refused, 425: refused, 431: refused,
		408: retryLater, 429: retryLater, 500: retryLater, 502: retryLater, 503: retryLater, 504: retryLater, 599: retryLater, 600: refused,
	} {
		if got := (&answer{status: status, body: []byte(success)}).judge(); got != want {
			t.Errorf("%d: got %v, want %v", status, got, want)
		}
	}
	if got := (&answer{err: errors.New("reset")}).judge(); got != retryLater {
		t.Errorf("no answer: got %v", got)
	}
}

func TestA200IsSuccessWhenItSaysSo(t *testing.T) {
	for body, want := range map[string]verdict{
		success: accepted, ` { "more" : [] , "success" : true } `: accepted, `{"success":true,"rejected":[{"index":0,"code":"x"}]}`: accepted,
		"": retryLater, "OK": retryLater, "<html>": retryLater, "true": retryLater, "null": retryLater, "[true]": retryLater, "{}": retryLater,
		`{"success":false}`: retryLater, `{"success":"true"}`: retryLater, `{"success":1}`: retryLater, `{"Success":true}`: retryLater,
		`{"success":true`: retryLater, `{"success":true,"rejected":[{"index"`: retryLater, `{"success":true}{"success":true}`: retryLater,
		`{"data":{"success":true}}`: retryLater, `{"code":"x","message":"m"}`: retryLater,
	} {
		a := &answer{status: 200, body: []byte(body)}
		if got := a.judge(); got != want {
			t.Errorf("%s: got %v, want %v", body, got, want)
		}
		if text := a.reason().Error(); want == retryLater && text != `got 200 without {"success": true}; is Endpoint an address of Sluice?` {
			t.Errorf("%s: the reason is %s", body, text)
		}
	}
}

func TestRetryAfterIsSecondsOrADate(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for header, want := range map[string]time.Duration{
		"": 0, "0": 0, "7": 7 * time.Second, "300": longestRetryAfter, "301": longestRetryAfter, "99999999999999999999": longestRetryAfter,
		"-1": 0, "1.5": 0, "soon": 0, " 7": 0, "+7": 0,
		now.Add(9 * time.Second).Format(http.TimeFormat): 9 * time.Second,
		now.Add(time.Hour).Format(http.TimeFormat):       longestRetryAfter,
		now.Add(-time.Hour).Format(http.TimeFormat):      0,
		now.Add(8 * time.Second).Format(time.RFC850):     8 * time.Second,
	} {
		if got := retryAfterOf(header, now); got != want {
			t.Errorf("%q: got %v, want %v", header, got, want)
		}
	}
}

func TestRejectionsAreReadWhereTheyMakeSense(t *testing.T) {
	const silent = "the service gave no reason"
	for _, test := range []struct {
		body string
		want []rejection
	}{
		{`{"success":true}`, nil},
		{`{"success":true,"rejected":[]}`, nil},
		{`{"success":true,"rejected":[{"index":1,"code":"too_deep","message":"m"}]}`, []rejection{{1, "too_deep", "m"}}},
		{`{"rejected":[{"index":2,"code":"a"},{"index":-1},{"index":3},{"index":2,"code":"b"}]}`, []rejection{{2, "a", silent}}},
		{`{"rejected":[null,7,"x",[],{"index":0,"code":"a"}]}`, []rejection{{0, "a", silent}}},
		{`{"rejected":[{"index":0},{"index":1,"code":7,"message":"m"},{"index":2,"code":"","message":["m"]}]}`,
			[]rejection{{0, "rejected", silent}, {1, "rejected", "m"}, {2, "rejected", silent}}},
		{`{"rejected":[{"code":"a"},{"index":null,"code":"b"},{"index":"1"},{"index":0.5},{"index":1e99},{"index":1.0,"code":"c"}]}`,
			[]rejection{{1, "c", silent}}},
		{`{"rejected":`, nil},
		{`<html>"rejected"</html>`, nil},
		{`{"rejected":"all"}`, nil},
		{``, nil},
	} {
		if got := (&answer{body: []byte(test.body)}).rejections(3); len(got)+len(test.want) > 0 && !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: got %v", test.body, got)
		}
	}
	long := (&answer{body: []byte(`{"rejected":[{"index":0,"message":"` + strings.Repeat("x", 1000) + `"}]}`)}).rejections(1)
	if len(long) != 1 || len(long[0].Message) > 310 {
		t.Error("what the service says is not bounded")
	}
}

func TestAnEndpointWithoutPathMeansTheBatchRoute(t *testing.T) {
	for endpoint, want := range map[string]target{
		"http://host:8080":            {"http://host:8080/v1/batch", "http://host:8080/v1/batch"},
		"http://host:8080/":           {"http://host:8080/v1/batch", "http://host:8080/v1/batch"},
		"https://host/in/v1/import":   {"https://host/in/v1/import", "https://host/in/v1/import"},
		"https://host/v1/batch/":      {"https://host/v1/batch/", "https://host/v1/batch/"},
		"http://host:":                {"http://host:/v1/batch", "http://host:/v1/batch"},
		"http://host:65535/x":         {"http://host:65535/x", "http://host:65535/x"},
		"http://host?writeKey=secret": {"http://host/v1/batch?writeKey=secret", "http://host/v1/batch"},
		"http://[::1]:8080/a%2Fb#":    {"http://[::1]:8080/a%2Fb", "http://[::1]:8080/a%2Fb"},
	} {
		if got, err := parseEndpoint(endpoint); err != nil || got != want {
			t.Errorf("%s: got %v, %v", endpoint, got, err)
		}
	}
	for _, endpoint := range []string{"host", "host:8080", "/v1/batch", "//host/v1/batch", "ftp://host", "http://", "http:///v1/batch", "http://:8080", "http:host", "http://ho st", "http://host:port", "http://host:0", "http://host:65536", "http://host:99999", "http://host:-1", "http://user:secret@host", "\x00"} {
		if got, err := parseEndpoint(endpoint); !errors.Is(err, ErrInvalidEndpoint) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q is taken for %v", endpoint, got)
		}
	}
}
