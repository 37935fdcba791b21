package retry

import "iter"

// All gives what is scheduled, in no particular order. The schedule must not
// change meanwhile.
func (s *Schedule[T]) All() iter.Seq[T] {
	return func(yield func(T) bool) {
		for i := range s.slots {
			if !yield(s.slots[i].owner) {
				return
			}
		}
	}
}
