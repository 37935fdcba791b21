package retry

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// MaxDelay is the longest delay a policy may ask for: ten years, leap days
// included, so that any ten years of the calendar fit.
const MaxDelay = 3653 * 24 * time.Hour

// Policy says how long a message waits after a failed attempt. It is either
// exponential (Initial, Factor, Max) or a List. It is a value: nobody changes
// List once the policy is in use.
type Policy struct {
	// Initial is the delay after the first attempt. 0 is legal and means that
	// every retry comes at once, because nothing grows from 0.
	Initial time.Duration
	// Factor multiplies the delay from one attempt to the next; 1 or more.
	Factor float64
	// Max caps the delay; at least Initial, at most MaxDelay.
	Max time.Duration
	// Jitter is the part of the delay, from 0 to below 1, that may be cut off.
	// It only shortens: a delay d becomes one in [d·(1−Jitter), d].
	Jitter float64
	// List, when not empty, replaces Initial, Factor and Max: entry n is the
	// delay after attempt n, and the last one repeats. An entry may be 0.
	List []time.Duration
}

// Default returns the policy of a queue that sets none: 1s, 2s, 4s, … up to
// 10 minutes, shortened by up to 20 %.
func Default() Policy {
	return Policy{Initial: time.Second, Factor: 2, Max: 10 * time.Minute, Jitter: 0.2}
}

// Delay returns how long message id waits after its attempt has failed.
// Attempts count from 1; a lower number is taken as 1. The result is a pure
// function of its arguments and lies within Bounds(attempt).
func (p Policy) Delay(attempt int, id uint64) time.Duration {
	lo, hi := p.Bounds(attempt)
	return hi - time.Duration(spread(hash(id, uint64(attempt)), uint64(hi-lo)))
}

// Bounds returns the shortest and the longest delay after attempt, both
// inclusive. The longest is the delay without jitter.
func (p Policy) Bounds(attempt int) (lo, hi time.Duration) {
	hi = p.full(attempt)
	// A delay of months has more digits than a float64. Even so, lo is not below
	// zero: Jitter is below 1, so the product is at most the float before hi.
	return hi - time.Duration(float64(hi)*p.Jitter), hi
}

// Timetable returns the delays without jitter after attempts 1 to attempts−1,
// after the last of which a message is dead. It is empty for one attempt, and
// for 0, which means unlimited elsewhere: then the caller says how many to show.
func (p Policy) Timetable(attempts int) []time.Duration {
	var delays []time.Duration
	for n := 1; n < attempts; n++ {
		delays = append(delays, p.full(n))
	}
	return delays
}

// full returns the delay after attempt without jitter.
func (p Policy) full(attempt int) time.Duration {
	attempt = max(attempt, 1)
	if len(p.List) > 0 {
		return p.List[min(attempt, len(p.List))-1]
	}
	if attempt == 1 || p.Initial == 0 {
		return p.Initial // not rounded to a float; and 0·∞ never comes up
	}
	grown := float64(p.Initial) * math.Pow(p.Factor, float64(attempt-1))
	if grown >= float64(p.Max) { // also +Inf, which is where the power ends
		return p.Max
	}
	return max(p.Initial, time.Duration(grown)) // a float may round down
}

// Validate returns nil, or one sentence that names the first field that is
// wrong and its value. With a List the fields it replaces are not looked at.
func (p Policy) Validate() error {
	if !(p.Jitter >= 0 && p.Jitter < 1) { // written so that NaN is refused
		return fmt.Errorf("jitter %v is not from 0 to below 1", p.Jitter)
	}
	if len(p.List) > 0 {
		return validateList(p.List)
	}
	return p.validateGrowth()
}

func (p Policy) validateGrowth() error {
	switch {
	case p.Initial < 0:
		return fmt.Errorf("initial %v is negative", p.Initial)
	case !(p.Factor >= 1) || math.IsInf(p.Factor, 1):
		return fmt.Errorf("factor %v is not a number of 1 or more", p.Factor)
	case p.Max < p.Initial:
		return fmt.Errorf("max %v is below initial %v", p.Max, p.Initial)
	case p.Max > MaxDelay:
		return fmt.Errorf("max %v is above 10 years (%v)", p.Max, MaxDelay)
	}
	return nil
}

func validateList(list []time.Duration) error {
	for i, d := range list {
		switch {
		case d < 0:
			return fmt.Errorf("list entry %d, %v, is negative", i+1, d)
		case d > MaxDelay:
			return fmt.Errorf("list entry %d, %v, is above 10 years (%v)", i+1, d, MaxDelay)
		}
	}
	return nil
}

// String returns the policy in short, for people: "1s ×2 ≤10m −20%" or
// "[1s 5s 1m] −20%". The percentage is left out when there is no jitter.
func (p Policy) String() string {
	return p.shape() + p.jitterString()
}

func (p Policy) shape() string {
	if len(p.List) == 0 {
		return fmt.Sprintf("%s ×%v ≤%s", short(p.Initial), p.Factor, short(p.Max))
	}
	words := make([]string, len(p.List))
	for i, d := range p.List {
		words[i] = short(d)
	}
	return "[" + strings.Join(words, " ") + "]"
}

func (p Policy) jitterString() string {
	if p.Jitter == 0 {
		return ""
	}
	return " −" + strconv.FormatFloat(p.Jitter*100, 'g', 4, 64) + "%"
}

// short is Duration.String without the zeros at its end: 10m, not 10m0s.
func short(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}
