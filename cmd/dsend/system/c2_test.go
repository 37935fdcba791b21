package system

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

const c2Config = `
queues:
  - name: orders
    visibility_timeout: 1500ms
    max_attempts: 5
    backoff: {list: [20ms], jitter: 0}
`

const c2Visibility = 1500 * time.Millisecond

// C2: with no worker there, no attempt is used up, however long that is.
func TestC2_NobodyThereCostsNothing(t *testing.T) {
	t.Parallel()
	s := start(t, setup{config: c2Config})
	c := s.connect(t)
	c.putMany(t, "orders", "m", 50)
	published := time.Now()
	var watched, done diary
	watch(t, c, "orders", &watched)                         // somebody who only watches is not a worker
	time.Sleep(time.Until(published.Add(3 * c2Visibility))) // three visibility timeouts
	if got := c.info(t, "orders"); got.counts != (counts{Ready: 50}) || got.total(t, "delivered") != 0 {
		t.Errorf("without a worker: %+v", got)
	}
	worker := s.connect(t)
	defer leave(t, worker.work(t, "orders", "workers", func(d *delivery) {
		d.check(t, ack, "ok")
		done.add(d)
	}))
	for _, d := range done.wait(t, 50) {
		if d.attempt != 1 {
			t.Errorf("%v: want attempt 1", d)
		}
	}
	c.rest(t, "orders", counts{})
	if n := len(watched.wait(t, 50)); n != 50 {
		t.Errorf("the watcher saw %d deliveries, want 50", n)
	}
}

// watch subscribes to the work subject without a group.
func watch(t *testing.T, c *client, queue string, seen *diary) {
	t.Helper()
	_, err := c.nc.Subscribe("dsend.work."+queue, func(m *nats.Msg) {
		d, err := c.delivered(m)
		if err != nil {
			t.Error(err)
		}
		seen.add(d)
	})
	if err != nil {
		t.Fatal(err)
	}
	c.flush(t)
}

// Workers of a group come and go all the time while 2,000 messages flow: all are
// done, and none is given up.
func TestC2_WorkersComeAndGo(t *testing.T) {
	t.Parallel()
	s := start(t, setup{config: c2Config})
	c := s.connect(t)
	l := newLedger(dice(t), c2Visibility)
	var done atomic.Int64
	handle := func(d *delivery) {
		l.saw(d)
		if result, err := l.answer(d, ack); err == nil && (result == "ok" || result == "late") {
			done.Add(1)
		}
	}
	stop, members := make(chan struct{}), sync.WaitGroup{}
	defer members.Wait()
	defer close(stop)
	for range 4 {
		worker := s.connect(t)
		members.Go(func() {
			for { // 20 times a second
				sub := worker.work(t, "orders", "workers", handle)
				select {
				case <-stop:
					return
				case <-time.After(25 * time.Millisecond):
				}
				if err := sub.Drain(); err != nil { // what has come is still worked on
					t.Error(err)
				}
			}
		})
	}
	for range 20 {
		l.put(t, c, "orders", 100)
	}
	eventually(t, "all are done", func() error { return equal(done.Load(), 2000) })
	c.rest(t, "orders", counts{})
	l.balance(t, c)
	t.Logf("%d hand-overs were lost with a worker that left", c.info(t, "orders").total(t, "timed_out"))
}

// A failed hand-over does not make the count wrap around: the only member of a
// group leaves in the moment of a delivery, over and over, and the message is
// neither lost nor over its limit before its time.
func TestC2_HandOverInTheMomentOfLeaving(t *testing.T) {
	t.Parallel()
	s := start(t, setup{config: c2Config})
	c, worker := s.connect(t), s.connect(t)
	l := newLedger(dice(t), c2Visibility)
	for range 100 {
		sub := worker.work(t, "orders", "workers", func(d *delivery) {
			l.saw(d)
			_, _ = l.answer(d, ack) // the last one may be cut off
		})
		l.put(t, c, "orders", 3)
		if err := sub.Unsubscribe(); err != nil {
			t.Fatal(err)
		}
	}
	defer leave(t, worker.work(t, "orders", "workers", func(d *delivery) {
		if d.attempt > 5 {
			t.Errorf("%v", d)
		}
		l.saw(d)
		if _, err := l.answer(d, ack); err != nil {
			t.Error(err)
		}
	}))
	c.rest(t, "orders", counts{})
	l.balance(t, c)
}
