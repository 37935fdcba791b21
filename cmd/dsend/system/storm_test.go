package system

import (
	"context"
	"fmt"
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
	w := newWeather(t, rng)
	begin := time.Now()
	for round := range rounds {
		w.blow(aMoment(rng))
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

// weather is the server and all who work with it.
type weather struct {
	server *server
	ledger *ledger
	eye    *client  // looks at it when it is calm
	actors []*actor // one client each
	pushed []*actor // workers that are pushed to
}

// actor is one client with something to do, over and over, and its own dice.
type actor struct {
	*client
	ledger *ledger
	rng    *rand.Rand
	queue  string
	act    func(*actor, *client) error
	undone *item // was published, and not answered
}

func newWeather(t *testing.T, rng *rand.Rand) *weather {
	t.Helper()
	w := &weather{server: start(t, setup{config: stormConfig})}
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

// blow lets all work for a while and kills the server in the midst of it.
func (w *weather) blow(long time.Duration) {
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
	w.server.kill()
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

// produce publishes a message of some kind. What was not answered before the
// server was killed is published again with the same id, so that it is stored once.
func (a *actor) produce(c *client) error {
	switch {
	case a.ledger.crowded(): // a look at everything takes long then
		return a.consume(c)
	case a.rng.IntN(10) == 0:
		return a.burst(c)
	}
	i := a.undone
	if a.undone = nil; i == nil {
		i = a.ledger.draw(a.queue, a.options)
	}
	err := a.ledger.publish(c, i)
	if err != nil && i.header["Nats-Msg-Id"] != nil {
		a.undone = i
	}
	return err
}

// burst publishes many messages at once.
func (a *actor) burst(c *client) error {
	items, outs := make([]*item, 1+a.rng.IntN(40)), []out{}
	for k := range items {
		items[k] = a.ledger.draw(a.queue, a.options)
		outs = append(outs, items[k].out)
	}
	answers, err := c.publishAll(outs)
	for k, r := range answers {
		a.ledger.answered(items[k], r.ack, r.err)
	}
	return err
}

// options asks for things by headers.
func (a *actor) options(o out) out {
	if a.rng.IntN(2) == 0 {
		o = o.with("Nats-Msg-Id", idOf(o.body))
	}
	switch a.rng.IntN(8) {
	case 0:
		o = o.with("Dsend-Delay", fmt.Sprint(time.Duration(a.rng.IntN(100))*time.Millisecond))
	case 1:
		o = o.with("Dsend-Priority", fmt.Sprint(a.rng.IntN(10)))
	case 2:
		o = o.with("Dsend-Key", fmt.Sprint("key", a.rng.IntN(3)))
	case 3:
		if a.queue == "jobs" {
			o.subject = "jobs.captured"
		}
	}
	return o
}

// consume pulls some messages and answers them.
func (a *actor) consume(c *client) error {
	p, err := c.pull(a.queue, pull{Batch: 1 + a.rng.IntN(10), Expires: 50 * time.Millisecond})
	for _, d := range p.msgs {
		if err := a.handle(d); err != nil {
			return err
		}
	}
	return err
}

// handle answers one delivery: mostly it is done.
func (a *actor) handle(d *delivery) error {
	a.ledger.saw(d)
	answer := ack
	switch n := a.rng.IntN(100); {
	case n < 5:
		return nil // the worker says nothing
	case n < 10:
		answer = nakFor(time.Duration(a.rng.IntN(100)) * time.Millisecond)
	case n < 20:
		answer = `-NAK {"error":"not now"}`
	case n < 25:
		if a.queue != "trash" {
			answer = term + " no use"
		}
	case n < 35:
		if _, err := a.ledger.answer(d, inProgress); err != nil {
			return err
		}
	}
	_, err := a.ledger.answer(d, answer)
	return err
}

// operate looks for messages and kills or removes one; or brings the dead back.
func (a *actor) operate(c *client) error {
	if a.rng.IntN(3) == 0 {
		_, err := a.ledger.replay(c, a.queue)
		return err
	}
	messages, err := c.peek(a.queue)
	if err != nil || len(messages) == 0 {
		return err
	}
	m := messages[a.rng.IntN(len(messages))]
	do := a.ledger.kill
	if a.rng.IntN(2) == 0 {
		do = a.ledger.remove
	}
	if i := a.ledger.item(m); i != nil {
		err = do(c, i, a.queue, m.Seq)
	}
	if isAPIError(err) {
		return nil // somebody else was quicker
	}
	return err
}

// clear purges a part of the queue.
func (a *actor) clear(c *client) error {
	var q queueInfo
	err := c.api("queue.info", args{"queue": a.queue}, &q)
	if err == nil && q.Messages > 10 {
		err = a.ledger.purge(c, a.queue, q.FirstSeq+uint64(a.rng.IntN(10)))
	}
	return err
}
