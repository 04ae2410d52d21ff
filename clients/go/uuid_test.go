package analytics

import (
	"regexp"
	"testing"
	"time"
)

func TestIdsAreUUIDsOfVersion7ThatSortByTime(t *testing.T) {
	form := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	var g ids
	at, last := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), ""
	for i := 0; i < 10_000; i++ {
		text, err := g.append(nil, at)
		must(t, err)
		if !form.Match(text) {
			t.Fatalf("%s is none", text)
		}
		if string(text) <= last {
			t.Fatalf("%s comes after %s", text, last)
		}
		last, at = string(text), at.Add(250*time.Nanosecond)
	}
}

func TestAnIdBeginsWithItsMilliseconds(t *testing.T) {
	// the example of RFC 9562, A.6: 2022-02-22T19:22:22Z
	id := uuid7(time.UnixMilli(0x017F22E279B0), 0)
	if got := string(appendUUID(nil, id)); got != "017f22e2-79b0-7000-8000-000000000000" {
		t.Fatalf("got %s", got)
	}
}

func TestIdsOfOneMomentDiffer(t *testing.T) {
	seen := map[string]bool{}
	at := time.Now()
	for n := 0; n < 4; n++ {
		var g ids
		for i := 0; i < 10_000; i++ {
			text, err := g.append(nil, at)
			must(t, err)
			if seen[string(text)] {
				t.Fatalf("%s came twice", text)
			}
			seen[string(text)] = true
		}
	}
}
