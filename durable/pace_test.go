package durable

import (
	"fmt"
	"math"
	"sync/atomic"
	"testing"
	"time"

	"dsend/durable/queue"
)

const (
	mib       = 1 << 20
	paceSlack = 56 * mib
)

// laden is the count of a log that is being compacted, with so many bytes of
// messages, so far on the way from low (0) to high (1) and beyond to the bound
// (2).
func laden(live int64, way float64) *usage {
	u := &usage{slack: paceSlack, live: live, busy: true, parts: []part{{first: 1, bytes: 2 * mib}, {first: 9}}}
	low, high := float64(u.low(live)), float64(u.high())
	if u.bytes = int64(low + way*(high-low)); way > 1 {
		u.bytes = u.high() + int64((way-1)*float64(u.slack/8*3))
	}
	return u
}

// The fuller the log the more is carried for each byte that is written: nothing
// where it begins, and all that a commit should have long before anybody must
// wait.
func TestCompactionKeepsInStepWithWhatIsWritten(t *testing.T) {
	for _, c := range []struct{ way, pace float64 }{{-1, 0}, {0, 0}, {0.25, 1. / 3}, {0.5, 1}, {0.75, 3}, {0.95, fastest}, {1.5, fastest}} {
		u := laden(56*mib, c.way)
		if got := u.pace(); math.Abs(got-c.pace) > 0.01 {
			t.Errorf("%.2f of the way %.2f bytes are carried for each, not %.2f", c.way, got, c.pace)
		}
		if u.wrote(1000); u.due != int64(1000*u.pace()) {
			t.Errorf("%.2f of the way %d bytes are due for 1000", c.way, u.due)
		}
		if u.wrote(100 * mib); u.due > maxDue {
			t.Errorf("%d bytes are due for one commit", u.due)
		}
	}
}

// While it is crowded each piece of a generation gives leave to write: as much
// as it has won where the crowd begins, a tenth of it at the bound, and in
// between less the nearer the bound.
func TestCreditIsSpreadOverAGeneration(t *testing.T) {
	const passed, carried = 256 << 10, 64 << 10
	for _, c := range []struct {
		way    float64
		credit int64
	}{{1, passed - carried}, {1.5, (passed - carried) / 2}, {2, passed / 10}, {5, passed / 10}} {
		u := laden(56*mib, c.way)
		for piece := range int64(8) {
			before := u.credit
			u.progress(progress{passed: passed, carried: carried})
			if got := u.credit - before; got < c.credit-1 || got > c.credit+1 {
				t.Errorf("%.1f of the way, piece %d gives leave for %d bytes, not %d", c.way, piece, got, c.credit)
			}
		}
	}
}

// Leave that nobody used is not saved up to write far beyond the bound.
func TestCreditIsNotHoarded(t *testing.T) {
	u := laden(56*mib, 0.9)
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
	moved  int64
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

// sweep is what the compactor does in a commit: nothing, some pieces, or the
// drop. A generation is gone from the disk when two more are to go.
func (y *toy) sweep() {
	y.start(false)
	for passed := int64(0); y.busy && passed < maxDue && (y.hurried() || y.due > 0); passed += pieceSize {
		oldest := y.parts[0]
		if y.passed == oldest.bytes {
			y.drop()
			y.passed = 0
			if y.going = append(y.going, oldest); len(y.going) > 2 {
				y.dropped(y.going[0])
				y.going = y.going[1:]
			}
			y.start(false)
			return
		}
		piece := min(pieceSize, oldest.bytes-y.passed)
		carried := oldest.live * piece / (oldest.bytes - y.passed)
		y.passed += piece
		y.count(oldest.first, -carried)
		y.write(carried, carried)
		y.moved += carried
		y.progress(progress{passed: piece, carried: carried})
	}
}

// publish writes up to so many bytes that nobody needs any longer, as many as
// may be.
func (y *toy) publish(bytes int64) (wrote int64) {
	if wrote = bytes; y.crowded() {
		wrote = max(0, min(bytes, y.credit))
		y.credit -= wrote
	}
	if wrote > 0 {
		y.write(wrote, 0)
		y.usage.wrote(wrote)
	}
	return wrote
}

// fill is a log of which all is needed.
func (y *toy) fill(live int64) {
	for range live / (mib / 4) {
		y.write(mib/4, mib/4)
	}
}

// laps are so many rounds over a log that is as large as it may be.
func laps(n, live, slack int64) int64 { return n * (2*live + slack) }

// Commits that are not larger than what compaction can carry in the same time
// never wait for it, whatever must be kept beside them, and however it lies: at
// first all of it lies at the front, where nothing is to be won. It takes about
// one and a half times as much writing as the publishes do.
func TestPublishesDoNotWaitForCompaction(t *testing.T) {
	for _, live := range []int64{0, mib, 56 * mib, 500 * mib} {
		for _, slack := range []int64{16 * mib, paceSlack} {
			t.Run(fmt.Sprintf("live=%dMiB,slack=%dMiB", live/mib, slack/mib), func(t *testing.T) {
				y := toy{usage: usage{slack: slack}}
				y.fill(live)
				const commit = 100 << 10 // 20 MB/s at 5 ms
				total, before := laps(5, live, slack), int64(0)
				for written := int64(0); written < total; written += commit {
					if written > total/2 && before == 0 {
						before = y.moved
					}
					y.sweep()
					if y.publish(commit) < commit {
						t.Fatalf("after %d MiB they wait", written/mib)
					}
				}
				carried := float64(y.moved-before) / float64(total/2)
				t.Logf("for each byte %.2f were carried; up to %d MiB", carried, y.most/mib)
				if carried > 1.7 || live > 0 && carried < 0.1 {
					t.Errorf("for each byte that was published %.2f were carried", carried)
				}
			})
		}
	}
}

// Publishes that come as fast as they may, and are done at once, never bring
// the log above its bound, whatever must be kept beside them; and they are
// never shut out for longer than a few pieces and a drop take.
func TestTheCrowdedLogStaysWithinItsBound(t *testing.T) {
	for _, live := range []int64{0, mib, 56 * mib, 500 * mib} {
		for _, slack := range []int64{16 * mib, paceSlack} {
			t.Run(fmt.Sprintf("live=%dMiB,slack=%dMiB", live/mib, slack/mib), func(t *testing.T) {
				y := toy{usage: usage{slack: slack}}
				y.fill(live)
				crowded, shutOut := false, 0
				for written := int64(0); written < laps(5, live, slack); {
					y.sweep()
					crowded = crowded || y.crowded()
					n := y.publish(maxCommit)
					written += n
					if shutOut++; n > 0 {
						shutOut = 0
					}
					if shutOut > 2 {
						t.Fatalf("nothing was written for %d steps of compaction", shutOut)
					}
				}
				if bound := 2*live + slack; y.most > bound {
					t.Errorf("the log had up to %d bytes, the bound is %d", y.most, bound)
				}
				if live > 0 && !crowded {
					t.Error("it was never crowded")
				}
			})
		}
	}
}

// Much that is removed at once is swept without anything being written.
func TestWhatIsRemovedIsSweptByItself(t *testing.T) {
	y := toy{usage: usage{slack: paceSlack}}
	y.fill(500 * mib)
	for i := range y.parts { // a purge
		y.count(y.parts[i].first, -y.parts[i].live)
	}
	for range 10_000 {
		y.sweep()
	}
	if y.bytes > paceSlack {
		t.Errorf("the log has %d bytes still", y.bytes)
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

// Pieces that are carried ride along with what has come in, as far as they are
// due, and go by themselves when there is no time. Nothing else that is urgent
// waits with them.
func TestPiecesRideAlong(t *testing.T) {
	piece, other := item{op: &queue.Carry{}, passed: maxDue / 4}, item{op: &queue.Space{}}
	for _, c := range []struct {
		name string
		u    usage
		in   []item
		left int
	}{
		{"nothing is due", usage{}, []item{other}, 5},
		{"nothing comes in", usage{due: 1}, nil, 5},
		{"something is due", usage{due: 1}, []item{other}, 0},
		{"no time to wait", usage{doubted: true}, nil, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &Store{state: queue.New(config(nil).Queue), usage: c.u}
			w := worker{Store: s, b: &batch{}, items: c.in}
			w.state.Begin(1, 1, &w.b.out)
			w.urgent = []item{piece, piece, other, piece, piece, piece, other}
			w.stepUrgent(1)
			if len(w.carries) != c.left || w.b.ops != 7-c.left {
				t.Errorf("%d pieces are left, not %d; %d ops were done", len(w.carries), c.left, w.b.ops)
			}
		})
	}
}
