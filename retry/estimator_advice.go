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

	P50, P99, P999 time.Duration // of holds

	Expired   uint64 // deliveries that nobody answered in time
	Connected uint64 // of them, those whose worker was there
	Lost      uint64 // of them, those that were never answered

	Late              uint64 // of them, those that were answered afterwards
	LateP50, LateMost time.Duration

	// Timeout is what the visibility timeout should be; 0 while fewer than
	// AdviceNeeds deliveries were answered.
	Timeout time.Duration

	curve curve
}

const (
	// AdviceNeeds is how many answers there must be before they say something.
	AdviceNeeds = 50
	// MayRepeat is the share of deliveries that may be repeated because the
	// timeout is too short for them.
	MayRepeat = 0.001
	// margin is for what has not been seen yet; wideMargin is that where what has
	// been seen does not reach to MayRepeat.
	margin, wideMargin = 1.5, 2
)

// Advice says what was learned.
func (e *Estimator) Advice(now int64) Advice {
	e.bury(now)
	a := Advice{Since: e.began()}
	for _, o := range e.open {
		if !o.lost {
			a.Open += o.stands
		}
	}
	holds := e.seen()
	a.Answered, a.curve = holds.answered.total(), newCurve(holds)
	a.P50, a.P99, a.P999 = a.curve.exceeded(0.5), a.curve.exceeded(0.01), a.curve.exceeded(0.001)
	a.Timeout = a.timeout()
	var late histogram
	for _, w := range []*window{&e.before, &e.recent} {
		a.Expired += w.expired
		a.Connected += w.connected
		a.Lost += w.lost
		late.merge(&w.late)
	}
	lateness := newCurve(seen{&late, &histogram{}, nil})
	a.Late, a.LateP50, a.LateMost = late.total(), lateness.exceeded(0.5), lateness.exceeded(0)
	return a
}

func (e *Estimator) began() int64 {
	if e.before.began != 0 {
		return e.before.began
	}
	return e.recent.began
}

// timeout is the hold that few enough deliveries exceed, and a margin.
func (a Advice) timeout() time.Duration {
	if a.Answered < AdviceNeeds {
		return 0
	}
	hold := float64(a.curve.exceeded(MayRepeat))
	if a.Answered < 1/MayRepeat {
		return roundUp(wideMargin * hold)
	}
	return roundUp(margin * hold)
}

// Repeated is the share of deliveries that would be repeated with a timeout,
// while their workers are alive.
func (a Advice) Repeated(timeout time.Duration) float64 { return a.curve.above(timeout) }

// roundUp gives a time of two digits.
func roundUp(ns float64) time.Duration {
	unit := math.Pow(10, math.Floor(math.Log10(ns))-1)
	rounded := math.Ceil(ns/unit) * unit
	if rounded >= math.MaxInt64 {
		return math.MaxInt64
	}
	return time.Duration(rounded)
}
