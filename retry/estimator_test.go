package retry

import (
	"math"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// anyTime draws durations of all sizes, short ones as often as long ones.
func anyTime() *rapid.Generator[time.Duration] {
	return rapid.Custom(func(t *rapid.T) time.Duration {
		return time.Duration(rapid.Int64Range(0, math.MaxInt64).Draw(t, "ns") >> rapid.IntRange(0, 62).Draw(t, "shift"))
	})
}

// The end of a bucket is above what is in it, and by a sixteenth at the most.
func TestBucketsAreASixteenthWide(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := anyTime().Draw(t, "d")
		b, end := bucket(d), ceiling(bucket(d))
		if d >= end && end != math.MaxInt64 || b > 0 && d < ceiling(b-1) {
			t.Fatalf("%s is in bucket %d, from %s to %s", d, b, ceiling(b-1), end)
		}
		if width := float64(end - ceiling(b-1)); b > fine && end != math.MaxInt64 && width > float64(d)/fine+1 {
			t.Fatalf("bucket %d of %s is %s wide", b, d, time.Duration(width))
		}
	})
	if b := bucket(math.MaxInt64); b >= 660 {
		t.Errorf("%d buckets", b)
	}
	if bucket(-time.Second) != 0 {
		t.Error("a negative duration is not the shortest")
	}
}

func TestHistogramCounts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var h, a, b histogram
		want := map[int]uint64{}
		for _, d := range rapid.SliceOf(anyTime()).Draw(t, "times") {
			h.add(d, 2)
			want[bucket(d)] += 2
			a.add(d, 1)
			b.add(d, 1)
		}
		a.merge(&b)
		sum := uint64(0)
		for i := range 700 {
			if h.at(i) != want[i] || a.at(i) != want[i] {
				t.Fatalf("bucket %d has %d, and merged %d, not %d", i, h.at(i), a.at(i), want[i])
			}
			sum += want[i]
		}
		if h.total() != sum {
			t.Fatalf("%d counted, not %d", h.total(), sum)
		}
	})
	var h histogram
	h.add(0, math.MaxUint64)
	h.add(0, 1)
	if h.total() != math.MaxUint32 {
		t.Errorf("a full bucket has %d", h.total())
	}
}

// kaplanMeier is the estimate as the books have it: over each time at which
// somebody answered, those who did not among those who were still there.
func kaplanMeier(answered, cut []time.Duration, at time.Duration) float64 {
	longer := 1.0
	for _, hold := range slices.Compact(slices.Sorted(slices.Values(answered))) {
		if ceiling(bucket(hold)) > at {
			break
		}
		var here, there float64
		for _, d := range answered {
			if d == hold {
				here++
			}
			if d >= hold && ceiling(bucket(d)) <= topOf(answered) {
				there++
			}
		}
		for _, d := range cut {
			if d >= hold && ceiling(bucket(d)) <= topOf(answered) {
				there++
			}
		}
		longer *= 1 - here/there
	}
	return longer
}

func topOf(all []time.Duration) time.Duration { return ceiling(bucket(slices.Max(all))) }

func TestCurveIsKaplanAndMeiers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// each is at the end of a bucket, so that the buckets change nothing
		holds := rapid.Map(rapid.IntRange(0, 60), func(b int) time.Duration { return ceiling(b) - 1 })
		answered := rapid.SliceOfN(holds, 1, -1).Draw(t, "answered")
		cut := rapid.SliceOf(holds).Draw(t, "cut")
		s := seen{&histogram{}, &histogram{}, map[int]float64{}}
		for _, d := range answered {
			s.answered.add(d, 1)
		}
		for i, d := range cut { // one half is known to be gone, the other may still answer
			if i%2 == 0 {
				s.cut.add(d, 1)
			} else {
				s.open[bucket(d)]++
			}
		}
		c := newCurve(s)
		for b := range 62 {
			at := ceiling(b)
			if got, want := c.above(at), kaplanMeier(answered, cut, at); math.Abs(got-want) > 1e-6 {
				t.Fatalf("%v are held for longer than %s, not %v", got, at, want)
			}
		}
		if c.exceeded(0) != topOf(answered) {
			t.Fatalf("none is held for longer than %s, not %s", c.exceeded(0), topOf(answered))
		}
	})
}

const second = int64(time.Second)

// answer tells an estimator of n holds.
func answer(e *Estimator, n int, hold time.Duration, now int64) {
	for range n {
		e.Answered(hold, now)
	}
}

// near tells whether a duration is another, in a bucket or rounded.
func near(got, want time.Duration) bool {
	return float64(got) >= float64(want) && float64(got) <= float64(want)*1.2
}

func TestAdviceOfFewAnswersIsNone(t *testing.T) {
	var e Estimator
	if a := e.Advice(second); a.Timeout != 0 || a.Since != 0 || a.Answered != 0 || a.P50 != 0 || a.Repeated(time.Hour) != 1 {
		t.Errorf("of nothing: %+v", a)
	}
	answer(&e, AdviceNeeds-1, time.Second, second)
	if a := e.Advice(second); a.Timeout != 0 || !near(a.P50, time.Second) {
		t.Errorf("one too few: %+v", a)
	}
	answer(&e, 1, time.Second, second)
	if a := e.Advice(second); !near(a.Timeout, 2*time.Second) {
		t.Errorf("just enough: %+v", a)
	}
}

func TestAdviceLeavesOneInAThousand(t *testing.T) {
	var e Estimator
	answer(&e, 9990, time.Second, second)
	answer(&e, 9, time.Minute, second)
	a := e.Advice(second)
	if !near(a.Timeout, 1500*time.Millisecond) || !near(a.P50, time.Second) || !near(a.P99, time.Second) || !near(a.P999, time.Second) {
		t.Errorf("nine in ten thousand are long: %+v", a)
	}
	if r := a.Repeated(a.Timeout); math.Abs(r-0.0009) > 1e-5 {
		t.Errorf("%v are repeated", r)
	}
	if r := a.Repeated(2 * time.Minute); r != 0 {
		t.Errorf("%v are repeated with two minutes", r)
	}
	answer(&e, 3, time.Minute, second)
	if a := e.Advice(second); !near(a.Timeout, 90*time.Second) || !near(a.P999, time.Minute) || !near(a.P99, time.Second) {
		t.Errorf("twelve are: %+v", a)
	}
}

// expire gives deliveries up after half a minute.
func expire(e *Estimator, from, to uint64, now int64) {
	for n := from; n < to; n++ {
		e.Expired(Open{Delivery: n, Spoke: now - 30*second, Deadline: now}, n%2 == 0, now)
	}
}

// A delivery that is answered late tells how long it took.
func TestLateAnswersTellTheTruth(t *testing.T) {
	var e Estimator
	answer(&e, 980, time.Second, second)
	expire(&e, 0, 20, 40*second)
	if a := e.Advice(40 * second); a.Expired != 20 || a.Connected != 10 || a.Open != 20 || a.Late != 0 || !near(a.Timeout, 2*time.Second) {
		t.Errorf("expired: %+v", a)
	}
	for n := range uint64(20) {
		if !e.Late(n, 50*second) {
			t.Fatalf("delivery %d is not waited for", n)
		}
	}
	if e.Late(3, 50*second) {
		t.Error("delivery 3 is waited for twice")
	}
	a := e.Advice(50 * second)
	if a.Open != 0 || a.Late != 20 || a.Lost != 0 || !near(a.LateP50, 10*time.Second) || !near(a.LateMost, 10*time.Second) {
		t.Errorf("answered late: %+v", a)
	}
	if !near(a.P99, 40*time.Second) || !near(a.Timeout, 60*time.Second) {
		t.Errorf("answered late: %+v", a)
	}
}

// Silences in between count, and not their sum.
func TestSilenceBeforeCounts(t *testing.T) {
	var e Estimator
	e.Expired(Open{Delivery: 1, Spoke: 90 * second, Silence: 50 * time.Second, Deadline: 100 * second}, true, 100*second)
	e.Late(1, 110*second)
	if a := e.Advice(110 * second); !near(a.P50, 50*time.Second) || !near(a.LateP50, 10*time.Second) {
		t.Errorf("%+v", a)
	}
}

// Workers that die do not make the timeout longer, however many they are.
func TestTheDeadDoNotCount(t *testing.T) {
	var e Estimator
	now, delivery := second, uint64(0)
	for range 100 {
		answer(&e, 90, time.Second, now)
		answer(&e, 1, 20*time.Second, now)
		expire(&e, delivery, delivery+9, now)
		delivery += 9
		now += 60 * second
	}
	a := e.Advice(now)
	if !near(a.Timeout, 30*time.Second) || a.Lost < 850 || a.Expired != 900 || a.Late != 0 {
		t.Errorf("%+v", a)
	}
	// Nor were they dead for ever.
	if !e.Late(delivery-1, now+second) {
		t.Error("the last one is not waited for")
	}
}

// One that is taken for dead may still answer.
func TestTheLostMayAnswer(t *testing.T) {
	var e Estimator
	expire(&e, 1, 2, 30*second)
	if a := e.Advice(120 * second); a.Lost != 0 || a.Open != 1 {
		t.Errorf("too soon: %+v", a)
	}
	if a := e.Advice(121 * second); a.Lost != 1 || a.Open != 0 || a.Answered != 0 {
		t.Errorf("lost: %+v", a)
	}
	if !e.Late(1, 600*second) {
		t.Fatal("it is not waited for")
	}
	if a := e.Advice(600 * second); a.Lost != 0 || a.Late != 1 || !near(a.P50, 600*time.Second) {
		t.Errorf("answered after all: %+v", a)
	}
}

// A delivery that repeats one whose worker may be at it is counted, and not
// waited for: a slow message would look like many.
func TestRepetitionsAreNotFollowed(t *testing.T) {
	var e Estimator
	e.Expired(Open{Delivery: 1, Deadline: 30 * second, Again: true}, true, 30*second)
	if a := e.Advice(30 * second); a.Expired != 1 || a.Connected != 1 || a.Open != 0 || e.Late(1, 40*second) {
		t.Errorf("%+v", a)
	}
}

// Where more expire than are followed, those that are stand for the others.
func TestTheFollowedStandForAll(t *testing.T) {
	var e Estimator
	answer(&e, 20_000, time.Second, 40*second)
	expire(&e, 0, 20_000, 40*second)
	if len(e.open) > maxOpen {
		t.Fatalf("%d are followed", len(e.open))
	}
	if a := e.Advice(40 * second); a.Expired != 20_000 || a.Open < 19_800 || a.Open > 20_000 {
		t.Errorf("expired: %+v", a)
	}
	known := 0
	for n := range uint64(20_000) {
		if e.Late(n, 60*second) {
			known++
		}
	}
	a := e.Advice(60 * second)
	if known < maxOpen/4 || a.Late < 19_800 || a.Late > 20_000 {
		t.Errorf("%d were followed: %+v", known, a)
	}
	if r := a.Repeated(30 * time.Second); math.Abs(r-0.5) > 0.01 {
		t.Errorf("%v take longer than half a minute", r)
	}
	// When it is quiet again each one is followed.
	for n := uint64(200_000); n < 200_020; n++ {
		expire(&e, n, n+1, 70*second)
	}
	if !e.Late(200_019, 80*second) {
		t.Error("the last one is not followed")
	}
}

// A worker that went away would have taken longer.
func TestCutHoldsCountUpToThere(t *testing.T) {
	var e Estimator
	answer(&e, 60, time.Second, second)
	answer(&e, 20, time.Minute, second)
	for range 20 {
		e.Cut(10*time.Second, second)
	}
	if r := e.Advice(second).Repeated(10 * time.Second); math.Abs(r-0.4) > 1e-9 {
		t.Errorf("%v are held for longer than the cut ones", r)
	}
}

// What is old is forgotten, and not before there is something new.
func TestTheOldIsForgotten(t *testing.T) {
	const hour = int64(time.Hour)
	var e Estimator
	answer(&e, windowFull, time.Minute, hour)
	answer(&e, windowFull, 10*time.Second, hour+hour) // the first of a new window
	if a := e.Advice(2 * hour); a.Answered != 2*windowFull || a.Since != hour || !near(a.P99, time.Minute) {
		t.Errorf("two windows: %+v", a)
	}
	answer(&e, 1, time.Second, 3*hour)
	if a := e.Advice(3 * hour); a.Answered != windowFull+1 || a.Since != 2*hour || !near(a.P99, 10*time.Second) {
		t.Errorf("a third: %+v", a)
	}
	answer(&e, 1, time.Second, 26*hour)
	if a := e.Advice(26 * hour); a.Answered != windowFull+2 {
		t.Errorf("the window was closed though it is not full: %+v", a)
	}
	answer(&e, 1, time.Second, 27*hour)
	if a := e.Advice(27 * hour); a.Answered != 3 || a.Since != 3*hour {
		t.Errorf("after a day: %+v", a)
	}
}

func TestRoundUp(t *testing.T) {
	for given, want := range map[time.Duration]time.Duration{
		18_630 * time.Millisecond: 19 * time.Second, 95*time.Second + 1: 96 * time.Second,
		121 * time.Second: 130 * time.Second, 1_500 * time.Millisecond: 1_500 * time.Millisecond, math.MaxInt64: math.MaxInt64,
	} {
		if got := roundUp(float64(given)); got != want {
			t.Errorf("%s becomes %s, not %s", given, got, want)
		}
	}
}

func TestFollow(t *testing.T) {
	r := Range{Min: 5 * time.Second, Max: 100 * time.Second}
	for _, c := range []struct {
		about                         string
		timeout, advised, kept, wants time.Duration
	}{
		{"no advice", 30 * time.Second, 0, time.Hour, 30 * time.Second},
		{"the same", 30 * time.Second, 30 * time.Second, time.Hour, 30 * time.Second},
		{"up a little", 30 * time.Second, 37 * time.Second, time.Hour, 30 * time.Second},
		{"up, at once", 30 * time.Second, 38 * time.Second, 0, 38 * time.Second},
		{"up, to the most", 30 * time.Second, time.Hour, 0, 100 * time.Second},
		{"up a little, to the most", 90 * time.Second, time.Hour, 0, 100 * time.Second},
		{"down a little", 30 * time.Second, 22 * time.Second, time.Hour, 30 * time.Second},
		{"down, too soon", 30 * time.Second, 20 * time.Second, 10*time.Minute - 1, 30 * time.Second},
		{"down", 30 * time.Second, 20 * time.Second, 10 * time.Minute, 20 * time.Second},
		{"down far", 90 * time.Second, 6 * time.Second, 10 * time.Minute, 45 * time.Second},
		{"down, to the least", 8 * time.Second, time.Second, 10 * time.Minute, 5 * time.Second},
		{"down a little, to the least", 6 * time.Second, time.Second, 10 * time.Minute, 5 * time.Second},
	} {
		if got := r.Follow(c.timeout, c.advised, c.kept); got != c.wants {
			t.Errorf("%s: %s becomes %s, not %s", c.about, c.timeout, got, c.wants)
		}
	}
}
