package durable

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"dsend/durable/queue"
)

const (
	mib       = 1 << 20
	paceSlack = 56 * mib
)

// laden is the count of a log with so many bytes of messages, and garbage until
// it is so far above or below where what comes in must wait.
func laden(live, excess int64) *usage {
	u := &usage{slack: paceSlack, live: live, busy: true, parts: []part{{first: 1, bytes: 2 * mib}, {first: 9}}}
	u.bytes = excess - u.excess()
	return u
}

// What is carried in a commit grows smoothly, from little while there is time
// to as much as a commit should have.
func TestPiecesGrowAsTheLogDoes(t *testing.T) {
	last := 0
	for excess := int64(-20 * mib); excess <= 20*mib; excess += mib / 4 {
		size := laden(56*mib, excess).carrySize()
		if size < minCarry || size > maxCarry || size < last || size-last > 8<<10 && last > 0 {
			t.Errorf("%d bytes above the mark, %d bytes are carried at once, after %d", excess, size, last)
		}
		last = size
	}
	if first := laden(56*mib, -20*mib).carrySize(); first != minCarry || last != maxCarry {
		t.Errorf("from %d to %d bytes are carried at once", first, last)
	}
}

// While it is crowded each piece of a generation gives leave to write: as much
// as it has won where the crowd begins, a tenth of it at the bound, and in
// between less the nearer the bound.
func TestCreditIsSpreadOverAGeneration(t *testing.T) {
	const passed, carried = 256 << 10, 64 << 10
	for _, c := range []struct{ excess, credit int64 }{
		{0, passed - carried}, {21 * mib / 2, (passed - carried) / 2}, {21 * mib, passed / 10}, {50 * mib, passed / 10},
	} {
		u := laden(56*mib, c.excess)
		for piece := range int64(8) {
			before := u.credit
			u.progress(progress{passed: passed, carried: carried})
			if got := u.credit - before; got != c.credit {
				t.Errorf("%d bytes above the mark, piece %d gives leave for %d bytes, not %d", c.excess, piece, got, c.credit)
			}
		}
	}
}

// Leave that nobody used is not saved up to write far beyond the bound.
func TestCreditIsNotHoarded(t *testing.T) {
	u := laden(56*mib, -mib)
	for range 1000 {
		u.progress(progress{passed: mib})
	}
	if u.credit > paceSlack/16 {
		t.Errorf("%d bytes were saved up", u.credit)
	}
}

// toy is a log and its compaction as numbers: generations of 2 MiB, and commits
// of which a part is needed for ever.
type toy struct {
	usage
	newest Generation
	passed int64 // of the oldest generation
	going  []part
	most   int64
}

// write makes a commit.
func (y *toy) write(bytes, live int64) {
	if y.newest.Bytes >= 2*mib || len(y.parts) == 0 {
		y.newest = Generation{First: y.newest.Last + 1, Last: y.newest.Last}
	}
	y.newest.Last++
	y.newest.Bytes += bytes
	y.grow(y.newest)
	y.count(y.newest.Last, live)
	y.most = max(y.most, y.bytes)
}

// sweep is what the janitor does between two commits: nothing, a piece, or the
// drop.
func (y *toy) sweep() {
	y.start(false)
	if !y.busy {
		return
	}
	oldest := y.parts[0]
	if y.passed == oldest.bytes {
		y.drop()
		if y.going = append(y.going, oldest); len(y.going) > 2 {
			y.dropped(y.going[0])
			y.going = y.going[1:]
		}
		y.passed = 0
		y.start(false)
		return
	}
	passed := min(256<<10, oldest.bytes-y.passed)
	carried := oldest.live * passed / (oldest.bytes - y.passed)
	y.passed += passed
	y.count(oldest.first, -carried)
	y.write(carried, carried)
	y.progress(progress{passed: passed, carried: carried})
}

// Publishes that come as fast as they may, and are done at once, never bring
// the log above its bound, whatever must be kept beside them; and they are
// never shut out for longer than a piece and a drop take.
func TestTheCrowdedLogStaysWithinItsBound(t *testing.T) {
	for _, live := range []int64{0, mib, 56 * mib, 500 * mib} {
		for _, slack := range []int64{16 * mib, paceSlack} {
			t.Run(fmt.Sprintf("live=%dMiB,slack=%dMiB", live/mib, slack/mib), func(t *testing.T) {
				y := toy{usage: usage{slack: slack}}
				for range live / (mib / 4) {
					y.write(mib/4, mib/4)
				}
				crowded, shutOut := 0, 0
				for range 20 * (live + slack) / mib {
					y.sweep()
					room := int64(mib)
					if y.crowded() {
						crowded++
						room = min(room, y.credit)
						y.credit -= max(room, 0)
					}
					if shutOut++; room > 0 {
						y.write(room, 0)
						shutOut = 0
					}
					if shutOut > 2 {
						t.Fatalf("nothing was written for %d steps of compaction", shutOut)
					}
				}
				if bound := 2*live + slack; y.most > bound || y.most < bound/2 {
					t.Errorf("the log had up to %d bytes, the bound is %d", y.most, bound)
				}
				if crowded == 0 {
					t.Error("it was never crowded")
				}
			})
		}
	}
}

// heaviest is an Observer that keeps the bytes of the largest commit.
type heaviest struct{ bytes atomic.Int64 }

func (h *heaviest) Commit(_, bytes int, _ time.Duration) {
	h.bytes.Store(max(h.bytes.Load(), int64(bytes)))
}

// What is not a message is carried in pieces, too.
func TestTheRestIsCarriedInPieces(t *testing.T) {
	play(t, func(t *testing.T) {
		log := newMemLog()
		log.size = 1 << 20
		seen := &heaviest{}
		s, _ := open(t, log, func(c *Config) { c.Slack, c.Observer = 1<<20, seen })
		const ids = 5000
		ops := make([]queue.Op, ids)
		for i := range ops {
			p := publish("")
			p.ID = fmt.Sprintf("%0100d", i)
			ops[i] = p
		}
		submit(t, s, ops...)
		do(t, s, &queue.Purge{Name: "q"})
		seen.bytes.Store(0)
		for log.count("Drop") == 0 {
			fill(t, s, 100, func(int) string { return string(make([]byte, 1000)) })
			do(t, s, &queue.Purge{Name: "q"})
		}
		if n := seen.bytes.Load(); n > 200<<10 {
			t.Errorf("a commit had %d bytes", n)
		}
		must(t, s.Close())
		again, _ := open(t, log.crash(0))
		for _, i := range []int{0, ids / 2, ids - 1} {
			p := publish("")
			p.ID = fmt.Sprintf("%0100d", i)
			if r := do(t, again, p); !r.Duplicate {
				t.Errorf("id %d was forgotten", i)
			}
		}
	})
}

// A commit has one piece of what is carried, however many are on their way, and
// all else that is urgent.
func TestACommitHasOnePiece(t *testing.T) {
	w := worker{Store: &Store{state: queue.New(config(nil).Queue)}, b: &batch{}}
	piece, finish := item{op: &queue.Carry{}}, item{op: &queue.Carry{Finish: true}}
	w.urgent = []item{{op: &queue.Space{}}, piece, finish, piece, {op: &queue.Space{}}, piece, finish}
	for turn, left := range []int{4, 2, 0, 0} {
		w.state.Begin(uint64(turn+1), 1, &w.b.out)
		w.stepUrgent(1)
		if len(w.urgent) != left {
			t.Errorf("after turn %d %d are left, not %d", turn, len(w.urgent), left)
		}
	}
	if w.b.ops != 7 {
		t.Errorf("%d ops were done", w.b.ops)
	}
}
