package retry

import (
	"math"
	"time"
)

// Advice is what an Estimator has learned.
type Advice struct {
	Since    int64  // when what counts began; 0 if nothing does
	Answered uint64 // deliveries whose hold is known
	Open     uint64 // given up, and perhaps still being worked on

	P50, P99, P999 Quantile // of holds

	Expired   uint64 // deliveries that nobody answered in time
	Connected uint64 // of them, those whose worker was there
	Lost      uint64 // of them, those that were never answered

	Late                       uint64 // answers to them
	LateP50, LateP99, LateMost time.Duration

	// Timeout is what the visibility timeout should be; 0 while fewer than
	// AdviceNeeds deliveries were answered.
	Timeout time.Duration

	curve curve
}

// Quantile is a hold that a share of deliveries stays below, or a lower bound of
// it.
type Quantile struct {
	Hold  time.Duration
	Known bool // false: it may be longer
}

const (
	// AdviceNeeds is how many answers there must be before they say something.
	AdviceNeeds = 50
	// MayRepeat is the share of deliveries that may be repeated because the
	// timeout is too short for them.
	MayRepeat = 0.001
	// margin is for what has not been seen yet; wideMargin if what has been seen
	// does not reach to MayRepeat.
	margin, wideMargin = 1.5, 2
)

// Advice says what was learned.
func (e *Estimator) Advice(now int64) Advice {
	e.forget(now)
	both := []*window{&e.before, &e.recent}
	a := Advice{Since: e.began(), Open: uint64(len(e.open)), curve: newCurve(both...)}
	late := window{}
	for _, w := range both {
		a.Answered += w.answered.total()
		a.Expired += w.expired
		a.Connected += w.connected
		a.Lost += w.lost
		late.answered.merge(&w.late)
	}
	a.P50, a.P99, a.P999 = a.curve.quantile(0.5), a.curve.quantile(0.01), a.curve.quantile(0.001)
	a.Late = late.answered.total()
	lateness := newCurve(&late)
	a.LateP50, a.LateP99, a.LateMost = lateness.quantile(0.5).Hold, lateness.quantile(0.01).Hold, lateness.quantile(0).Hold
	a.Timeout = a.timeout()
	return a
}

func (e *Estimator) began() int64 {
	if e.before.began != 0 {
		return e.before.began
	}
	return e.recent.began
}

func (c curve) quantile(share float64) Quantile {
	hold, known := c.below(share)
	return Quantile{hold, known}
}

// merge adds what another histogram has counted.
func (h *histogram) merge(o *histogram) {
	if len(o.counts) == 0 {
		return
	}
	h.reach(o.first)
	h.reach(o.end() - 1)
	for i, n := range o.counts {
		c := &h.counts[o.first-h.first+i]
		*c += min(n, math.MaxUint32-*c)
	}
}

// timeout is the hold that few enough deliveries exceed, and a margin.
func (a *Advice) timeout() time.Duration {
	if a.Answered < AdviceNeeds {
		return 0
	}
	hold, known := a.curve.below(MayRepeat)
	if !known || a.Answered < 1/MayRepeat {
		return roundUp(wideMargin * float64(hold))
	}
	return roundUp(margin * float64(hold))
}

// Repeated is the share of deliveries that would be repeated with a timeout,
// while their workers are alive.
func (a *Advice) Repeated(timeout time.Duration) float64 { return a.curve.above(timeout) }

// roundUp gives a time of two digits.
func roundUp(ns float64) time.Duration {
	unit := math.Pow(10, math.Floor(math.Log10(ns))-1)
	rounded := math.Ceil(ns/unit) * unit
	if rounded >= math.MaxInt64 {
		return math.MaxInt64
	}
	return time.Duration(rounded)
}
