package durable

import (
	"iter"
	"sort"

	"dsend/durable/queue"
)

// usage counts, for each generation of the log, the bytes that are still
// needed of it: exactly those of messages; those of queues and message ids
// (the rest) as many as there were when they were carried into it last.
//
// The log is to have 2 × what is needed and the slack at the most:
//
//	                low                   high                    the bound
//	0 ───────────────┼─────────────────────┼────────────────────────┼─► bytes
//	 nothing is done │ compaction, in step │ crowded: what comes in │
//	                 │ with what is        │ writes as much as      │
//	                 │ written: the fuller │ compaction wins, less  │
//	                 │ the faster          │ the nearer the bound   │
//
//	low   needed × 5/4  + slack/8
//	high  needed × 15/8 + slack × 5/8
//
// Between the two the log has time to carry all it needs once round, however
// that lies: so nobody waits for compaction, unless much was removed at once.
type usage struct {
	tight bool  // the disk is nearly full: garbage is given back before the log is twice its need
	room  int64 // bytes that the disk has left
	slack int64
	parts []part // oldest first; the last one is being written
	live  int64  // bytes of messages
	rest  int64  // bytes of the rest
	bytes int64  // on disk, see footprint
	limbo int64  // bytes among them of generations that nobody needs: they are being dropped

	busy    bool  // the compactor is at work on the oldest
	carried int64 // bytes that it has carried forward
	found   int64 // bytes of the rest among them
	doubted bool  // somebody doubts that it is needed: see start
	due     int64 // bytes that are to be carried, for what was written
	credit  int64 // bytes that may be written while it is crowded
}

// part is a generation.
type part struct {
	first uint64 // commit
	last  uint64
	bytes int64
	live  int64
	rest  int64
}

// progress is what a commit has done for compaction, in bytes.
type progress struct {
	passed  int64 // of the oldest generation: the compactor has been through them
	carried int64 // carried forward
	rest    int64 // those among them that are not messages
}

func (p *progress) add(more progress) {
	p.passed += more.passed
	p.carried += more.carried
	p.rest += more.rest
}

func newUsage(slack int64, gens []Generation, spans iter.Seq[queue.Span]) usage {
	u := usage{slack: slack}
	for _, g := range gens {
		p := part{first: g.First, last: g.Last, bytes: u.footprint(g)}
		u.parts = append(u.parts, p)
		u.bytes += p.bytes
	}
	for s := range spans {
		u.count(s.Commit, s.Bytes)
	}
	return u
}

// minFootprint is what a generation counts at least: its folder, its file, and
// the time it takes at each start. Where there is little slack it is so much less
// that the few generations that a compaction cannot avoid do not call for one.
const minFootprint = 16 << 10

// footprint is how many bytes a generation counts. A small one counts more than
// it has: else a server that is restarted without end would leave tens of
// thousands of them before there is enough garbage.
func (u *usage) footprint(g Generation) int64 {
	return max(g.Bytes, min(minFootprint, u.slack/64))
}

// grow notes that the newest generation has grown, or is a new one.
func (u *usage) grow(newest Generation) {
	n := len(u.parts)
	if n == 0 || u.parts[n-1].first != newest.First {
		u.parts = append(u.parts, part{first: newest.First})
		n++
		u.wrote(u.footprint(Generation{}))
	}
	p := &u.parts[n-1]
	u.bytes += u.footprint(newest) - p.bytes
	p.bytes, p.last = u.footprint(newest), newest.Last
}

// add counts what came to be needed and what no longer is.
func (u *usage) add(held, freed []queue.Span) {
	for _, h := range held {
		u.count(h.Commit, h.Bytes)
	}
	for _, f := range freed {
		u.count(f.Commit, -f.Bytes)
	}
}

func (u *usage) count(commit uint64, bytes int64) {
	u.live += bytes
	i := sort.Search(len(u.parts), func(i int) bool { return u.parts[i].first > commit })
	if i > 0 {
		u.parts[i-1].live += bytes
	}
}

// low is how many bytes a log may have of which so many are needed before it is
// compacted.
func (u *usage) low(needed int64) int64 { return needed + needed/4 + u.slack/8 }

// high is how many bytes it may have before what comes in must wait for that.
func (u *usage) high() int64 {
	needed := u.live + u.rest
	return needed + needed/8*7 + u.slack/8*5
}

// tightSlack is how many bytes of garbage may stay while the disk is nearly
// full: a few generations.
const tightSlack = 8 << 20

// carryRoom is how many bytes the disk must have, beside what is carried, for
// the commits of the meantime.
const carryRoom = maxCommit

// start gives the generation to compact now, if the log has grown too large. On
// a disk that is so full that it could not be carried, it waits until less of it
// is needed, or others have made room.
//
// The rest counts as needed: else the ids of a busy minute, which must be kept
// for their time, would be carried round and round at the speed of the disk.
// Doubt is how the log gets small again when their time is over: then they do
// not count, and the oldest generation is carried to see what is left of it.
func (u *usage) start(doubt bool) (p part, want bool) {
	u.doubted = u.doubted || u.busy && doubt
	needed := u.live
	if !doubt {
		needed += u.rest
	}
	bytes, allowed := u.bytes-u.limbo, u.low(needed)
	if u.tight { // every generation that can be won counts
		allowed = needed + min(u.slack, tightSlack)
	}
	if u.busy || len(u.parts) < 2 || bytes <= allowed {
		return p, false
	}
	if oldest := u.parts[0]; u.tight && u.room < oldest.live+oldest.rest+carryRoom {
		return p, false
	}
	u.busy, u.doubted, u.carried, u.found = true, doubt, 0, 0
	return u.parts[0], true
}

// crowded tells that compaction does not keep up.
func (u *usage) crowded() bool { return u.busy && u.bytes > u.high() }

// fastest is how many bytes are carried at the most for each that is written,
// and maxDue how many for one commit.
const (
	fastest = 8
	maxDue  = convoyLength * pieceSize
)

// wrote notes that so many bytes were written which compaction has not carried:
// the more are to be carried the nearer the log is to its height.
func (u *usage) wrote(bytes int64) {
	if u.busy {
		u.due = min(u.due+int64(float64(bytes)*u.pace()), maxDue)
	}
}

// pace is how many bytes are to be carried for each that is written: as many as
// have passed of the way from low to high for each that is left.
func (u *usage) pace() float64 {
	low := u.low(u.live + u.rest)
	passed, left := max(u.bytes-low, 0), u.high()-u.bytes
	if left <= 0 || passed/left >= fastest {
		return fastest
	}
	return float64(passed) / float64(left)
}

// hurried tells that compaction is not to wait for anything to be written.
func (u *usage) hurried() bool { return u.crowded() || u.tight || u.doubted }

// progress counts what the compactor has done. What comes in may write the bytes
// that were won, less and less as the log nears its bound; so the log does not
// grow, and nobody waits for longer than a piece takes. A tenth of what was
// passed may be written in any case, so that nothing stands still while much is
// carried before garbage is found.
func (u *usage) progress(p progress) {
	u.carried += p.carried
	u.found += p.rest
	u.rest += p.rest
	if p.rest > 0 {
		u.parts[len(u.parts)-1].rest += p.rest
	}
	u.due -= p.carried
	room, won := u.slack/8*3, p.passed-p.carried
	left := room - min(max(u.bytes-u.high(), 0), room)
	u.credit += max(share(won, left, room), p.passed/10)
	u.credit = min(u.credit, u.slack/16) // what is saved up is no leave to be far above the bound
}

// share is n × part / whole, for sizes of which the product has no room.
func share(n, part, whole int64) int64 {
	return int64(float64(n) * float64(part) / float64(max(whole, 1)))
}

// drop forgets the oldest generation, of which no message is needed any longer.
// It tells whether that was worth its while, even if it was done in doubt: then
// the next one may be doubted, too.
func (u *usage) drop() (worth bool) {
	oldest := u.parts[0]
	u.limbo += oldest.bytes
	u.rest -= oldest.rest
	u.parts = append([]part(nil), u.parts[1:]...)
	u.busy = false
	return u.found < oldest.bytes-u.carried
}

// dropped notes that a generation is not on the disk any longer.
func (u *usage) dropped(p part) {
	u.bytes -= p.bytes
	u.limbo -= p.bytes
}
