package durable

import (
	"iter"
	"sort"

	"dsend/durable/queue"
)

// usage counts, for each generation of the log, the bytes that messages still
// need.
type usage struct {
	parts []part // oldest first; the last one is being written
	live  int64  // bytes of messages
	bytes int64  // on disk
	busy  bool   // the janitor is at work on the oldest
}

type part struct {
	first uint64 // commit
	last  uint64
	bytes int64
	live  int64
}

func newUsage(gens []Generation, spans iter.Seq[queue.Span]) (u usage) {
	for _, g := range gens {
		u.parts = append(u.parts, part{first: g.First, last: g.Last, bytes: g.Bytes})
		u.bytes += g.Bytes
	}
	for s := range spans {
		u.count(s.Commit, s.Bytes)
	}
	return u
}

// grow notes that the newest generation has grown, or is a new one.
func (u *usage) grow(newest Generation) {
	n := len(u.parts)
	if n == 0 || u.parts[n-1].first != newest.First {
		u.parts = append(u.parts, part{first: newest.First})
		n++
	}
	p := &u.parts[n-1]
	u.bytes += newest.Bytes - p.bytes
	p.bytes, p.last = newest.Bytes, newest.Last
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

// slack is how many bytes beside twice the live ones the log may have before
// it is compacted: half of what is promised (64 MiB), so that there is time.
const slack = 32 << 20

// oldest is the generation to compact now, if the log has grown too large.
func (u *usage) oldest() (g Generation, want bool) {
	if u.busy || len(u.parts) < 2 || u.bytes <= 2*u.live+slack {
		return g, false
	}
	p := u.parts[0]
	return Generation{First: p.first, Last: p.last, Bytes: p.bytes}, true
}

// drop forgets the oldest generation.
func (u *usage) drop() {
	u.bytes -= u.parts[0].bytes
	u.live -= u.parts[0].live
	u.parts = append([]part(nil), u.parts[1:]...)
	u.busy = false
}
