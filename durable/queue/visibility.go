package queue

import (
	"cmp"
	"time"

	"dsend/retry"
)

// timeout is the visibility timeout of the queue itself: neither message nor
// consumer has one of its own.
func (q *queue) timeout() time.Duration {
	s := &q.settings
	if !s.VisibilityAuto {
		return s.VisibilityTimeout
	}
	return s.VisibilityRange().Clamp(cmp.Or(q.auto, s.VisibilityTimeout))
}

// VisibilityRange is where an automatic visibility timeout may be.
func (s *Settings) VisibilityRange() retry.Range {
	return retry.Range{Min: s.VisibilityMin, Max: s.VisibilityMax}
}

// reviewEvery is how often an automatic timeout is looked at, at the most.
const reviewEvery = 5 * time.Second

// review lets an automatic timeout follow what was learned. It is looked at when
// an answer has told how long something takes, so that no queue needs a clock
// for it.
func (s *State) review(q *queue, out *Out) {
	h := q.holds
	if !q.settings.VisibilityAuto || s.now < h.review {
		return
	}
	h.review = s.now + int64(reviewEvery)
	was, advised := q.timeout(), h.Advice(s.now).Timeout
	is := q.settings.VisibilityRange().Follow(was, advised, Age(s.now, h.kept))
	if is == was {
		return
	}
	h.kept = s.now
	r := q.record()
	r.auto = is
	emit(s, out, r)
	out.tell(Event{Kind: EventVisibility, At: s.now, Queue: q.name, From: was, To: is})
}

// Advice is what is known of how long deliveries stay unanswered, and what the
// visibility timeout should be.
type Advice = retry.Advice

// Advice gives what a queue's deliveries say of its visibility timeout.
func (s *State) Advice(name string) (Advice, *Error) {
	q := s.byName[name]
	switch {
	case q == nil:
		return Advice{}, noQueue(name)
	case q.holds == nil:
		return Advice{}, nil
	}
	return q.holds.Advice(s.now), nil
}
