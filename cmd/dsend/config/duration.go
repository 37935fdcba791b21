package config

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"dsend/durable/queue"
)

// duration is an element with the bounds least and most; a queue's settings
// have their bounds in queue.Settings.Validate.
func duration(least, most time.Duration) element[time.Duration] {
	return element[time.Duration]{
		name:  "duration",
		must:  "a duration such as 30s",
		takes: []shape{isText, isWhole, isFraction},
		parse: func(text string) (time.Duration, error) {
			d, err := parseDuration(text)
			switch {
			case err != nil:
				return 0, err
			case d < 0 && least >= 0:
				return 0, errors.New("must not be negative")
			case d < least:
				return 0, fmt.Errorf("%s is below %s", formatDuration(d), formatDuration(least))
			case d > most:
				return 0, fmt.Errorf("%s is above %s", formatDuration(d), formatDuration(most))
			}
			return d, nil
		},
		format: formatDuration,
	}
}

// anyDuration leaves the bounds to somebody else.
func anyDuration() element[time.Duration] { return duration(-1<<63, 1<<63-1) }

// parseDuration reads Go's syntax and says what is wrong with other ones.
func parseDuration(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err == nil {
		return d, nil
	}
	if number(text) {
		return 0, fmt.Errorf("%s has no unit: write %ss", quote(text), text)
	}
	if hours := inHours(text); hours != "" {
		return 0, fmt.Errorf("%s: the longest unit is h: write %s", quote(text), hours)
	}
	return 0, fmt.Errorf("%s is not a duration such as 30s or 1h30m", quote(text))
}

var dayForm = regexp.MustCompile(`^(\d{1,4}) ?(d|days?|w|weeks?)$`)

// inHours turns days and weeks into hours, or returns "".
func inHours(text string) string {
	m := dayForm.FindStringSubmatch(text)
	if m == nil {
		return ""
	}
	n, _ := strconv.Atoi(m[1]) // digits
	if m[2][0] == 'w' {
		n *= 7
	}
	return strconv.Itoa(24*n) + "h"
}

// formatDuration is time.Duration.String without the zeros at its end: 10m.
func formatDuration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// longest bounds what can be asked of the server's own clocks.
const longest = queue.MaxDelay
