package durable

import (
	"testing"
	"testing/synctest"
	"time"

	"dsend/durable/queue"
)

// commits is an Observer.
type commits struct{ ops []int }

func (c *commits) Commit(ops, _ int, _ time.Duration) { c.ops = append(c.ops, ops) }

// While one sync is under way, what comes in gathers for the next.
func TestOneSyncForMany(t *testing.T) {
	play(t, func(t *testing.T) {
		log, seen := newMemLog(), &commits{}
		s, r := open(t, log, func(c *Config) { c.Observer = seen })
		log.hold()
		submit(t, s, publish("the first"))
		synctest.Wait()
		for range 500 {
			submit(t, s, publish("another"))
		}
		syncs, appends := log.count("Sync"), log.count("Append")
		log.release()
		synctest.Wait()
		if n, m := log.count("Sync")-syncs, log.count("Append")-appends; n != 1 || m != 1 {
			t.Errorf("500 publishes needed %d syncs and %d appends", n, m)
		}
		if n := len(r.answers()); n != 501 {
			t.Errorf("%d of 501 publishes were answered", n)
		}
		for i, a := range r.answers() {
			if a.Seq != uint64(i+1) {
				t.Fatalf("answer %d is of message %d", i+1, a.Seq)
			}
		}
		if n := len(seen.ops); n != 2 || seen.ops[1] != 500 {
			t.Errorf("the Observer saw commits of %d ops", seen.ops)
		}
	})
}

// What is more than a commit should hold goes into the next ones.
func TestACommitIsOfBoundedSize(t *testing.T) {
	play(t, func(t *testing.T) {
		log := newMemLog()
		s, r := open(t, log)
		body := string(make([]byte, 64<<10))
		ops := make([]queue.Op, 160)
		for i := range ops {
			ops[i] = publish(body)
		}
		before := log.count("Append")
		submit(t, s, ops...)
		synctest.Wait()
		if n := log.count("Append") - before; n < 10 || n > 11 {
			t.Errorf("10 MiB made %d commits", n)
		}
		if n := len(r.answers()); n != len(ops) {
			t.Errorf("%d of %d publishes were answered", n, len(ops))
		}
	})
}

// holding gives a store with n messages in flight and nothing to commit.
func holding(t *testing.T, n int) (*memLog, *Store, *recorder) {
	log := newMemLog()
	s, r := open(t, log)
	fill(t, s, n, func(int) string { return "body" })
	submit(t, s, pull(n))
	synctest.Wait()
	return log, s, r
}

// durably tells whether a message is gone from what a power cut would leave.
func durably(t *testing.T, log *memLog, seq uint64) bool {
	t.Helper()
	return !alive(t, log.crash(0), "q")[seq]
}

// alive gives the messages of a queue that a log holds.
func alive(t *testing.T, log *memLog, name string) map[uint64]bool {
	t.Helper()
	s, err := Open(log, config(&recorder{}))
	must(t, err)
	defer s.Close()
	left := map[uint64]bool{}
	for _, e := range list(t, s, name) {
		left[e.Seq] = true
	}
	return left
}

func TestAPlainAckIsDurableWithinTheInterval(t *testing.T) {
	play(t, func(t *testing.T) {
		log, s, r := holding(t, 3)
		before := log.count("Sync")
		for _, d := range r.deliveries() {
			submit(t, s, answer(d, queue.Ack, false))
			time.Sleep(3 * time.Millisecond)
		}
		time.Sleep(999 * time.Microsecond)
		if n := log.count("Sync") - before; n != 0 {
			t.Errorf("after 9.999 ms: %d syncs for plain acks", n)
		}
		if durably(t, log, 1) {
			t.Error("the ack is durable before its sync")
		}
		time.Sleep(time.Microsecond)
		synctest.Wait()
		if n := log.count("Sync") - before; n != 1 {
			t.Errorf("after 10 ms: %d syncs for plain acks", n)
		}
		for seq := uint64(1); seq <= 3; seq++ {
			if !durably(t, log, seq) {
				t.Errorf("after 10 ms the ack of %d is not durable", seq)
			}
		}
		time.Sleep(time.Second)
		if n := log.count("Sync") - before; n != 1 {
			t.Errorf("a second later: %d syncs", n)
		}
	})
}

// A commit that is full is made, though nobody waits for what is in it.
func TestAFullCommitDoesNotWait(t *testing.T) {
	w := worker{Store: &Store{cfg: Config{AckInterval: time.Hour}}, b: &batch{}, items: make([]item, 1)}
	w.b.out.Records = []byte("an ack")
	if w.lazy(1) {
		t.Error("it waits, with more to come")
	}
	w.next = 1
	if !w.lazy(1) {
		t.Error("it does not wait")
	}
}

func TestAPlainAckRidesAlong(t *testing.T) {
	play(t, func(t *testing.T) {
		log, s, r := holding(t, 1)
		before := log.count("Sync")
		submit(t, s, answer(r.deliveries()[0], queue.Ack, false))
		time.Sleep(time.Millisecond)
		do(t, s, publish("another"))
		if !durably(t, log, 1) {
			t.Error("the ack did not ride along with the publish")
		}
		time.Sleep(time.Second)
		if n := log.count("Sync") - before; n != 1 {
			t.Errorf("%d syncs for an ack and a publish", n)
		}
	})
}

func TestAnAckSomebodyWaitsForCommitsAtOnce(t *testing.T) {
	cases := map[string]func(t *testing.T, s *Store, r *recorder){
		"its result was asked for": func(t *testing.T, s *Store, r *recorder) {
			submit(t, s, answer(r.deliveries()[0], queue.Ack, true))
		},
		"it makes room for a delivery": func(t *testing.T, s *Store, r *recorder) {
			a := answer(r.deliveries()[0], queue.Ack, false)
			do(t, s, publish("waits for room in the window"))
			time.Sleep(time.Second)
			submit(t, s, a)
		},
		"AckInterval is 0": func(t *testing.T, s *Store, r *recorder) {
			s.cfg.AckInterval = 0
			submit(t, s, answer(r.deliveries()[0], queue.Ack, false))
		},
	}
	for name, ack := range cases {
		t.Run(name, func(t *testing.T) {
			play(t, func(t *testing.T) {
				log := newMemLog()
				s, r := open(t, log)
				do(t, s, publish("body"))
				submit(t, s, &queue.Members{Queue: "q", Group: "g", Count: 1})
				synctest.Wait()
				ack(t, s, r)
				began := time.Now()
				synctest.Wait()
				if !durably(t, log, 1) || time.Since(began) != 0 {
					t.Error("the ack was not durable at once")
				}
			})
		})
	}
}
