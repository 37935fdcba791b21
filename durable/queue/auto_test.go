package queue

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"dsend/retry"
	"dsend/testkit"
)

// A factory is a queue and its workers for some hours of fake time: messages
// come evenly, each takes its own time, and some workers die at work and say
// nothing. Workers that are given up go on, and answer late.
type factory struct {
	state  *State
	out    *Out
	commit uint64
	now    int64

	rng   *rand.Rand
	takes func(rng *rand.Rand, at time.Duration) time.Duration
	needs map[uint64]time.Duration // of each message, whoever works on it
	jobs  *retry.Schedule[*job]

	live, repeated int             // deliveries
	waits          []time.Duration // until the timeout of those whose worker died
	changes        []Event
}

// job is a worker at work.
type job struct {
	Speech
	done retry.Deadline
}

// dying is the share of deliveries whose worker dies.
const dying = 0.005

func newFactory(seed uint64, settings Settings, takes func(*rand.Rand, time.Duration) time.Duration) *factory {
	cfg := testConfig()
	cfg.Defaults = settings
	f := &factory{
		state: New(cfg), out: &Out{}, now: epoch, rng: rand.New(rand.NewPCG(seed, 1)), takes: takes,
		needs: map[uint64]time.Duration{}, jobs: retry.NewSchedule(func(j *job) *retry.Deadline { return &j.done }),
	}
	f.turn(&Declare{Name: "q", Settings: settings, Source: FromAPI})
	f.turn(&Members{Queue: "q", Group: "g", Count: settings.MaxInFlight})
	return f
}

// run lets messages come for some time.
func (f *factory) run(last, every time.Duration) {
	end := f.now + int64(last)
	for at := f.now + int64(every); at < end; at += int64(every) {
		f.until(at)
		f.turn(&Publish{Queue: "q", Subject: []byte("s"), MaxAttempts: -1})
	}
}

// until does what comes before a time.
func (f *factory) until(at int64) {
	for {
		next := f.state.Next()
		answer, some := f.jobs.Next()
		if some {
			next = min(next, answer)
		}
		if next >= at {
			f.now = at
			return
		}
		f.now = max(f.now, next)
		if j, ok := f.jobs.Pop(f.now); ok {
			f.answer(j)
		} else {
			f.turn()
		}
	}
}

// learned tells whether the first hour is over, from when on it counts.
func (f *factory) learned() bool { return f.now-epoch > int64(time.Hour) }

func (f *factory) answer(j *job) {
	if f.learned() {
		f.live++
		if f.now > j.Deadline {
			f.repeated++
		}
	}
	f.turn(&Answer{QueueID: j.QueueID, Seq: j.Seq, Delivery: j.Delivery, Verb: Ack})
}

func (f *factory) turn(ops ...Op) {
	f.out.Reset()
	f.commit++
	f.state.Begin(f.commit, f.now, f.out)
	f.state.Tick(f.now, f.out)
	for _, op := range ops {
		f.state.Step(op, f.now, f.out)
	}
	f.state.Match(f.now, f.out)
	for _, sp := range f.out.Speech {
		f.begin(sp)
	}
	for _, e := range f.out.Events {
		if e.Kind == EventVisibility {
			f.changes = append(f.changes, e)
		}
	}
}

// begin puts a worker to work.
func (f *factory) begin(sp Speech) {
	if f.needs[sp.Seq] == 0 {
		f.needs[sp.Seq] = f.takes(f.rng, time.Duration(f.now-epoch))
	}
	if f.rng.Float64() < dying {
		if f.learned() {
			f.waits = append(f.waits, time.Duration(sp.Deadline-f.now))
		}
		return
	}
	f.jobs.Set(&job{Speech: sp}, f.now+int64(f.needs[sp.Seq]))
}

func (f *factory) share() float64 { return float64(f.repeated) / float64(f.live) }

// wait is how long a dead worker's message waits, in the mean.
func (f *factory) wait() (mean time.Duration) {
	for _, w := range f.waits {
		mean += w / time.Duration(len(f.waits))
	}
	return mean
}

// best is the shortest timeout that repeats no more than may be, known only
// afterwards.
func (f *factory) best() time.Duration {
	var all []time.Duration
	for _, d := range f.needs {
		all = append(all, d)
	}
	slices.Sort(all)
	return all[int(float64(len(all))*(1-retry.MayRepeat))]
}

// lognormal has a median, and one in a thousand above exp(3.1·spread) times it.
func lognormal(rng *rand.Rand, median time.Duration, spread float64) time.Duration {
	return time.Duration(float64(median) * math.Exp(spread*rng.NormFloat64()))
}

// An automatic timeout is compared with the best fixed one, which nobody knows
// beforehand: the shortest that is too short for one message in a thousand of
// those that will come.
func TestAutomaticVisibilityBesideTheBestFixedOne(t *testing.T) {
	const every = 500 * time.Millisecond
	last := 6 * time.Hour
	if testkit.Storm() {
		last = 48 * time.Hour
	}
	rows := make([]string, len(workloads()))
	t.Run("workloads", func(t *testing.T) {
		for i, w := range workloads() {
			t.Run(w.name, func(t *testing.T) {
				t.Parallel()
				seed := testkit.Seed(t)
				auto := newFactory(seed, autoSettings(), w.takes)
				auto.run(last, every)
				settings := autoSettings()
				settings.VisibilityAuto, settings.VisibilityTimeout = false, auto.best()
				fixed := newFactory(seed, settings, w.takes)
				fixed.run(last, every)
				rows[i] = fmt.Sprintf("%-9s %18s %18s %8d", w.name, auto, fixed, len(auto.changes))
				auto.check(t, fixed)
			})
		}
	})
	t.Logf("repeated deliveries, and how long the message of a dead worker waits, after an hour of learning\n"+
		"%-9s %18s %18s %8s\n%s", "", "automatic", "best fixed", "changes", strings.Join(rows, "\n"))
}

func (f *factory) String() string {
	return fmt.Sprintf("%.3f %% %9s", 100*f.share(), f.wait().Round(10*time.Millisecond))
}

// check holds an automatic timeout to bounds.
func (f *factory) check(t *testing.T, fixed *factory) {
	for _, e := range f.changes {
		t.Logf("after %s from %s to %s", time.Duration(e.At-epoch).Round(time.Second), e.From, e.To)
	}
	if len(f.waits) < 100 || len(f.changes) == 0 || fixed.repeated == 0 {
		t.Fatalf("%d workers died, %d changes, %d repeated: nothing is compared", len(f.waits), len(f.changes), fixed.repeated)
	}
	if f.share() > 2*fixed.share() {
		t.Errorf("repeats %.3f %%, the best fixed timeout %.3f %%", 100*f.share(), 100*fixed.share())
	}
	if most := 3 * fixed.wait(); f.wait() > most {
		t.Errorf("the message of a dead worker waits %s, with the best fixed timeout %s", f.wait(), fixed.wait())
	}
}

func autoSettings() Settings {
	s := Defaults()
	s.VisibilityAuto, s.VisibilityMin = true, 100*time.Millisecond
	s.MaxInFlight, s.MaxAttempts = 100_000, 0
	s.Backoff.Jitter = 0
	return s
}

type workload struct {
	name  string
	takes func(rng *rand.Rand, at time.Duration) time.Duration
}

func workloads() []workload {
	return []workload{
		{"short", func(rng *rand.Rand, _ time.Duration) time.Duration {
			return lognormal(rng, 200*time.Millisecond, 0.5)
		}},
		{"bimodal", func(rng *rand.Rand, _ time.Duration) time.Duration {
			if rng.Float64() < 0.02 {
				return lognormal(rng, 50*time.Second, 0.1)
			}
			return lognormal(rng, time.Second, 0.3)
		}},
		{"heavy", func(rng *rand.Rand, _ time.Duration) time.Duration { // Pareto, index 1.5
			return min(20*time.Minute, time.Duration(float64(500*time.Millisecond)*math.Pow(1-rng.Float64(), -1/1.5)))
		}},
		{"sudden", func(rng *rand.Rand, at time.Duration) time.Duration { // ten times as long, for an hour
			if at > 2*time.Hour && at < 3*time.Hour {
				return lognormal(rng, 20*time.Second, 0.5)
			}
			return lognormal(rng, 2*time.Second, 0.5)
		}},
		{"drifting", func(rng *rand.Rand, at time.Duration) time.Duration { // to twenty times of it, and back
			wave := math.Sin(math.Pi * at.Hours() / 6)
			return lognormal(rng, time.Duration(float64(time.Second)*math.Pow(20, wave*wave)), 0.5)
		}},
	}
}
