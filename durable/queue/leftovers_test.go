package queue

import (
	"fmt"
	"math"
	"testing"
	"time"
)

// TestNothingIsLeft lets a world be as it will, and then everything be done:
// nothing may remain that takes memory.
func TestNothingIsLeft(t *testing.T) {
	for seed := range uint64(5) {
		w := newWorld(t)
		c := newSeeded(seed)
		for range 200 {
			w.step(c)
		}
		if w.model.stopping {
			w.settle()
			w.crash(w.states[len(w.states)-1])
		}
		for _, i := range w.state.Infos() {
			w.do(&Purge{Name: i.Name})
			for _, group := range []string{"g", "h"} {
				w.do(&Members{Queue: i.Name, Group: group})
			}
		}
		for _, name := range peerNames {
			w.do(&Peer{Peer: name})
		}
		w.settle()
		w.now += int64(time.Hour)
		w.do()
		w.settle()
		if left := leftovers(w.state); left != "" {
			t.Errorf("seed %d: %s", seed, left)
		}
	}
}

// leftovers names what a State without messages and clients still holds.
func leftovers(s *State) (left string) {
	holds := func(what string, n int) {
		if n > 0 {
			left += fmt.Sprintf("%d %s, ", n, what)
		}
	}
	holds("moved", s.moved.len())
	holds("origins", s.origins.len())
	holds("peers", s.peers.len())
	holds("deadlines", s.deadlines.Len())
	holds("expiries", s.expiries.Len())
	holds("alarms", s.alarms.Len())
	holds("dirty", len(s.dirty))
	for _, q := range s.byID {
		holds("messages of "+q.name, q.all.len()+int(q.ready.len()))
		holds("keys of "+q.name, q.keys.len())
		holds("ids of "+q.name, q.ids.ids.len()+len(q.ids.line)-q.ids.head)
		holds("pulls of "+q.name, len(q.demand.pulls)+len(q.demand.hasty))
		holds("takers of "+q.name, q.demand.turn.Len())
		holds("groups of "+q.name, len(q.demand.groups))
		holds("bytes of "+q.name, int(q.bytes))
		holds("dead of "+q.name, int(q.dead+q.letters))
		holds("spent of "+q.name, len(q.spent))
	}
	return left
}

// TestARemovedQueueWakesNobody removes a queue that had ids to forget, messages
// to expire, and deliveries to time out.
func TestARemovedQueueWakesNobody(t *testing.T) {
	cfg := testConfig()
	cfg.Defaults.MaxAge = time.Minute
	r := newRig(t, cfg)
	r.do(t,
		&Publish{Queue: "q", ID: "x", MaxAttempts: -1}, &Publish{Queue: "q", Delay: time.Second, MaxAttempts: -1},
		&Publish{Queue: "q", MaxAttempts: -1}, &Members{Queue: "q", Group: "g", Count: 1})
	r.done(t, &Remove{Name: "q"})
	if next := r.state.Next(); next != math.MaxInt64 {
		t.Errorf("it wants to be woken at %s", short(next-epoch))
	}
	if left := leftovers(r.state); left != "" {
		t.Error(left)
	}
}

// TestIdsAreForgotten publishes for a long time with ids that are new each time,
// while the log is compacted: only those of a window may be kept.
func TestIdsAreForgotten(t *testing.T) {
	cfg := testConfig()
	cfg.Defaults.DedupeWindow = 10 * time.Second
	r := newRig(t, cfg)
	for i := range 500 {
		r.now += int64(time.Second)
		r.done(t, &Publish{Queue: "q", ID: fmt.Sprint(i), MaxAttempts: -1})
		if i%3 == 0 {
			n := len(r.log) / 2
			r.carry(t, n, 10, false, func() {})
			r.drop(n)
		}
		q := r.state.byName["q"]
		if n, line := q.ids.ids.len(), len(q.ids.line)-q.ids.head; n > 11 || line > 22 || len(q.ids.line) > 200 {
			t.Fatalf("after %d: %d ids, %d of %d in the line", i, n, line, len(q.ids.line))
		}
	}

	// also while they are read again
	s := r.recovered(t, r.log)
	if q := s.byName["q"]; q.ids.ids.len() > 11 {
		t.Errorf("%d ids recovered", q.ids.ids.len())
	}
}

// TestOutGivesMemoryBack proves that one large commit does not keep its memory.
func TestOutGivesMemoryBack(t *testing.T) {
	var out Out
	out.Speech = make([]Speech, 10, 10*outKept)
	out.Replies = append(make([]Reply, 0, 100), Reply{Queue: "q"})
	out.Reset()
	if cap(out.Speech) != 0 {
		t.Errorf("keeps room for %d", cap(out.Speech))
	}
	if cap(out.Replies) != 100 || out.Replies[:1][0].Queue != "" {
		t.Errorf("keeps room for %d, with %q in it", cap(out.Replies), out.Replies[:1][0].Queue)
	}
}
