package durable

import (
	"testing"
	"testing/synctest"
	"time"

	"dsend/durable/queue"
)

// Nothing is said before the sync that makes it true has returned.
func TestNothingIsSaidBeforeItIsDurable(t *testing.T) {
	delivered := func(t *testing.T, s *Store, r *recorder) Spoken {
		do(t, s, publish("body"))
		submit(t, s, pull(1))
		synctest.Wait()
		return r.deliveries()[0]
	}
	cases := map[string]struct {
		before func(t *testing.T, s *Store, r *recorder) []queue.Op
		said   func(r *recorder) int
	}{
		"the reply of a publish": {
			func(t *testing.T, s *Store, r *recorder) []queue.Op { return []queue.Op{publish("body")} },
			func(r *recorder) int { return len(r.answers()) },
		},
		"the reply of a repeated publish": {
			func(t *testing.T, s *Store, r *recorder) []queue.Op {
				one, two := publish("body"), publish("body")
				one.ID, two.ID = "id", "id"
				return []queue.Op{one, two}
			},
			func(r *recorder) int { return len(r.answers()) / 2 },
		},
		"a delivery to a pull": {
			func(t *testing.T, s *Store, r *recorder) []queue.Op {
				do(t, s, publish("body"))
				return []queue.Op{pull(1)}
			},
			func(r *recorder) int { return len(r.deliveries()) },
		},
		"a delivery to a group": {
			func(t *testing.T, s *Store, r *recorder) []queue.Op {
				do(t, s, publish("body"))
				return []queue.Op{&queue.Members{Queue: "q", Group: "g", Count: 1}}
			},
			func(r *recorder) int { return len(r.deliveries()) },
		},
		"a status behind a delivery": {
			func(t *testing.T, s *Store, r *recorder) []queue.Op {
				do(t, s, publish("body"))
				p := pull(2)
				p.NoWait = true
				return []queue.Op{p}
			},
			func(r *recorder) int { return len(r.statuses()) },
		},
		"the result of an ack": {
			func(t *testing.T, s *Store, r *recorder) []queue.Op {
				return []queue.Op{answer(delivered(t, s, r), queue.Ack, true)}
			},
			func(r *recorder) int { return len(r.answers()) },
		},
		"the event of a nak": {
			func(t *testing.T, s *Store, r *recorder) []queue.Op {
				return []queue.Op{answer(delivered(t, s, r), queue.Nak, false)}
			},
			func(r *recorder) int { return len(r.kinds()) - 1 }, // created
		},
		"the event of a death": {
			func(t *testing.T, s *Store, r *recorder) []queue.Op {
				return []queue.Op{answer(delivered(t, s, r), queue.Term, false)}
			},
			func(r *recorder) int { return min(1, len(r.kinds())-1) }, // created; then also the DLQ
		},
		"a changed queue": {
			func(t *testing.T, s *Store, r *recorder) []queue.Op {
				return []queue.Op{&queue.Declare{Name: "q", Settings: queue.Defaults(), Source: queue.FromAPI}}
			},
			func(r *recorder) int { return len(r.changed) },
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			play(t, func(t *testing.T) {
				log := newMemLog()
				s, r := open(t, log)
				ops := c.before(t, s, r)
				synctest.Wait()
				heard := r.heard()
				log.hold()
				submit(t, s, ops...)
				time.Sleep(5 * time.Second)
				if c.said(r) != 0 || r.heard() != heard {
					t.Error("it was said while its sync was under way")
				}
				log.release()
				synctest.Wait()
				if c.said(r) != 1 {
					t.Errorf("it was said %d times", c.said(r))
				}
			})
		})
	}
}

func TestDoWaitsForItsSync(t *testing.T) {
	play(t, func(t *testing.T) {
		log := newMemLog()
		s, r := open(t, log)
		log.hold()
		returned := false
		go func() {
			_, err := s.Do(background, publish("body"))
			returned = err == nil
		}()
		time.Sleep(5 * time.Second)
		if returned {
			t.Error("Do returned while its sync was under way")
		}
		log.release()
		synctest.Wait()
		if !returned {
			t.Error("Do did not return after its sync")
		}
		if len(r.answers()) != 0 {
			t.Error("the Speaker was told the reply of a Do")
		}
	})
}

// A Do of an op that has no reply says that the op was done.
func TestDoOfAnOpWithoutReply(t *testing.T) {
	play(t, func(t *testing.T) {
		s, r := open(t, newMemLog())
		do(t, s, publish("body"))
		ops := []queue.Op{
			pull(1), &queue.Peer{Peer: "_INBOX.a", Present: true}, &queue.Space{},
			&queue.Members{Queue: "q", Group: "g"}, &queue.Interest{Peer: "x", Inbox: "x.>"},
		}
		for _, op := range ops {
			if r := do(t, s, op); r.Op != op {
				t.Errorf("%T: the reply is of %T", op, r.Op)
			}
		}
		do(t, s, answer(r.deliveries()[0], queue.Ack, false))
		if n := len(list(t, s, "q")); n != 0 {
			t.Errorf("%d messages are left", n)
		}
	})
}

// A call is answered when all else of its commit has been said.
func TestDoIsAnsweredLast(t *testing.T) {
	play(t, func(t *testing.T) {
		s, r := open(t, newMemLog())
		fill(t, s, 1, func(int) string { return "body" })
		submit(t, s, pull(1))
		do(t, s, publish("another"))
		if n := len(r.deliveries()); n != 1 {
			t.Errorf("Do returned after %d of 1 deliveries of its commit", n)
		}
	})
}
