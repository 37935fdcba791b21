package retry

import "time"

// curve tells how many deliveries are held for longer than a time: it is a
// product-limit estimate (Kaplan and Meier, 1958). A hold of which only a lower
// bound is known counts up to there, and then like those that are known to be
// longer.
type curve []step

// step is a hold that was seen, and the share of deliveries that are held for
// longer.
type step struct {
	hold   time.Duration
	longer float64
}

func newCurve(windows ...*window) (c curve) {
	first, end, left := extent(windows)
	longer := 1.0
	for b := first; b < end; b++ {
		var answered, cut uint64
		for _, w := range windows {
			answered += w.answered.at(b)
			cut += w.cut.at(b)
		}
		if answered > 0 {
			longer *= 1 - float64(answered)/float64(left)
			c = append(c, step{ceiling(b), longer})
		}
		left -= answered + cut
	}
	return c
}

// extent is the range of buckets in use, and how many holds are in them.
func extent(windows []*window) (first, end int, n uint64) {
	first = bucket(1<<63 - 1)
	for _, w := range windows {
		for _, h := range []*histogram{&w.answered, &w.cut} {
			if len(h.counts) > 0 {
				first, end = min(first, h.first), max(end, h.end())
				n += h.total()
			}
		}
	}
	return first, end, n
}

// rounding is what a product of shares may be off.
const rounding = 1e-9

// below gives the hold that only a share of deliveries exceeds. Where too
// little is known of long holds to tell, it is the longest that was seen, and
// known is false.
func (c curve) below(share float64) (hold time.Duration, known bool) {
	for _, s := range c {
		if s.longer <= share+rounding {
			return s.hold, true
		}
		hold = s.hold
	}
	return hold, false
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
