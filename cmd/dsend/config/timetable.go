package config

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"dsend/durable/queue"
	"dsend/retry"
)

// shown is how many waits a timetable lists.
const shown = 12

// exact is how many waits are added up one by one.
const exact = 10_000

// Timetable is when the attempts of a message come if each of them fails.
type Timetable struct {
	// Attempts is how many there are, the first included; 0 is unlimited.
	Attempts int `json:"attempts"`
	// Waits are those between the first attempts, jitter not cut off.
	Waits []string `json:"waits"`
	// More is the longest of the waits not listed; empty if all are listed.
	More string `json:"more,omitempty"`
	// Waiting is the sum of all waits, the listed and the others: a message is
	// dead after this time at the latest if each attempt fails at once. Empty is
	// never.
	Waiting string `json:"waiting,omitempty"`
	// Unanswered is when it is dead at the latest if no attempt is ever
	// answered. Empty is never.
	Unanswered string `json:"unanswered,omitempty"`
	// Dropped messages go nowhere instead of into a dead-letter queue.
	Dropped bool `json:"dropped"`
}

// timetable is that of a queue.
func timetable(s queue.Settings) Timetable {
	attempts := s.MaxAttempts
	t := Timetable{Attempts: attempts, Waits: []string{}, Dropped: !s.DeadLetter.Enabled}
	listed := shown + 1
	if attempts > 0 {
		listed = min(listed, attempts)
	}
	for _, d := range s.Backoff.Timetable(listed) {
		t.Waits = append(t.Waits, formatDuration(d))
	}
	if attempts == 0 || attempts > listed {
		_, last := s.Backoff.Bounds(longestWait(attempts))
		t.More = formatDuration(last)
	}
	if attempts > 0 {
		waiting := total(s.Backoff, attempts-1)
		t.Waiting = formatLong(waiting)
		t.Unanswered = formatLong(waiting + float64(attempts)*float64(longestVisibility(s)))
	}
	return t
}

// longestWait is the attempt whose wait is the longest; backoffs never shrink,
// but for lists, whose last entry is what repeats.
func longestWait(attempts int) int {
	if attempts == 0 {
		return math.MaxInt
	}
	return attempts - 1
}

// total adds up the waits after n failed attempts, in nanoseconds. Once they
// have stopped growing, or have gone on for long, the rest are taken for the
// last one: the sum is never too small.
func total(p retry.Policy, n int) float64 {
	sum := 0.0
	_, last := p.Bounds(n)
	for i := 1; i <= n; i++ {
		_, d := p.Bounds(i)
		if i > exact || d == last && i >= len(p.List) {
			return sum + float64(n-i+1)*float64(last)
		}
		sum += float64(d)
	}
	return sum
}

// formatLong writes a sum that may be longer than a time.Duration can be.
func formatLong(ns float64) string {
	if ns >= math.MaxInt64 {
		return "292 years or more"
	}
	return formatDuration(time.Duration(ns))
}

// String is the timetable on one line:
//
//	try 1, +1s, +2s, +4s, +8s: dead after 15s at the latest, plus the tries (2m45s if none is answered)
func (t Timetable) String() string {
	tries := append([]string{"try 1"}, t.Waits...)
	for i := 1; i < len(tries); i++ {
		tries[i] = "+" + tries[i]
	}
	line := strings.Join(tries, ", ")
	end := "dead"
	if t.Dropped {
		end = "dropped"
	}
	switch {
	case t.Attempts == 0:
		return line + ", then every " + t.More + ": never " + end
	case t.Attempts == 1:
		return line + ": " + end + " when it fails (" + t.Unanswered + " if it is not answered)"
	case t.More != "":
		line += ", … up to +" + t.More + ", " + strconv.Itoa(t.Attempts) + " tries"
	}
	return fmt.Sprintf("%s: %s after %s at the latest, plus the tries (%s if none is answered)",
		line, end, t.Waiting, t.Unanswered)
}
