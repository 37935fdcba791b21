package queue

import (
	"testing"
	"time"
)

// Much that is due at once must not become one enormous commit, nor hold up
// what else there is: one turn does so much, and asks for the next at once.

const many = 3*tickBudget + 10

func publishMany(t *testing.T, r *rig, n int, like Publish) {
	t.Helper()
	ops := make([]Op, n)
	for i := range ops {
		ops[i] = &like
	}
	for _, reply := range r.do(t, ops...).Replies {
		if reply.Err != nil {
			t.Fatal(reply.Err)
		}
	}
}

// turns lets the loop turn while the State asks for it at once, and tells what
// happened in each.
func turns(t *testing.T, r *rig) (outs []*Out) {
	t.Helper()
	for r.state.Next() <= r.now {
		if outs = append(outs, r.do(t)); len(outs) > 100 {
			t.Fatal("it never comes to an end")
		}
	}
	return outs
}

func events(out *Out, kind Kind) (n int) {
	for _, e := range out.Events {
		if e.Kind == kind {
			n++
		}
	}
	return n
}

// spread proves that n events came, and at most a budget of them in one turn.
func spread(t *testing.T, outs []*Out, kind Kind, n int) {
	t.Helper()
	total := 0
	for i, out := range outs {
		here := events(out, kind)
		if total += here; here > tickBudget {
			t.Errorf("turn %d: %d %v at once", i, here, kind)
		}
	}
	if total != n {
		t.Errorf("%d %v, not %d", total, kind, n)
	}
	if len(outs) < n/tickBudget {
		t.Errorf("%d turns for %d", len(outs), n)
	}
}

func TestManyPlainMessagesExpireInTurns(t *testing.T) {
	cfg := testConfig()
	cfg.Defaults.MaxAge = time.Minute
	r := newRig(t, cfg)
	publishMany(t, r, many, Publish{Queue: "q", MaxAttempts: -1})
	r.done(t, &Pause{Name: "q", Pause: true}) // stops no clock
	r.now += int64(time.Minute)
	spread(t, turns(t, r), EventDied, many)
}

func TestManyMessagesExpireInTurns(t *testing.T) {
	r := newRig(t, testConfig())
	publishMany(t, r, many, Publish{Queue: "q", MaxAttempts: -1, TTL: time.Minute})
	r.now += int64(time.Minute)
	spread(t, turns(t, r), EventDied, many)
}

func TestManyDeliveriesTimeOutInTurns(t *testing.T) {
	cfg := testConfig()
	cfg.Defaults.MaxInFlight = many
	r := newRig(t, cfg)
	publishMany(t, r, many, Publish{Queue: "q", MaxAttempts: 1})
	r.do(t, &Pull{Queue: "q", Inbox: "in", Batch: many})
	turns(t, r)
	if i, _ := r.state.Info("q"); i.InFlight != many {
		t.Fatalf("%d in flight", i.InFlight)
	}
	r.now += int64(time.Minute)
	spread(t, turns(t, r), EventDied, many)
}

func TestALoweredLimitKillsInTurns(t *testing.T) {
	cfg := testConfig()
	cfg.Defaults.MaxInFlight = many
	r := newRig(t, cfg)
	publishMany(t, r, many, Publish{Queue: "q", MaxAttempts: -1})
	r.do(t, &Pull{Queue: "q", Inbox: "in", Peer: "p", Batch: many})
	turns(t, r)
	r.do(t, &Peer{Peer: "p"}) // all fail
	r.now += int64(2 * time.Second)
	turns(t, r)
	lowered := cfg.Defaults
	lowered.MaxAttempts = 1
	first := r.do(t, &Declare{Name: "q", Settings: lowered, Source: FromAPI})
	if first.Replies[0].Count != many {
		t.Errorf("told that %d die, not %d", first.Replies[0].Count, many)
	}

	// A restart in the middle forgets nobody, and nobody is delivered meanwhile;
	// not even if the log has been compacted in between.
	r.crash(t, 0)
	older := len(r.log) - 1 // than the lowered limit
	carry := &Carry{Through: r.log[older-1].number, Finish: true}
	for _, e := range r.log[:older] {
		for offset, record := range Messages(e.data) {
			carry.Add(e.number, offset, record)
		}
	}
	r.state.Step(carry, r.now, r.out)
	r.commit(t)
	r.drop(older)
	r.crash(t, 0)
	outs := []*Out{first, r.do(t, &Pull{Queue: "q", Inbox: "in", Batch: many, Expires: time.Hour})}
	outs = append(outs, turns(t, r)...)
	spread(t, outs, EventDied, many)
	for _, out := range outs {
		if len(out.Speech) > 0 {
			t.Fatalf("delivered: %+v", out.Speech[0])
		}
	}
}

func TestALargePullIsServedInTurns(t *testing.T) {
	cfg := testConfig()
	cfg.Defaults.MaxInFlight = 2 * many
	r := newRig(t, cfg)
	publishMany(t, r, many, Publish{Queue: "q", MaxAttempts: -1})
	publishMany(t, r, 5, Publish{Queue: "other", MaxAttempts: -1})

	// no_wait waits for all there is, and for no more
	outs := []*Out{r.do(t, &Pull{Queue: "q", Inbox: "in", Batch: 2 * many, NoWait: true},
		&Pull{Queue: "other", Inbox: "in2", Batch: 5})}
	outs = append(outs, turns(t, r)...)
	got, last := 0, Status(0)
	for i, out := range outs {
		here := 0
		for _, sp := range out.Speech {
			if sp.Queue == "q" && sp.Status == 0 {
				here++
			}
			last = sp.Status
		}
		if got += here; here > 2*matchBudget {
			t.Errorf("turn %d: %d deliveries", i, here)
		}
	}
	if got != many || last != StatusTimeout {
		t.Errorf("%d deliveries, and status %d at the end", got, last)
	}
	if i, _ := r.state.Info("other"); i.InFlight != 5 {
		t.Error("the other queue was held up")
	}
}
