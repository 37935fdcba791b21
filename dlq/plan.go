package dlq

import (
	"fmt"
	"math"
	"time"
)

// The slowest and the fastest rate a plan may have, in letters per second: one a
// day, and one in each nanosecond.
const (
	MinRate = 1.0 / (24 * 60 * 60)
	MaxRate = 1e9
)

// Plan is a replay of many letters: which, where to, how fast, and how far it
// has come. It does nothing itself. Its owner goes through the dead-letter queue
// in order of sequence and asks:
//
//	for each letter after plan.Scanned, while not plan.Done():
//	    if plan.Picks(seq, letter) {
//	        if plan.Take(now, 1) == 0 { come back at plan.Next(now) }
//	        replay it
//	    }
//	    plan.Scan(seq)
//	plan.Scan(plan.Before) when there is no further letter
//
// A plan that was written down and read again goes on where it was; all it
// forgets is the pause after the last letter taken.
type Plan struct {
	Filter Filter  `json:"filter"`
	Target string  `json:"target,omitempty"` // the queue to replay to; "" is each letter's origin
	Limit  int     `json:"limit,omitempty"`  // letters at most; 0 is all
	Rate   float64 `json:"rate,omitempty"`   // letters per second; 0 is unlimited
	Before uint64  `json:"before"`           // the last sequence looked at: what died later stays
	Began  int64   `json:"began"`            // when it began, in nanoseconds; ages are reckoned from here

	Scanned uint64 `json:"scanned"` // the last sequence that was looked at
	Taken   int    `json:"taken"`   // letters taken so far

	next int64 // when the next letter may be taken
}

// Validate returns nil, or one sentence that names the first field that is wrong
// and its value.
func (p *Plan) Validate() error {
	switch {
	case p.Limit < 0:
		return fmt.Errorf("limit %d is negative", p.Limit)
	case p.Rate != 0 && !(p.Rate >= MinRate && p.Rate <= MaxRate): // NaN too
		return fmt.Errorf("rate %v is neither 0 nor from one a day to %v a second", p.Rate, MaxRate)
	}
	return p.Filter.Validate()
}

// Picks reports whether letter l, with sequence seq, is one to replay.
func (p *Plan) Picks(seq uint64, l *Letter) bool {
	return seq <= p.Before && p.Filter.Match(seq, l, p.Began)
}

// Scan notes that every letter up to seq has been looked at.
func (p *Plan) Scan(seq uint64) { p.Scanned = max(p.Scanned, seq) }

// Done reports whether there is nothing left to do: the limit is used up, or the
// end was reached.
func (p *Plan) Done() bool {
	return p.left() == 0 || p.Scanned >= p.Before
}

// Take returns how many of want letters may be replayed now, in nanoseconds, and
// counts them as taken.
func (p *Plan) Take(now int64, want int) int {
	n := max(0, min(want, p.left(), p.allowed(now)))
	if n > 0 && p.Rate > 0 {
		p.next = max(p.start(), now-second) + int64(math.Ceil(float64(n)*float64(second)/p.Rate))
	}
	p.Taken += n
	return n
}

// Next returns when, not before now, Take will next give a letter; ok is false
// when the plan is done.
func (p *Plan) Next(now int64) (at int64, ok bool) {
	if p.Done() {
		return 0, false
	}
	if p.Rate == 0 {
		return now, true
	}
	return max(now, p.start()), true
}

// second is also how much of a pause may be caught up.
const second = int64(time.Second)

// left is how many letters the limit still allows.
func (p *Plan) left() int {
	if p.Limit == 0 {
		return math.MaxInt
	}
	return max(0, p.Limit-p.Taken)
}

// allowed is how many letters the rate allows now: one when its time has come,
// and those of the time since, up to a second's worth.
func (p *Plan) allowed(now int64) int {
	if p.Rate == 0 {
		return math.MaxInt
	}
	late := min(now-p.start(), second)
	if late < 0 {
		return 0
	}
	return 1 + int(float64(late)*p.Rate/float64(second))
}

// start is when the next letter may be taken; the first one at once.
func (p *Plan) start() int64 { return max(p.next, p.Began) }
