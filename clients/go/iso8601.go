package analytics

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

const (
	isoDate   = `(\d{4})-?(\d\d)-?(\d\d)`
	isoClock  = `(\d\d):?(\d\d)(?::?(\d\d)(?:[.,](\d+))?)?`
	isoOffset = `(?:[Zz]|([+-])(\d\d):?(\d\d)?)`
)

var iso8601 = regexp.MustCompile(`^` + isoDate + `(?:[Tt ]` + isoClock + ` ?` + isoOffset + `?)?$`)

// isTime reports whether the service accepts text as ISO 8601: a date, or date and time, in extended or basic form, with any offset or
// none, any number of decimals, in the years 1 to 9999. The service replaces other timestamps with its own time.
func isTime(text string) bool {
	if isUsual(text) {
		return true
	}
	parts := iso8601.FindStringSubmatch(text)
	if parts == nil {
		return false
	}
	number := func(part int) int {
		n, _ := strconv.Atoi(parts[part]) // digits, or empty
		return n
	}
	year, month, day := number(1), time.Month(number(2)), number(3)
	hour, minute, second := number(4), number(5), number(6)
	// 24:00 is the end of a day; the service truncates decimals to milliseconds
	isMidnight := minute == 0 && second == 0 && strings.Trim(parts[7][:min(3, len(parts[7]))], "0") == ""
	if hour > 24 || hour == 24 && !isMidnight || minute > 59 || second > 59 || number(9) > 23 || number(10) > 59 {
		return false
	}
	offset := number(9)*60 + number(10)
	if parts[8] == "-" {
		offset = -offset
	}
	// time.Date reads 30 February as 2 March, and month 13 as January
	local, utc := time.Date(year, month, day, 0, 0, 0, 0, time.UTC), time.Date(year, month, day, hour, minute-offset, second, 0, time.UTC)
	return local.Month() == month && local.Day() == day && utc.Year() >= 1 && utc.Year() <= 9999
}

// isUsual recognizes the most common form, RFC 3339 in UTC, at a fraction of the cost. time.Parse accepts more than the service, but
// only hours of one digit and offsets, which are excluded here.
func isUsual(text string) bool {
	const colon = len("2006-01-02T15")
	if len(text) <= colon || text[colon] != ':' || text[len(text)-1] != 'Z' {
		return false
	}
	at, err := time.Parse(time.RFC3339, text)
	return err == nil && at.Year() >= 1
}
