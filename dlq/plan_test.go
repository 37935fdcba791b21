package dlq

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

const start = int64(1e18) // an ordinary time, in nanoseconds

func TestPlanWithoutRateOrLimit(t *testing.T) {
	p := Plan{Before: 10, Began: start}
	if n := p.Take(start, 1000); n != 1000 {
		t.Errorf("took %d", n)
	}
	if at, ok := p.Next(start + 5); !ok || at != start+5 {
		t.Errorf("next at %d, %v", at, ok)
	}
	if n := p.Take(start, 0) + p.Take(start, -3); n != 0 || p.Taken != 1000 {
		t.Errorf("took %d, %d in all", n, p.Taken)
	}
}

func TestPlanLimit(t *testing.T) {
	p := Plan{Before: 10, Began: start, Limit: 5}
	if n := p.Take(start, 3); n != 3 || p.Done() {
		t.Errorf("took %d, done %v", n, p.Done())
	}
	if n := p.Take(start, 3); n != 2 || !p.Done() {
		t.Errorf("took %d, done %v", n, p.Done())
	}
	if n := p.Take(start, 3); n != 0 || p.Taken != 5 {
		t.Errorf("took %d, %d in all", n, p.Taken)
	}
	if at, ok := p.Next(start); ok {
		t.Errorf("done, but next at %d", at)
	}
}

func TestPlanRate(t *testing.T) {
	const ms = int64(time.Millisecond)
	p := Plan{Before: 10, Began: start, Rate: 10} // one in 100 ms
	for _, step := range []struct {
		after      int64 // ms from the start
		want, next int64 // taken of 100, and next in ms from the start
	}{
		{-50, 0, 0},
		{0, 1, 100},
		{0, 0, 100},
		{99, 0, 100},
		{100, 1, 200},
		{450, 3, 500},           // 200, 300 and 400 are caught up
		{500, 1, 600},           // and the beat is kept
		{60_000, 11, 60_100},    // of a long pause one second is caught up
		{60_000, 0, 60_100},     //
		{60_100, 1, 60_200},     //
		{60_199, 0, 60_200},     //
		{60_000 - 5, 0, 60_200}, // a clock that goes back gives nothing
	} {
		now := start + step.after*ms
		if n := p.Take(now, 100); int64(n) != step.want {
			t.Errorf("after %d ms: took %d, want %d", step.after, n, step.want)
		}
		want := max(now, start+step.next*ms)
		if at, ok := p.Next(now); !ok || at != want {
			t.Errorf("after %d ms: next after %d ms, want %d", step.after, (at-start)/ms, (want-start)/ms)
		}
	}
}

// A third of a second is rounded up: two letters are never too close.
func TestPlanRoundsUp(t *testing.T) {
	p := Plan{Rate: 3, Before: 1, Began: start}
	p.Take(start, 1)
	if at, _ := p.Next(start); at != start+333_333_334 {
		t.Errorf("next after %d ns", at-start)
	}
}

// In every span the rate holds, but for a second's worth of catching up and one;
// Next is exact: nothing is given before it, and something at it.
func TestPlanKeepsItsRate(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := rapid.OneOf(
			rapid.Float64Range(0.5, 2000),
			rapid.SampledFrom([]float64{MinRate, 1, 3, 1e6})).Draw(t, "rate")
		limit := rapid.SampledFrom([]int{0, 0, 1, 500}).Draw(t, "limit")
		p := Plan{Rate: rate, Limit: limit, Began: start, Before: 1}
		now, total := start, 0
		var at []int64 // the time of each step
		var n []int    // and how many were taken
		for range rapid.IntRange(1, 50).Draw(t, "steps") {
			now += rapid.OneOf(rapid.Int64Range(0, 3*second), rapid.Int64Range(0, second/100)).Draw(t, "pause")
			if rapid.Bool().Draw(t, "to next") {
				now = wait(t, p, now)
			}
			took := p.Take(now, rapid.IntRange(0, 5000).Draw(t, "want"))
			at, n, total = append(at, now), append(n, took), total+took
		}
		if total != p.Taken || limit > 0 && total > limit {
			t.Fatalf("took %d, counted %d, limit %d", total, p.Taken, limit)
		}
		for i := range at {
			sum := 0
			for j := i; j < len(at); j++ {
				sum += n[j]
				if most := 1 + rate*(1+float64(at[j]-at[i])/1e9); float64(sum) > most+1e-6 {
					t.Fatalf("%d in %d ns, at most %v", sum, at[j]-at[i], most)
				}
			}
		}
	})
}

// wait goes to the time the plan names, and checks that it is the right one.
func wait(t *rapid.T, p Plan, now int64) int64 {
	next, ok := p.Next(now)
	if !ok {
		return now
	}
	if early := p; next > now && early.Take(next-1, 1) != 0 {
		t.Fatalf("gives a letter before %d", next)
	}
	if due := p; due.Take(next, 1) != 1 {
		t.Fatalf("gives nothing at %d", next)
	}
	return next
}

// A caller that comes whenever Next says gets the whole rate.
func TestPlanReachesItsRate(t *testing.T) {
	for _, rate := range []float64{0.1, 1, 3, 1000, 12345} {
		p := Plan{Rate: rate, Began: start, Before: 1}
		for now := start; now < start+10*second; now, _ = p.Next(now) {
			p.Take(now, 1)
		}
		if want := rate * 10; math.Abs(float64(p.Taken)-want) > 1 {
			t.Errorf("%d in 10 s at %v a second", p.Taken, rate)
		}
	}
}

func TestPlanPicks(t *testing.T) {
	p := Plan{Filter: Filter{FirstSeq: 3, OlderThan: 100}, Before: 5, Began: start}
	old, young := Letter{DiedAt: start - 100}, Letter{DiedAt: start - 99}
	var picked []uint64
	for seq := uint64(1); seq <= 7; seq++ {
		if p.Picks(seq, &old) {
			picked = append(picked, seq)
		}
		if p.Picks(seq, &young) {
			t.Errorf("seq %d: picked, though too young when the plan began", seq)
		}
	}
	if !slices.Equal(picked, []uint64{3, 4, 5}) {
		t.Errorf("picked %v", picked)
	}
}

func TestPlanScan(t *testing.T) {
	p := Plan{Before: 5}
	p.Scan(4)
	if p.Scan(2); p.Scanned != 4 || p.Done() {
		t.Errorf("scanned %d, done %v", p.Scanned, p.Done())
	}
	if p.Scan(p.Before); !p.Done() {
		t.Error("at the end, but not done")
	}
	if empty := (Plan{}); !empty.Done() {
		t.Error("a plan for an empty queue is not done")
	}
}

func TestPlanValidate(t *testing.T) {
	for _, c := range []struct {
		p    Plan
		want string // "": accepted
	}{
		{Plan{}, ""},
		{Plan{Limit: 5, Rate: MinRate, Target: "orders"}, ""},
		{Plan{Rate: MaxRate}, ""},
		{Plan{Limit: -1}, "limit -1"},
		{Plan{Rate: -1}, "rate -1"},
		{Plan{Rate: MinRate / 2}, "rate"},
		{Plan{Rate: 2 * MaxRate}, "rate 2e+09"},
		{Plan{Rate: math.NaN()}, "rate NaN"},
		{Plan{Rate: math.Inf(1)}, "rate +Inf"},
		{Plan{Filter: Filter{OlderThan: -1}}, "older_than"},
	} {
		err := c.p.Validate()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.p, err, c.want)
		}
	}
}

// A plan that was written down goes on where it was.
func TestPlanSurvivesJSON(t *testing.T) {
	p := Plan{Filter: Filter{Reasons: []Reason{ReasonExpired}}, Target: "q", Limit: 5, Rate: 10, Before: 9, Began: start}
	p.Scan(4)
	p.Take(start, 1)
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"filter":{"reasons":["expired"]},"target":"q","limit":5,"rate":10,"before":9,"began":1000000000000000000,"scanned":4,"taken":1}`
	if string(text) != want {
		t.Errorf("got  %s\nwant %s", text, want)
	}
	var back Plan
	if err := json.Unmarshal(text, &back); err != nil {
		t.Fatal(err)
	}
	if n := back.Take(start+100*second, 100); n != 4 || !back.Done() {
		t.Errorf("took %d, done %v", n, back.Done())
	}
}
