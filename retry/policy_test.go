package retry

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

const ms = time.Millisecond

func TestDelayGrowsToMax(t *testing.T) {
	p := Default()
	p.Jitter = 0
	want := []time.Duration{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 600, 600}
	for i, seconds := range want {
		if got := p.Delay(i+1, 7); got != seconds*time.Second {
			t.Errorf("after attempt %d: %v, want %v", i+1, got, seconds*time.Second)
		}
	}
}

func TestListRepeatsItsLastEntry(t *testing.T) {
	p := Policy{List: []time.Duration{time.Second, 5 * time.Second, time.Minute}}
	for attempt, want := range map[int]time.Duration{
		-1: time.Second, 0: time.Second, 1: time.Second, 2: 5 * time.Second,
		3: time.Minute, 4: time.Minute, math.MaxInt: time.Minute,
	} {
		if got := p.Delay(attempt, 1); got != want {
			t.Errorf("after attempt %d: %v, want %v", attempt, got, want)
		}
	}
}

// The policies of scenario B3, and every attempt of its 5,000.
func TestDelayNeverLeavesItsRange(t *testing.T) {
	for name, p := range map[string]Policy{
		"1ms to 50ms":  {Initial: ms, Factor: 2, Max: 50 * ms, Jitter: 0.5},
		"to 10 years":  {Initial: time.Second, Factor: 2, Max: MaxDelay, Jitter: 0.2},
		"base 0":       {Initial: 0, Factor: 2, Max: time.Minute, Jitter: 0.2},
		"factor 1":     {Initial: time.Second, Factor: 1, Max: time.Minute, Jitter: 0.2},
		"factor 1e9":   {Initial: time.Second, Factor: 1e9, Max: time.Minute, Jitter: 0.2},
		"factor max":   {Initial: 1, Factor: math.MaxFloat64, Max: MaxDelay, Jitter: 0.2},
		"jitter max":   {Initial: 1, Factor: 2, Max: MaxDelay, Jitter: math.Nextafter(1, 0)},
		"rounded up":   {Initial: 1<<51 + 1, Factor: 4, Max: 1<<53 + 3, Jitter: 0.2},
		"rounded down": {Initial: 1<<53 + 1, Factor: 1, Max: MaxDelay, Jitter: 0.2},
		"odd 10 years": {Initial: MaxDelay - 1, Factor: 1, Max: MaxDelay, Jitter: math.Nextafter(1, 0)},
	} {
		t.Run(name, func(t *testing.T) {
			if err := p.Validate(); err != nil {
				t.Fatal(err)
			}
			for attempt := 1; attempt <= 5000; attempt++ {
				inRange(t, p, attempt, uint64(attempt))
			}
			inRange(t, p, math.MaxInt, math.MaxUint64)
		})
	}
}

type failer interface {
	Helper()
	Fatalf(string, ...any)
}

// inRange states the rule anew, in floats, rather than by Bounds.
func inRange(t failer, p Policy, attempt int, id uint64) {
	t.Helper()
	lo, hi := p.Bounds(attempt)
	d := p.Delay(attempt, id)
	if d < lo || d > hi {
		t.Fatalf("%v: delay %v after attempt %d is outside %v to %v", p, d, attempt, lo, hi)
	}
	if lo < 0 || hi > longest(p) || hi < shortest(p) {
		t.Fatalf("%v: bounds %v to %v after attempt %d", p, lo, hi, attempt)
	}
	if len(p.List) == 0 && attempt == 1 && hi != p.Initial {
		t.Fatalf("%v: the first delay is %d, want %d", p, hi, p.Initial)
	}
	if want := float64(hi) * (1 - p.Jitter); math.Abs(float64(lo)-want) > 1+1e-15*float64(hi) {
		t.Fatalf("%v: lower bound %v after attempt %d, want %v", p, lo, attempt, time.Duration(want))
	}
}

func longest(p Policy) time.Duration {
	if len(p.List) > 0 {
		return slices.Max(p.List)
	}
	return p.Max
}

func shortest(p Policy) time.Duration {
	if len(p.List) > 0 {
		return slices.Min(p.List)
	}
	return p.Initial
}

func drawPolicy(t *rapid.T) Policy {
	delay := rapid.OneOf(
		rapid.Int64Range(0, int64(MaxDelay)),
		rapid.Int64Range(0, int64(time.Hour)),
		rapid.SampledFrom([]int64{0, 1, int64(MaxDelay)}))
	jitter := rapid.OneOf(rapid.Just(0.0), rapid.Float64Range(0, math.Nextafter(1, 0))).Draw(t, "jitter")
	if rapid.Bool().Draw(t, "list") {
		p := Policy{Jitter: jitter}
		for _, d := range rapid.SliceOfN(delay, 1, 8).Draw(t, "delays") {
			p.List = append(p.List, time.Duration(d))
		}
		return p
	}
	initial := delay.Draw(t, "initial")
	return Policy{
		Initial: time.Duration(initial),
		Factor: rapid.OneOf(rapid.Float64Range(1, 10), rapid.Float64Range(1, math.MaxFloat64),
			rapid.SampledFrom([]float64{1, 1e9})).Draw(t, "factor"),
		Max:    time.Duration(rapid.Int64Range(initial, int64(MaxDelay)).Draw(t, "max")),
		Jitter: jitter,
	}
}

func TestEveryPolicyKeepsItsRange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPolicy(t)
		if err := p.Validate(); err != nil {
			t.Fatal(err)
		}
		attempt := rapid.OneOf(rapid.IntRange(-1, 100), rapid.IntMin(1)).Draw(t, "attempt")
		inRange(t, p, attempt, rapid.Uint64().Draw(t, "id"))
	})
}

func TestDelayNeverFalls(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawPolicy(t)
		p.List, p.Initial, p.Max = nil, min(p.Initial, p.Max), max(p.Initial, p.Max)
		p.Factor = rapid.Float64Range(1.001, 1e6).Draw(t, "growth")
		delays := p.Timetable(100)
		if !slices.IsSorted(delays) {
			t.Fatalf("%v: %v", p, delays)
		}
	})
}

func TestDelayIsAFunction(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, id := drawPolicy(t), rapid.Uint64().Draw(t, "id")
		attempt := rapid.IntMin(1).Draw(t, "attempt")
		if a, b := p.Delay(attempt, id), p.Delay(attempt, id); a != b {
			t.Fatalf("%v, then %v", a, b)
		}
	})
}

// Scenario B3: 1,000 messages that fail at the same moment. Any tenth of the
// range should hold 100; 60 to 140 is more than four standard deviations.
func TestJitterSpreadsAHerd(t *testing.T) {
	p := Policy{Initial: 2 * time.Second, Factor: 2, Max: time.Hour, Jitter: 0.2}
	for attempt := 1; attempt <= 5; attempt++ {
		lo, hi := p.Bounds(attempt)
		var tenths [10]int
		for id := uint64(1); id <= 1000; id++ {
			tenths[10*(p.Delay(attempt, id)-lo)/(hi-lo+1)]++
		}
		for i, n := range tenths {
			if n < 60 || n > 140 {
				t.Errorf("attempt %d: %d of 1000 in tenth %d: %v", attempt, n, i+1, tenths)
			}
		}
	}
}

// The two bounds are reached: jitter uses the whole of its range.
func TestJitterReachesBothEnds(t *testing.T) {
	p := Policy{List: []time.Duration{10}, Jitter: 0.5}
	seen := map[time.Duration]int{}
	for id := range uint64(6000) {
		seen[p.Delay(1, id)]++
	}
	for d := time.Duration(5); d <= 10; d++ {
		if seen[d] < 800 || seen[d] > 1200 {
			t.Errorf("delay %d came %d times of 6000", d, seen[d])
		}
	}
	if len(seen) != 6 {
		t.Errorf("delays %v, want 5 to 10", seen)
	}
}

// No two of these share a place in the range by kinship: not one message from
// attempt to attempt, not a message and its neighbour one attempt on.
func TestJitterDiffersByMessageAndAttempt(t *testing.T) {
	p := Policy{List: []time.Duration{time.Hour}, Jitter: 0.5}
	seen := map[time.Duration]bool{}
	for attempt := 1; attempt <= 100; attempt++ {
		for id := range uint64(100) {
			seen[p.Delay(attempt, id)] = true
		}
	}
	if len(seen) != 100*100 {
		t.Errorf("%d different delays of %d", len(seen), 100*100)
	}
}

func TestTimetable(t *testing.T) {
	p := Default()
	for attempts, want := range map[int][]time.Duration{
		-1: nil, 0: nil, 1: nil,
		2: {time.Second},
		5: {time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second},
	} {
		if got := p.Timetable(attempts); !slices.Equal(got, want) {
			t.Errorf("%d attempts: %v, want %v", attempts, got, want)
		}
	}
}

func TestValidateNamesFieldAndValue(t *testing.T) {
	with := func(change func(*Policy)) Policy {
		p := Default()
		change(&p)
		return p
	}
	list := func(d ...time.Duration) Policy { return Policy{List: d} }
	for _, c := range []struct {
		p    Policy
		want []string // nil: accepted
	}{
		{Default(), nil},
		{with(func(p *Policy) { p.Initial = 0 }), nil},
		{with(func(p *Policy) { p.Factor = 1 }), nil},
		{with(func(p *Policy) { p.Factor = 1e9 }), nil},
		{with(func(p *Policy) { p.Max = p.Initial }), nil},
		{with(func(p *Policy) { p.Max = MaxDelay }), nil},
		{with(func(p *Policy) { p.Jitter = 0 }), nil},
		{list(0, MaxDelay, 0), nil},
		{Policy{}, []string{"factor", "0"}},
		{with(func(p *Policy) { p.Initial = -1 }), []string{"initial", "-1ns"}},
		{with(func(p *Policy) { p.Factor = 0.5 }), []string{"factor", "0.5"}},
		{with(func(p *Policy) { p.Factor = math.NaN() }), []string{"factor", "NaN"}},
		{with(func(p *Policy) { p.Factor = math.Inf(1) }), []string{"factor", "+Inf"}},
		{with(func(p *Policy) { p.Factor = math.Inf(-1) }), []string{"factor", "-Inf"}},
		{with(func(p *Policy) { p.Max = ms }), []string{"max", "1ms", "initial", "1s"}},
		{with(func(p *Policy) { p.Max = MaxDelay + 1 }), []string{"max", "10 years"}},
		{with(func(p *Policy) { p.Max = math.MaxInt64 }), []string{"max", "10 years"}},
		{with(func(p *Policy) { p.Jitter = 1 }), []string{"jitter", "1"}},
		{with(func(p *Policy) { p.Jitter = -0.1 }), []string{"jitter", "-0.1"}},
		{with(func(p *Policy) { p.Jitter = math.NaN() }), []string{"jitter", "NaN"}},
		{list(1, -2), []string{"list", "2", "-2ns"}},
		{list(MaxDelay + 1), []string{"list", "1", "10 years"}},
		{Policy{List: []time.Duration{1}, Jitter: 2}, []string{"jitter", "2"}},
	} {
		err := c.p.Validate()
		if (err == nil) != (c.want == nil) {
			t.Errorf("%+v: %v", c.p, err)
			continue
		}
		for _, word := range c.want {
			if !strings.Contains(err.Error(), word) {
				t.Errorf("%+v: %q does not say %q", c.p, err, word)
			}
		}
	}
}

// No promise on the value, but a policy that was never validated may not crash.
func TestDelayOfAnInvalidPolicyDoesNotPanic(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		odd := rapid.SampledFrom([]float64{math.NaN(), math.Inf(1), math.Inf(-1), -1, 0, 5})
		p := Policy{
			Initial: time.Duration(rapid.Int64().Draw(t, "initial")),
			Factor:  odd.Draw(t, "factor"),
			Max:     time.Duration(rapid.Int64().Draw(t, "max")),
			Jitter:  odd.Draw(t, "jitter"),
		}
		p.Delay(rapid.Int().Draw(t, "attempt"), rapid.Uint64().Draw(t, "id"))
	})
}

func TestPolicyString(t *testing.T) {
	for want, p := range map[string]Policy{
		"1s ×2 ≤10m −20%":        Default(),
		"0s ×1.5 ≤1h":            {Factor: 1.5, Max: time.Hour},
		"1m30s ×1 ≤10h10m −7%":   {Initial: 90 * time.Second, Factor: 1, Max: 610 * time.Minute, Jitter: 0.07},
		"[1s 5s 1m] −20%":        {List: []time.Duration{1e9, 5e9, 60e9}, Jitter: 0.2},
		"[0s 100ms 1h0m1s 240h]": {List: []time.Duration{0, 100 * ms, time.Hour + time.Second, 240 * time.Hour}},
	} {
		if got := p.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func BenchmarkDelay(b *testing.B) {
	p := Default()
	var sum time.Duration
	for i := 0; b.Loop(); i++ {
		sum += p.Delay(i%20+1, uint64(i))
	}
	_ = sum
}
