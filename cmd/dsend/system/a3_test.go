package system

import (
	"fmt"
	"testing"
	"time"
)

// A3: nothing acked comes back, and a queue that was emptied before the end works
// again, whatever the end was.
func TestA3_AckedStaysAcked(t *testing.T) {
	t.Parallel()
	for _, n := range []int{1, 3, 10_000} {
		t.Run(fmt.Sprintf("%d messages, killed", n), func(t *testing.T) {
			t.Parallel()
			emptied(t, start(t, setup{}), n, (*server).kill)
		})
		t.Run(fmt.Sprintf("%d messages, stopped", n), func(t *testing.T) {
			t.Parallel()
			emptied(t, start(t, setup{}), n, func(s *server) { s.stop() })
		})
	}
	t.Run("3 messages, power cut", func(t *testing.T) {
		t.Parallel()
		d := newDisk(t)
		s := start(t, setup{dir: d.data(), args: []string{"--storage-reserve", "0"}})
		emptied(t, s, 3, func(s *server) { d.cut(); s.kill(); d.powerOn() })
		s.stop()
	})
}

// emptied plays it: all are acked with confirmation, and right after the last one
// the end comes.
func emptied(t *testing.T, s *server, n int, end func(*server)) {
	c := s.connect(t)
	l := newLedger(dice(t), 30*time.Second)
	l.put(t, c, "orders", n)
	if err := l.ackAll(c.take(t, "orders", n)); err != nil {
		t.Fatal(err)
	}
	end(s)
	s.start()
	c.back(t)
	c.none(t, "orders")
	if got := c.info(t, "orders").counts; got != (counts{}) {
		t.Fatalf("counts after the restart are %+v", got)
	}
	l.put(t, c, "orders", 1)
	if got := c.one(t, "orders"); got.seq != uint64(n+1) || got.attempt != 1 {
		t.Errorf("the message after the restart is %v, want number %d", got, n+1)
	} else if err := l.ackAll([]*delivery{got}); err != nil {
		t.Fatal(err)
	}
	l.drain(t, c)
}

// SIGTERM comes while producers and workers are busy: it ends by itself, nothing
// that was answered is lost, and nothing that was acked comes back.
func TestA3_StoppedUnderLoad(t *testing.T) {
	t.Parallel()
	s := start(t, setup{config: "auto_create: true\ndefaults: {visibility_timeout: 3s, max_attempts: 0}\n"})
	rng := dice(t)
	l := newLedger(rng, 3*time.Second)
	producers, workers, c := newCrew(t, s, 3), newCrew(t, s, 3), s.connect(t)
	for range 4 {
		producers.begin(func(c *client) error { return l.publish(c, l.draw("orders")) })
		workers.begin(func(c *client) error {
			p, err := c.pull("orders", pull{Batch: 5, Expires: time.Second})
			if err != nil {
				return err
			}
			return l.ackAll(p.msgs)
		})
		time.Sleep(aMoment(rng))
		took := s.stop()
		producers.end()
		workers.end()
		s.start()
		c.back(t)
		l.balance(t, c)
		t.Logf("stopped in %s", took)
	}
	l.drain(t, c)
}

// A waiting pull is told when the server stops.
func TestA3_WaitingPullIsToldOfTheStop(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	c := s.connect(t)
	c.put(t, plain("orders", "first"))
	c.one(t, "orders").must(t, ack, "ok")
	ended := make(chan error, 1)
	go func() {
		p, err := c.pull("orders", pull{Batch: 1, Expires: time.Minute})
		if err == nil {
			err = equal(p.status, "409 Server Shutdown")
		}
		ended <- err
	}()
	eventually(t, "the pull waits", func() error { return equal(c.info(t, "orders").WaitingPulls, 1) })
	s.stop()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// An ack that nobody asked about is durable soon (sync.ack_interval, 10 ms): it
// waits for the next commit, not for the next publish.
func TestA3_PlainAckIsDurableSoon(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	c := s.connect(t)
	commits := func() float64 {
		m, err := s.metrics()
		if err != nil {
			t.Fatal(err)
		}
		return m["dsend_fsync_seconds_count"]
	}
	for n := range 3 {
		c.put(t, plain("orders", fmt.Sprint(n)))
		d := c.one(t, "orders")
		before, begin := commits(), time.Now()
		if err := d.say(ack); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the ack is synced", func() error {
			if commits() > before {
				return nil
			}
			return fmt.Errorf("%v syncs, as before", before)
		})
		checkDue(t, "the sync of a plain ack", begin, time.Now(), 10*time.Millisecond)
		s.restart()
		c.back(t)
		c.none(t, "orders")
		c.rest(t, "orders", counts{})
	}
}
