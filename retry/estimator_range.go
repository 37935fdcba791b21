package retry

import "time"

// Range is where a timeout may be that follows an Advice.
type Range struct{ Min, Max time.Duration }

// A timeout that is too short repeats work; one that is too long only makes a
// dead worker's message wait. So it goes up as soon as that is worth a change,
// and down by steps, after a rest.
const (
	worthRaising  = 1.25
	worthLowering = 0.7
	rest          = 10 * time.Minute
	deepest       = 2 // goes down to half at the most
)

// Clamp gives the nearest timeout in the range.
func (r Range) Clamp(d time.Duration) time.Duration { return min(max(d, r.Min), r.Max) }

// Follow gives the timeout to go on with, if there is one that was kept for
// some time and another is advised; 0 is no advice.
func (r Range) Follow(timeout, advised, kept time.Duration) time.Duration {
	if advised == 0 {
		return timeout
	}
	advised = r.Clamp(advised)
	up, down := float64(timeout)*worthRaising, float64(timeout)*worthLowering
	switch {
	case float64(advised) >= up, advised > timeout && advised == r.Max:
		return advised
	case kept < rest:
	case float64(advised) <= down:
		return max(advised, timeout/deepest)
	case advised < timeout && advised == r.Min:
		return advised
	}
	return timeout
}
