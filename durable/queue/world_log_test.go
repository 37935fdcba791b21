package queue

import (
	"fmt"
	"maps"
	"slices"
)

// snapshot is how things were when a commit was durable and the time had been
// told again.
type snapshot struct {
	commit uint64
	now    int64
	dump   string
	model  *model
	doomed map[identity]int64 // when they try again, which is not in the log
}

// settle ends the commit: what is said is compared, and a crash may come back
// to here.
func (w *world) settle() {
	w.t.Helper()
	before := w.last
	out := w.commit(w.t)
	twin := w.twinOut
	w.twinOut = &Out{}
	w.twin.Begin(w.last+1, w.now, w.twinOut)
	w.agreeOnWords(out, twin)
	w.count(out)
	for _, sp := range out.Speech {
		if sp.Status == 0 {
			w.hears(sp)
		}
	}
	w.tick()
	if w.last != before {
		w.keep()
	}
}

// hears keeps a delivery to be answered, and reads its message from the log.
func (w *world) hears(sp Speech) {
	w.t.Helper()
	m := w.message(w.t, sp.Place, sp.Size)
	if got, want := string(m.Body), fmt.Sprintf("%d %d", m.At, m.Priority); got != want {
		w.fatalf("delivered %q, published %q", got, want)
	}
	if m.At != sp.At {
		w.fatalf("message of %d delivered as of %d", m.At, sp.At)
	}
	w.deliveries = append(w.deliveries, delivered{sp, w.last})
	if len(w.deliveries) > 30 {
		w.deliveries = w.deliveries[1:]
	}
}

// tick tells the time again, so that nothing is left to be done at it.
func (w *world) tick() {
	w.t.Helper()
	w.state.Tick(w.now, w.out)
	w.twin.Tick(w.now, w.twinOut)
	w.model.tick(w.now)
	w.hear()
	w.check(w.t)
	w.agree()
}

// count keeps the account of the log that its owner keeps, and compares it with
// what the messages need.
func (w *world) count(out *Out) {
	w.t.Helper()
	for _, h := range out.Held {
		w.needed[h.Commit] += h.Bytes
	}
	for _, f := range out.Freed {
		w.needed[f.Commit] -= f.Bytes
	}
	maps.DeleteFunc(w.needed, func(_ uint64, bytes int64) bool { return bytes == 0 })
	if spans := w.spans(); !maps.Equal(w.needed, spans) {
		w.fatalf("the account of the log is %v, the messages need %v", w.needed, spans)
	}
}

// spans is how many bytes the messages need of each commit.
func (w *world) spans() map[uint64]int64 {
	spans := map[uint64]int64{}
	for s := range w.state.Spans() {
		spans[s.Commit] += s.Bytes
	}
	return spans
}

func (w *world) keep() {
	s := snapshot{commit: w.last, now: w.now, dump: dump(w.state), model: w.model.clone(), doomed: map[identity]int64{}}
	for _, q := range w.state.byID {
		for _, m := range q.all.m {
			if m.doom != 0 {
				s.doomed[m.identity()] = m.turn.At()
			}
		}
	}
	w.states = append(w.states, s)
}

// recoverTo builds a State from the log as it was at a snapshot, and compares
// it with what there was.
func (w *world) recoverTo(s snapshot) (*State, *Out) {
	w.t.Helper()
	i := slices.IndexFunc(w.log, func(e entry) bool { return e.number == s.commit })
	state := w.recovered(w.t, w.log[:i+1])
	if err := state.Check(); err != nil {
		w.fatalf("recovered at commit %d: %v", s.commit, err)
	}
	for id, due := range s.doomed {
		if m := state.byID[id.queue].all.get(id.seq); m != nil && m.doom != 0 {
			state.deadlines.Set(m, due)
		}
	}
	out := &Out{}
	state.Begin(s.commit+1, s.now, out)
	state.Tick(s.now, out)
	if d := difference(s.dump, dump(state)); d != "" {
		w.fatalf("commit %d is recovered otherwise: %s", s.commit, d)
	}
	return state, out
}

// crash loses everything after a commit.
func (w *world) crash(s snapshot) {
	w.t.Helper()
	w.tellf("crash back to commit %d of %d", s.commit, w.last)
	w.state, w.out = w.recoverTo(s)
	w.twin, w.twinOut = w.recoverTo(s)
	w.log = slices.DeleteFunc(w.log, func(e entry) bool { return e.number > s.commit })
	w.states = slices.DeleteFunc(w.states, func(o snapshot) bool { return o.commit > s.commit })
	w.last = s.commit
	w.needed = w.spans()
	w.out.Held, w.out.Freed = nil, nil // that account begins with what is there
	w.twinOut.Held, w.twinOut.Freed = nil, nil
	cfg := w.model.cfg
	w.model = s.model.clone()
	w.model.cfg = cfg
	w.model.consumersRing()                                                                            // at that time their idleness began anew
	w.said = said{slices.Clone(w.out.Replies), slices.Clone(w.out.Speech), slices.Clone(w.out.Events)} // what the time at the snapshot led to
	for _, q := range w.model.queues {
		q.totals = w.state.byName[q.name].totals // they begin anew
	}
	w.deliveries = slices.DeleteFunc(w.deliveries, func(d delivered) bool { return d.commit > s.commit })
	w.agree()
	w.tick() // the new life begins now, and commits what that leads to: how long a consumer was idle is in no log
}

// readAll reads every message from the log: none may be in what was dropped.
func (w *world) readAll() {
	w.t.Helper()
	for _, i := range w.state.Infos() {
		page, _ := w.state.List(List{Queue: i.Name})
		for _, e := range page {
			if m := w.message(w.t, e.Place, e.Size); string(m.Body) != fmt.Sprintf("%d %d", e.At, e.Priority) {
				w.fatalf("message %d of %s reads %q", e.Seq, i.Name, m.Body)
			}
		}
	}
}

// compact carries the oldest commits forward, with other things happening in
// between, and drops them; or crashes before it does.
func (w *world) compact(c choice) {
	w.t.Helper()
	n := 1 + c.n(len(w.log)-1)
	through := w.log[n-1].number
	w.tellf("compact through %d", through)
	chunk := 1 + c.n(6)
	op := &Carry{Through: through}
	flush := func() {
		w.do(op)
		op = &Carry{Through: through}
		if c.n(2) == 0 {
			w.settle()
		}
		for range c.n(3) {
			w.ops(c)
		}
	}
	for _, e := range slices.Clone(w.log[:n]) {
		for offset, record := range Messages(e.data) {
			op.Add(e.number, offset, record)
			if len(op.found) == chunk {
				flush()
			}
		}
	}
	if c.n(8) == 0 {
		w.settle()
		w.crash(w.states[len(w.states)-1])
		return
	}
	op.Finish = true
	w.do(op)
	w.settle()
	for w.states[len(w.states)-1].now < w.now { // message ids that were in time then are over, and were not carried
		w.ops(c)
		w.settle()
	}
	w.drop(n)
	w.readAll()
	newest := w.states[len(w.states)-1]
	w.states = []snapshot{newest}
	w.recoverTo(newest)
	if c.n(4) == 0 {
		w.crash(newest)
	}
}
