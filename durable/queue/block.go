package queue

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
)

// A block is some runs, in order of sequence. What is coded of each is where it
// begins and how it differs from the one before it, of the first one from
// nothing; then comes how long that one before it is:
//
//	seq        coded                                       last
//	 │   ┌──────┬──────────┬───────────┬───────────┐   ┌────────────┐
//	 5   │ at 1 │ 4, at 5  │ 86, at 95 │ 1, at 97  │   │ at 97, 2 … │  is added to
//	     └──────┴──────────┴───────────┴───────────┘   └────────────┘
//	      gone: below seq
//
// The usual is one message, and behind it one in the same commit and of the
// same time, only of another size:
//
//	uvarint: zigzag(size - size before) << 1
//
// else there is a sum of flags, and of what they name only that which differs:
//
//	uvarint: flags << 1 | 1
//	uvarint: messages of the run before, if not one
//	uvarint: numbers between the two
//	varint:  commits between the two; uvarint: offset in the new one
//	varint:  bytes between the two, if the commit is the same
//	varint:  ns between the two
//	varint:  size - size before
type block struct {
	seq   uint64
	coded []byte
	last  run
}

func newBlock(r run) *block {
	b := &block{}
	b.add(r)
	return b
}

// blockSize is from how many coded bytes on a block is full: about 100 runs of
// messages of varying size, and 30 where each has a commit of its own. A larger
// block would be slower to change in the middle.
const blockSize = 240

// runSize is what a run takes in a block at the most, or nearly.
const runSize = 24

// Flags of a coded run.
const (
	hasLength = 1 << iota
	hasGap
	hasCommit
	hasBytes
	hasTime
	hasSize
)

func (b *block) full() bool { return len(b.coded) >= blockSize }

// add adds a run behind all others.
func (b *block) add(r run) {
	switch {
	case r.n == 0:
		return
	case b.last.joins(r):
		b.last.n += r.n
		return
	case b.last.n == 0:
		b.seq = r.seq
	}
	b.coded = appendRun(b.coded, b.last, r)
	b.last = r
}

// trim drops what is gone, and tells whether there was anything.
func (b *block) trim() bool {
	c := cursor{of: b}
	if c.next(); c.run.seq == b.seq {
		return false
	}
	kept := &block{}
	for c, ok := b.cursor(), true; ok; ok = c.next() {
		kept.add(c.at())
	}
	*b = *kept
	return true
}

// replace takes a message out, if it is there, and puts r where that was or
// would have been, if r is one. The spot is at the run that holds the message,
// or at the next one.
func (b *block) replace(at spot, seq uint64, r run) {
	var room [8 * runSize]byte
	made := block{coded: room[:0], last: at.before}
	old := at.at()
	made.add(old.before(seq))
	made.add(r)
	made.add(old.from(seq + 1))
	c := at.cursor
	for c.next() {
		next := c.at()
		if made.add(next); made.last.seq == next.seq {
			break // what is coded behind it differs from it, and stays
		}
	}
	if c.off == len(b.coded) {
		b.last = made.last
	}
	b.coded = slices.Replace(b.coded, at.begin, c.off, made.coded...)
	if at.begin == 0 && len(b.coded) > 0 {
		first := cursor{of: b}
		first.next()
		b.seq = first.run.seq
	}
}

// halve takes about half of the runs out of a block, and gives them as a block.
func (b *block) halve() *block {
	at := spot{cursor: cursor{of: b}}
	for at.next() && at.begin < len(b.coded)/2 {
	}
	rest := newBlock(at.at())
	rest.coded = append(rest.coded, b.coded[at.off:]...)
	rest.last = b.last
	b.coded, b.last = b.coded[:at.begin], at.before
	return rest
}

// seal gives back the memory that was kept for more runs.
func (b *block) seal() {
	if cap(b.coded) > len(b.coded)+len(b.coded)/4 {
		b.coded = bytes.Clone(b.coded)
	}
}

// appendRun codes how run b begins behind run a.
func appendRun(dst []byte, a, b run) []byte {
	flags, gap := uint64(0), int64(b.offset)-a.tail()
	set := func(bit uint64, on bool) {
		if on {
			flags |= bit
		}
	}
	set(hasLength, a.n != 1)
	set(hasGap, b.seq != a.end())
	set(hasCommit, b.commit != a.commit)
	set(hasBytes, b.commit == a.commit && gap != 0)
	set(hasTime, b.at != a.at)
	set(hasSize, b.size != a.size)
	if flags == hasSize {
		return appendUint(dst, zigzag(int64(b.size)-int64(a.size))<<1)
	}
	dst = appendUint(dst, flags<<1|1)
	if flags&hasLength != 0 {
		dst = appendUint(dst, uint64(a.n))
	}
	if flags&hasGap != 0 {
		dst = appendUint(dst, b.seq-a.end())
	}
	if flags&hasCommit != 0 {
		dst = appendUint(binary.AppendVarint(dst, int64(b.commit-a.commit)), uint64(b.offset))
	}
	if flags&hasBytes != 0 {
		dst = binary.AppendVarint(dst, gap)
	}
	if flags&hasTime != 0 {
		dst = binary.AppendVarint(dst, b.at-a.at)
	}
	if flags&hasSize != 0 {
		dst = binary.AppendVarint(dst, int64(b.size)-int64(a.size))
	}
	return dst
}

func zigzag(v int64) uint64   { return uint64(v<<1) ^ uint64(v>>63) }
func unzigzag(v uint64) int64 { return int64(v>>1) ^ -int64(v&1) }

// A cursor stands on a run of a block. Runs may be added behind it meanwhile.
type cursor struct {
	of  *block
	run run // n is not known: it is said by what comes behind it
	off int // where that begins
}

// cursor stands on the first run that is not gone.
func (b *block) cursor() cursor {
	c := cursor{of: b}
	for c.next() && c.at().n == 0 {
	}
	return c
}

// at is the run at which the cursor stands, without what is gone of it.
func (c *cursor) at() run {
	r := c.run
	if c.off == len(c.of.coded) {
		r = c.of.last
	} else {
		f := coded{c.of.coded[c.off:]}
		_, r.n = f.head()
	}
	return r.from(c.of.seq)
}

// next moves to the next run, if there is one.
func (c *cursor) next() bool {
	f := coded{c.of.coded[c.off:]}
	if len(f.b) == 0 {
		return false
	}
	c.run = f.run(c.run)
	c.off = len(c.of.coded) - len(f.b)
	return true
}

// A spot is a cursor that knows where its run begins. Nothing is gone of its
// block.
type spot struct {
	cursor
	before run
	begin  int
}

func (s *spot) next() bool {
	at := s.cursor
	if !s.cursor.next() {
		return false
	}
	if s.begin = at.off; at.off > 0 {
		s.before = at.at()
	}
	return true
}

// coded reads what a block has coded. It was made here, and is whole.
type coded struct{ b []byte }

// usual is what head gives for the usual run, of which only a size follows.
const usual = 0

// head reads flags, and the length of the run before.
func (f *coded) head() (flags uint64, n uint32) {
	if f.b[0]&1 == 0 {
		return usual, 1
	}
	if flags = f.uint() >> 1; flags&hasLength == 0 {
		return flags, 1
	}
	return flags, uint32(f.uint())
}

// run reads how the run behind a begins, of which all but the length is known.
func (f *coded) run(a run) run {
	flags, n := f.head()
	a.n = n
	b := run{seq: a.end(), commit: a.commit, at: a.at, size: a.size}
	offset := a.tail()
	if flags == usual {
		b.offset, b.size = uint32(offset), uint32(int64(a.size)+unzigzag(f.uint()>>1))
		return b
	}
	if flags&hasGap != 0 {
		b.seq += f.uint()
	}
	if flags&hasCommit != 0 {
		b.commit += uint64(f.int())
		offset = int64(f.uint())
	}
	if flags&hasBytes != 0 {
		offset += f.int()
	}
	b.offset = uint32(offset)
	if flags&hasTime != 0 {
		b.at += f.int()
	}
	if flags&hasSize != 0 {
		b.size = uint32(int64(b.size) + f.int())
	}
	return b
}

func (f *coded) uint() uint64 {
	v, n := binary.Uvarint(f.b)
	f.b = f.b[n:]
	return v
}

func (f *coded) int() int64 { return unzigzag(f.uint()) }

// check proves that a block holds runs in order, all from *below on and none at
// end or above. It moves *below behind them.
func (b *block) check(below *uint64, end uint64) error {
	c := b.cursor()
	if r := c.at(); r.seq != b.seq {
		return fmt.Errorf("a block of message %d begins with %d", b.seq, r.seq)
	}
	for ok := true; ok; ok = c.next() {
		r := c.at()
		if r.n == 0 || r.seq < *below || r.end() > end {
			return fmt.Errorf("a run of %d messages at %d follows %d", r.n, r.seq, *below)
		}
		*below = r.end()
	}
	return nil
}
