package dlq

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Filter picks dead letters. A letter is picked if it fits every field that is
// set; the zero Filter picks all.
type Filter struct {
	Reasons     []Reason      // any of these
	Error       string        // part of the error text, in any case
	Subject     string        // origin subject; NATS wildcards * and >
	OlderThan   time.Duration // died this long ago, or longer
	NewerThan   time.Duration // died less long ago than this
	FirstSeq    uint64        // sequence in the dead-letter queue, inclusive; 0 is open
	LastSeq     uint64        // the same
	OriginQueue string        // the queue it died in
}

// Match reports whether the filter picks letter l, which has sequence seq in its
// dead-letter queue. Ages are reckoned from now, in nanoseconds.
func (f Filter) Match(seq uint64, l *Letter, now int64) bool {
	return f.matchSeq(seq) &&
		f.matchAge(time.Duration(now-l.DiedAt)) &&
		f.matchCause(l) &&
		f.matchOrigin(l)
}

func (f Filter) matchSeq(seq uint64) bool {
	return seq >= f.FirstSeq && (f.LastSeq == 0 || seq <= f.LastSeq)
}

func (f Filter) matchAge(age time.Duration) bool {
	return (f.OlderThan == 0 || age >= f.OlderThan) && (f.NewerThan == 0 || age < f.NewerThan)
}

func (f Filter) matchCause(l *Letter) bool {
	return (len(f.Reasons) == 0 || slices.Contains(f.Reasons, l.Reason)) &&
		(f.Error == "" || strings.Contains(strings.ToLower(l.Error), strings.ToLower(f.Error)))
}

func (f Filter) matchOrigin(l *Letter) bool {
	return (f.OriginQueue == "" || f.OriginQueue == l.OriginQueue) &&
		(f.Subject == "" || MatchSubject(f.Subject, l.OriginSubject))
}

// Validate returns nil, or one sentence that names the first field that is wrong
// and its value. A filter that could pick nothing is wrong.
func (f Filter) Validate() error {
	for _, r := range f.Reasons {
		if r == 0 || r > lastReason {
			return fmt.Errorf("reasons hold %v, which is none", r)
		}
	}
	if f.Subject != "" {
		if err := validatePattern(f.Subject); err != nil {
			return err
		}
	}
	return f.validateRanges()
}

func (f Filter) validateRanges() error {
	switch {
	case f.OlderThan < 0:
		return fmt.Errorf("older_than %v is negative", f.OlderThan)
	case f.NewerThan < 0:
		return fmt.Errorf("newer_than %v is negative", f.NewerThan)
	case f.NewerThan != 0 && f.NewerThan <= f.OlderThan:
		return fmt.Errorf("newer_than %v is not above older_than %v", f.NewerThan, f.OlderThan)
	case f.LastSeq != 0 && f.LastSeq < f.FirstSeq:
		return fmt.Errorf("last_seq %d is below first_seq %d", f.LastSeq, f.FirstSeq)
	}
	return nil
}
