package system

import (
	"context"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

// The queues of the storm: orders are pulled and pushed, jobs have a dead-letter
// queue with another name, trash is purged and never dies, bulk is large and makes
// the log be compacted.
const stormConfig = `
defaults:
  visibility_timeout: 1s
  max_attempts: 3
  backoff: {list: [20ms, 60ms], jitter: 0.5}
  push: {max_in_flight_per_worker: 5}
worker_grace: 200ms
queues:
  - name: orders
  - name: jobs
    subjects: [jobs.*]
    dead_letter: {queue: graveyard}
  - name: trash
    max_attempts: 0
  - name: bulk
`

// TestKillStorm kills the server over and over under every kind of load. After
// each kill nothing that was confirmed is undone, and every publish that was
// answered is somewhere, once; at the end all is worked off, and it still is so.
func TestKillStorm(t *testing.T) {
	t.Parallel()
	rounds := 50
	if storm() {
		rounds = 500
	}
	rng := dice(t)
	w := newWeather(t, rng, setup{config: stormConfig})
	begin, kills := time.Now(), 0
	defer func() { w.ledger.stormRow(t, "kill -9 of dsend under load", kills) }()
	for round := range rounds {
		kills++
		w.blow(aMoment(rng), w.server.kill)
		if round%3 == 0 { // and again while it gets up
			w.server.stumble(aMoment(rng) / 2)
		}
		w.rise()
		w.ledger.balance(t, w.eye)
		if round%25 == 24 {
			w.calm(t)
			t.Logf("round %d, %s: %d messages: %s", round+1, time.Since(begin).Round(time.Second), len(w.ledger.items), w.ledger.counters())
		}
	}
	w.ledger.drain(t, w.eye)
	w.small(t)
	for _, queue := range []string{"orders", "jobs", "trash", "orders-dlq", "graveyard"} {
		if got := w.server.views(t, w.eye, queue); got != (counts{}) {
			t.Errorf("queue %s at the end: %+v", queue, got)
		}
	}
	torn := 0
	for _, run := range w.server.runs {
		torn += len(run.err.with("torn end"))
	}
	t.Logf("%d starts found a torn end", torn)
	t.Logf("%d kills, %d messages, %d deliveries: %s", rounds, len(w.ledger.items), len(w.ledger.numbers), w.ledger.counters())
}

// TestPowerStorm is the same with the power: at each cut of it, what was not synced
// is gone from the disk.
func TestPowerStorm(t *testing.T) {
	t.Parallel()
	rounds := 10
	if storm() {
		rounds = 200
	}
	d := newDisk(t)
	rng := dice(t)
	w := newWeather(t, rng, setup{config: stormConfig, dir: d.data(), args: []string{"--storage-reserve", "0"}})
	cuts := 0
	defer func() { w.ledger.stormRow(t, "power cut at a random moment of dsend", cuts) }()
	for range rounds {
		cuts++
		w.blow(aMoment(rng), func() {
			w.ledger.believe(false, d.cut)
			w.server.kill()
		})
		d.powerOn()
		w.rise()
		w.ledger.believe(true, func() {})
		w.ledger.balance(t, w.eye)
	}
	w.ledger.drain(t, w.eye)
	w.server.stop()
	d.check()
	t.Logf("%d power cuts, %d messages, %d deliveries: %s", rounds, len(w.ledger.items), len(w.ledger.numbers), w.ledger.counters())
}

// weather is the server and all who work with it.
type weather struct {
	server *server
	ledger *ledger
	eye    *client  // looks at it when it is calm
	actors []*actor // one client each
	pushed []*actor // workers that are pushed to
}

func newWeather(t *testing.T, rng *rand.Rand, s setup) *weather {
	t.Helper()
	w := &weather{server: start(t, s)}
	w.ledger = newLedger(rng, time.Second)
	w.eye = w.server.connect(t)
	add := func(list *[]*actor, queue string, act func(*actor, *client) error) {
		*list = append(*list, &actor{
			client: w.server.connect(t), ledger: w.ledger, queue: queue, act: act,
			rng: rand.New(rand.NewPCG(rng.Uint64(), rng.Uint64())),
		})
	}
	for _, queue := range []string{"orders", "orders", "jobs", "trash", "bulk"} {
		add(&w.actors, queue, (*actor).produce)
	}
	for _, queue := range []string{"orders", "jobs", "trash", "bulk", "orders-dlq"} {
		add(&w.actors, queue, (*actor).consume)
	}
	add(&w.actors, "orders", (*actor).operate)
	add(&w.actors, "jobs", (*actor).operate)
	add(&w.actors, "trash", (*actor).clear)
	add(&w.pushed, "orders", nil)
	add(&w.pushed, "orders", nil)
	add(&w.pushed, "jobs", nil)
	return w
}

// blow lets all work for a while and has the server end in the midst of it.
func (w *weather) blow(long time.Duration, end func()) {
	t := w.server.t
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	for _, a := range w.actors {
		a.back(t)
		c := a.until(ctx)
		running.Go(func() {
			for ctx.Err() == nil && a.act(a, c) == nil {
			}
		})
	}
	var subs []*nats.Subscription
	for _, a := range w.pushed {
		a.back(t)
		c := a.until(ctx)
		subs = append(subs, c.work(t, a.queue, "workers", func(d *delivery) { _ = a.handle(d) }))
	}
	time.Sleep(long)
	end()
	cancel()
	running.Wait()
	for _, sub := range subs {
		leave(t, sub)
	}
}

// rise starts the server again.
func (w *weather) rise() {
	w.server.start()
	w.eye.back(w.server.t)
}

// calm works off what has piled up.
func (w *weather) calm(t *testing.T) {
	t.Helper()
	w.ledger.drain(t, w.eye)
}

// small checks that the log holds no more than it may: twice what is needed, which
// is nothing now, and 64 MiB.
func (w *weather) small(t *testing.T) {
	t.Helper()
	bytes := int64(0)
	err := filepath.WalkDir(w.server.dir, func(_ string, f fs.DirEntry, err error) error {
		if err != nil || f.IsDir() {
			return err
		}
		info, err := f.Info()
		bytes += info.Size()
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	oldest := filepath.Base(filepath.Dir(segments(t, w.server.dir)[0]))
	if t.Logf("the log has %d MiB, from %s on", bytes>>20, oldest); bytes > 64<<20 {
		t.Errorf("the log of an empty store has %d bytes", bytes)
	}
}
