package queue

import (
	"bytes"
	"fmt"
	"time"
)

// tester is a *testing.T, a *testing.B or a *rapid.T.
type tester interface {
	Helper()
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// epoch is when the tests begin: no time is 0, which often means "none".
const epoch = int64(1_000_000 * time.Second)

// entry is a commit as the log holds it.
type entry struct {
	number uint64
	data   []byte
}

// rig is a State and the log in memory, driven as durable.Store drives it.
type rig struct {
	cfg   Config
	state *State
	log   []entry // the oldest first
	last  uint64  // number of the newest commit
	out   *Out    // of the commit that is being built
	now   int64
}

// testConfig has a backoff without jitter, so that times can be read.
func testConfig() Config {
	cfg := Config{AutoCreate: true, Defaults: Defaults(), Grace: time.Second}
	cfg.Defaults.Backoff.Jitter = 0
	return cfg
}

func newRig(t tester, cfg Config) *rig {
	r := &rig{cfg: cfg, state: New(cfg), out: &Out{}, now: epoch}
	r.state.Begin(1, r.now, r.out)
	r.state.Found([16]byte{1, 2, 3}, r.out)
	r.commit(t)
	return r
}

// turn is one turn of the store's loop without its commit.
func (r *rig) turn(t tester, ops ...Op) {
	t.Helper()
	r.state.Tick(r.now, r.out)
	for _, op := range ops {
		r.state.Step(op, r.now, r.out)
	}
	r.state.Match(r.now, r.out)
	r.check(t)
}

func (r *rig) check(t tester) {
	t.Helper()
	if err := r.state.Check(); err != nil {
		t.Fatalf("check: %v", err)
	}
}

// commit ends the commit and gives what may be said. It begins the next one.
func (r *rig) commit(t tester) *Out {
	t.Helper()
	said := r.out
	if !said.Empty() {
		r.last++
		r.log = append(r.log, entry{r.last, bytes.Clone(said.Records)})
	}
	r.out = &Out{}
	r.state.Begin(r.last+1, r.now, r.out)
	return said
}

// do is a turn with its commit.
func (r *rig) do(t tester, ops ...Op) *Out {
	t.Helper()
	r.turn(t, ops...)
	return r.commit(t)
}

// done is the reply to one op that must not be refused.
func (r *rig) done(t tester, op Op) Reply {
	t.Helper()
	out := r.do(t, op)
	if len(out.Replies) != 1 || out.Replies[0].Err != nil {
		t.Fatalf("%T: %+v", op, out.Replies)
	}
	return out.Replies[0]
}

// recovered builds a State from a log.
func (r *rig) recovered(t tester, log []entry) *State {
	t.Helper()
	s, err := recoverState(r.cfg, log)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func recoverState(cfg Config, log []entry) (*State, error) {
	s := New(cfg)
	var out Out
	for _, e := range log {
		if err := s.Recover(e.number, e.data, &out); err != nil {
			return nil, fmt.Errorf("commit %d: %w", e.number, err)
		}
		out.Reset()
	}
	return s, s.Recovered()
}

// crash loses what was not committed and the newest commits, and recovers.
func (r *rig) crash(t tester, lose int) {
	t.Helper()
	r.log = r.log[:len(r.log)-min(lose, len(r.log)-1)]
	r.last = r.log[len(r.log)-1].number
	r.state = r.recovered(t, r.log)
	r.now = max(r.now, r.state.Now())
	r.out = &Out{}
	r.state.Begin(r.last+1, r.now, r.out)
	r.check(t)
}

// carry takes the oldest n commits forward, at most chunk messages at a time,
// with a commit after each when apart is set; between is called between two.
// The commits are still in the log afterwards.
func (r *rig) carry(t tester, n, chunk int, apart bool, between func()) {
	t.Helper()
	through := r.log[n-1].number
	op := &Carry{Through: through}
	flush := func() {
		r.turn(t, op)
		if apart {
			r.commit(t)
		}
		between()
		op = &Carry{Through: through}
	}
	for _, e := range r.log[:n:n] {
		for offset, record := range Messages(e.data) {
			op.Add(e.number, offset, record)
			if len(op.found) >= chunk {
				flush()
			}
		}
	}
	op.Finish = true
	r.turn(t, op)
	r.commit(t)
}

// drop deletes the oldest n commits.
func (r *rig) drop(n int) { r.log = append([]entry(nil), r.log[n:]...) }

// message reads a message from the log.
func (r *rig) message(t tester, place Place, size uint32) Message {
	t.Helper()
	for _, e := range r.log {
		if e.number == place.Commit {
			m, err := DecodeMessage(e.data[place.Offset : place.Offset+size])
			if err != nil {
				t.Fatalf("message at %v: %v", place, err)
			}
			return m
		}
	}
	t.Fatalf("commit %d of a message is not in the log", place.Commit)
	return Message{}
}
