package retry

import "time"

// curve tells how many deliveries are held for longer than a time: it is a
// product-limit estimate (Kaplan and Meier, 1958). A hold of which only a lower
// bound is known counts up to there, and then like those that are known to be
// longer. Where none is, nothing is known, and it does not count: a worker that
// is silent for longer than any that ever answered is dead rather than slow.
type curve []step

// step is a hold that was seen, and the share of deliveries that are held for
// longer.
type step struct {
	hold   time.Duration
	longer float64
}

// seen is what a curve is made of, by bucket.
type seen struct {
	answered, cut *histogram
	open          map[int]float64 // cut, and counting for less than one each
}

func newCurve(s seen) (c curve) {
	left := 0.0
	for b := range s.answered.end() {
		left += s.at(b)
	}
	longer := 1.0
	for b := range s.answered.end() {
		answered := float64(s.answered.at(b))
		if answered > 0 {
			longer *= max(0, 1-answered/left)
			c = append(c, step{ceiling(b), longer})
		}
		left -= s.at(b)
	}
	return c
}

// at is how many holds were seen in a bucket.
func (s seen) at(b int) float64 {
	return float64(s.answered.at(b)+s.cut.at(b)) + s.open[b]
}

// seen is everything that counts.
func (e *Estimator) seen() seen {
	s := seen{&histogram{}, &histogram{}, map[int]float64{}}
	for _, w := range []*window{&e.before, &e.recent} {
		s.answered.merge(&w.answered)
		s.cut.merge(&w.cut)
	}
	credit := e.credit()
	for _, o := range e.open {
		if o.lost {
			continue
		}
		s.open[bucket(o.hold(o.Deadline))] += credit * float64(o.stands)
	}
	return s
}

// rounding is what sums and products of shares may be off.
const rounding = 1e-9

// exceeded gives the hold that only a share of deliveries exceeds: the longest,
// if that is more than is known, and 0 if nothing is.
func (c curve) exceeded(share float64) (hold time.Duration) {
	for _, s := range c {
		if hold = s.hold; s.longer <= share+rounding {
			break
		}
	}
	return hold
}

// above is the share of deliveries that are held for longer than a time.
func (c curve) above(d time.Duration) float64 {
	longer := 1.0
	for _, s := range c {
		if s.hold > d {
			break
		}
		longer = s.longer
	}
	if longer < rounding {
		return 0
	}
	return longer
}
