package analytics

import "time"

// isTime reports whether the service understands text as ISO 8601: a date, or date and time, in extended or basic form,
// with any offset or none, any number of decimals, in the years 0 to 9999.
// (The service takes its own time for one that it does not understand, so that the caller would never know.)
func isTime(text string) bool {
	s := scanner{rest: text}
	year := s.digits(4)
	s.take("-")
	month := s.digits(2)
	s.take("-")
	day := s.digits(2)
	var at clock
	if !s.failed && s.rest != "" {
		at = s.clock()
	}
	return !s.failed && s.rest == "" && isDay(year, month, day) && at.isValid() &&
		inYears(time.Date(year, time.Month(month), day, at.hour, at.minute-at.offset, at.second, 0, time.UTC))
}

// clock is a time of day; offset is that from UTC in minutes.
type clock struct {
	hour, minute, second int
	fraction             bool // of a second, not zero within milliseconds
	offset               int
	invalidOffset        bool
}

func (c clock) isValid() bool {
	midnight := c.hour == 24 && c.minute == 0 && c.second == 0 && !c.fraction
	return (c.hour < 24 || midnight) && c.minute < 60 && c.second < 60 && !c.invalidOffset
}

func isDay(year, month, day int) bool {
	return month >= 1 && month <= 12 && day >= 1 && time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC).Day() == day
}

// inYears compares whole seconds: what is below one never leads out of a year.
func inYears(t time.Time) bool { return t.Year() >= 0 && t.Year() <= 9999 }

// scanner reads a text from its front. Once it has failed it reads nothing more.
type scanner struct {
	rest   string
	failed bool
}

// take skips one byte that is in set, and returns it; 0 when there is none.
func (s *scanner) take(set string) byte {
	if s.failed || s.rest == "" {
		return 0
	}
	for i := 0; i < len(set); i++ {
		if s.rest[0] == set[i] {
			s.rest = s.rest[1:]
			return set[i]
		}
	}
	return 0
}

// digits reads a number of n digits, or fails.
func (s *scanner) digits(n int) int {
	if s.failed || !startsWithDigits(s.rest, n) {
		s.failed = true
		return 0
	}
	value := 0
	for _, digit := range []byte(s.rest[:n]) {
		value = value*10 + int(digit-'0')
	}
	s.rest = s.rest[n:]
	return value
}

func startsWithDigits(text string, n int) bool {
	if len(text) < n {
		return false
	}
	for i := 0; i < n; i++ {
		if text[i] < '0' || text[i] > '9' {
			return false
		}
	}
	return true
}

// clock reads hours and minutes, perhaps seconds with decimals, perhaps an offset.
func (s *scanner) clock() (c clock) {
	if s.take("Tt ") == 0 {
		s.failed = true
	}
	c.hour = s.digits(2)
	s.take(":")
	c.minute = s.digits(2)
	if colon := s.take(":"); colon != 0 || startsWithDigits(s.rest, 2) {
		c.second = s.digits(2)
		if s.take(".,") != 0 {
			c.fraction = s.decimals()
		}
	}
	s.take(" ")
	s.offset(&c)
	return c
}

// decimals skips at least one digit. The service cuts them to milliseconds.
func (s *scanner) decimals() (positive bool) {
	n := 0
	for startsWithDigits(s.rest, 1) {
		digit := s.digits(1)
		positive = positive || n < 3 && digit != 0
		n++
	}
	s.failed = s.failed || n == 0
	return positive
}

func (s *scanner) offset(c *clock) {
	if s.take("Zz") != 0 {
		return
	}
	sign := s.take("+-")
	if sign == 0 {
		return
	}
	hours, minutes := s.digits(2), 0
	s.take(":")
	if startsWithDigits(s.rest, 2) {
		minutes = s.digits(2)
	}
	c.invalidOffset = hours > 23 || minutes > 59
	c.offset = hours*60 + minutes
	if sign == '-' {
		c.offset = -c.offset
	}
}
