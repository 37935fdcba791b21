package retry

import (
	"fmt"
	"iter"
)

// arity is the number of children of a node. With four, a node's children lie
// in one cache line (16 bytes each for a pointer owner), and the tree is half
// as deep as a binary one.
const arity = 4

// shrinkAbove is the capacity up to which a schedule keeps its memory.
const shrinkAbove = 64

// Schedule is one heap of deadlines, earliest first. It costs 16 bytes for a
// pointer owner beside the Deadline inside it, and allocates only to grow.
//
// An owner may sit in several schedules at once, with a Deadline for each; which
// one a schedule uses is told to NewSchedule:
//
//	type message struct{ due, expiry retry.Deadline }
//
//	due    := retry.NewSchedule(func(m *message) *retry.Deadline { return &m.due })
//	expiry := retry.NewSchedule(func(m *message) *retry.Deadline { return &m.expiry })
type Schedule[T any] struct {
	deadline func(T) *Deadline
	slots    []slot[T] // children of i: arity·i+1 … arity·i+arity
}

// slot repeats the time of its owner's deadline, so that comparing two places
// of the heap reads no owner.
type slot[T any] struct {
	at    int64
	owner T
}

// NewSchedule returns an empty schedule. The function deadline returns the
// Deadline inside an owner, always the same one for the same owner.
func NewSchedule[T any](deadline func(T) *Deadline) *Schedule[T] {
	return &Schedule[T]{deadline: deadline}
}

// Set puts t on the schedule for time at, or moves it there.
func (s *Schedule[T]) Set(t T, at int64) {
	d := s.deadline(t)
	d.at = at
	if d.pos == 0 {
		s.slots = append(s.slots, slot[T]{})
		d.pos = len(s.slots)
	}
	s.fix(d.pos-1, slot[T]{at, t})
}

// Remove takes t off the schedule and reports whether it was on it.
func (s *Schedule[T]) Remove(t T) bool {
	d := s.deadline(t)
	if d.pos == 0 {
		return false
	}
	s.take(d.pos - 1)
	return true
}

// Next returns the earliest deadline; ok is false when there is none.
func (s *Schedule[T]) Next() (at int64, ok bool) {
	if len(s.slots) == 0 {
		return 0, false
	}
	return s.slots[0].at, true
}

// Peek returns the owner of the earliest deadline and leaves it where it is; ok
// is false when there is none.
func (s *Schedule[T]) Peek() (t T, ok bool) {
	if len(s.slots) == 0 {
		return t, false
	}
	return s.slots[0].owner, true
}

// Pop takes off and returns the owner of the earliest deadline if it is due,
// that is, not after now; ok is false when nothing is due.
func (s *Schedule[T]) Pop(now int64) (t T, ok bool) {
	if at, some := s.Next(); !some || at > now {
		return t, false
	}
	t = s.slots[0].owner
	s.take(0)
	return t, true
}

// Len returns how many owners are on the schedule.
func (s *Schedule[T]) Len() int { return len(s.slots) }

// All yields every owner on the schedule, in no particular order. The schedule
// must not change meanwhile.
func (s *Schedule[T]) All() iter.Seq[T] {
	return func(yield func(T) bool) {
		for _, x := range s.slots {
			if !yield(x.owner) {
				return
			}
		}
	}
}

// take empties place i and fills the hole with the last slot.
func (s *Schedule[T]) take(i int) {
	s.deadline(s.slots[i].owner).pos = 0
	last := len(s.slots) - 1
	moved := s.slots[last]
	s.slots[last] = slot[T]{} // nothing is kept alive by a vacated place
	s.slots = s.slots[:last]
	if i < last {
		s.fix(i, moved)
	}
	s.shrink()
}

// shrink gives memory back after a burst. It waits until three quarters are
// unused and then keeps half, so neither growing nor shrinking follows soon.
func (s *Schedule[T]) shrink() {
	if c := cap(s.slots); c > shrinkAbove && len(s.slots) <= c/4 {
		s.slots = append(make([]slot[T], 0, c/2), s.slots...)
	}
}

// fix puts x into the heap, beginning at place i, whose content is void.
func (s *Schedule[T]) fix(i int, x slot[T]) {
	if i > 0 && x.at < s.slots[parent(i)].at {
		s.up(i, x)
	} else {
		s.down(i, x)
	}
}

func (s *Schedule[T]) up(i int, x slot[T]) {
	for i > 0 && x.at < s.slots[parent(i)].at {
		s.place(i, s.slots[parent(i)])
		i = parent(i)
	}
	s.place(i, x)
}

func (s *Schedule[T]) down(i int, x slot[T]) {
	for {
		child := s.earliestChild(i)
		if child == 0 || s.slots[child].at >= x.at {
			break
		}
		s.place(i, s.slots[child])
		i = child
	}
	s.place(i, x)
}

// earliestChild returns the place of i's earliest child, the first of equals;
// 0, which is nobody's child, when i has none.
func (s *Schedule[T]) earliestChild(i int) int {
	first := arity*i + 1
	if first >= len(s.slots) {
		return 0
	}
	best := first
	for c := first + 1; c < min(first+arity, len(s.slots)); c++ {
		if s.slots[c].at < s.slots[best].at {
			best = c
		}
	}
	return best
}

func (s *Schedule[T]) place(i int, x slot[T]) {
	s.slots[i] = x
	s.deadline(x.owner).pos = i + 1
}

func parent(i int) int { return (i - 1) / arity }

// Check returns nil if every place of the heap is in order and every owner
// knows its place, else one sentence that names the first that is not. It reads
// everything; it is for tests and invariant checks.
func (s *Schedule[T]) Check() error {
	for i, x := range s.slots {
		d := s.deadline(x.owner)
		switch {
		case d.pos != i+1:
			return fmt.Errorf("schedule: the owner at place %d thinks it is at %d", i+1, d.pos)
		case d.at != x.at:
			return fmt.Errorf("schedule: place %d is set for %d, its owner for %d", i+1, x.at, d.at)
		case i > 0 && x.at < s.slots[parent(i)].at:
			return fmt.Errorf("schedule: place %d is earlier than its parent %d", i+1, parent(i)+1)
		}
	}
	return nil
}
