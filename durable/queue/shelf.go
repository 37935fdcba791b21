package queue

// shelf is a map that gives memory back: Go's own keep for ever what they had
// at their fullest. The zero value is empty.
type shelf[K comparable, V any] struct {
	m    map[K]V
	peak int // the most it held since m was made
}

// shelfKept is how many places a shelf keeps in any case.
const shelfKept = 1024

func (s *shelf[K, V]) get(key K) V { return s.m[key] }

func (s *shelf[K, V]) len() int { return len(s.m) }

func (s *shelf[K, V]) set(key K, v V) {
	if s.m == nil {
		s.m = map[K]V{}
	}
	s.m[key] = v
}

// drop takes a key out. When three quarters of the places are empty the rest
// moves to a smaller map: at the most one move for three keys that go.
func (s *shelf[K, V]) drop(key K) {
	s.peak = max(s.peak, len(s.m))
	delete(s.m, key)
	if s.peak <= shelfKept || len(s.m) > s.peak/4 {
		return
	}
	smaller := make(map[K]V, len(s.m))
	for k, v := range s.m {
		smaller[k] = v
	}
	s.m, s.peak = smaller, len(smaller)
}
