package queue

import (
	"fmt"
	"iter"

	"github.com/tidwall/btree"
)

// A run is a range of plain waiting messages whose records lie one behind
// another in one commit, all of one size and one publish time.
type run struct {
	seq    uint64
	commit uint64
	at     int64
	offset uint32
	size   uint32
	n      uint32
}

func (r run) end() uint64 { return r.seq + uint64(r.n) }

// tail is the offset behind it.
func (r run) tail() int64 { return int64(r.offset) + int64(r.n)*int64(r.size) }

func (r run) place(seq uint64) Place {
	return Place{r.commit, r.offset + uint32(seq-r.seq)*r.size}
}

// joins tells whether b is the continuation of r.
func (r run) joins(b run) bool {
	return r.n > 0 && r.end() == b.seq && r.commit == b.commit && r.at == b.at && r.size == b.size && r.tail() == int64(b.offset)
}

// from is what is left of a run from a number on.
func (r run) from(seq uint64) run {
	if seq <= r.seq {
		return r
	}
	gone := uint32(min(seq-r.seq, uint64(r.n)))
	r.seq, r.offset, r.n = r.seq+uint64(gone), r.offset+gone*r.size, r.n-gone
	return r
}

// before is what there is of a run below a number.
func (r run) before(seq uint64) run {
	r.n = uint32(min(max(seq, r.seq)-r.seq, uint64(r.n)))
	return r
}

// runs are the plain waiting messages of one priority, in order of sequence.
//
//	first        rest                          newest
//	┌───┬────┐  ┌──────────────┬─ … ─────────┬────────┐
//	└───┴────┘  └──────────────┴─ … ─────────┴────────┘
//	    ▲ front                                       ▲ push
//	 what is delivered next
//
// They lie in blocks. The usual costs next to nothing: a message is added to
// the newest block, and taken from the front of the first. What is put
// elsewhere (a message that was carried forward, and is recovered behind those
// that came after it) is added to the block before it. Only what is changed in
// the middle is looked for in its block; what is changed in order is found at
// once.
//
// The zero value is empty.
type runs struct {
	n      int64
	first  *block // not in rest; kept when it is empty
	front  cursor // in first
	rest   btree.Map[uint64, *block]
	newest *block
	recent spot // what was changed last, or near it
}

// push adds a message, given as a run of one; most often at the end.
func (r *runs) push(b run) {
	switch {
	case r.n == 0:
		r.begin(b)
	case b.seq >= r.newest.last.end():
		r.add(r.newest, b)
	default:
		r.insert(b)
	}
	r.n++
}

// begin puts a run into the first block, which is empty.
func (r *runs) begin(b run) {
	if r.first == nil {
		r.first = &block{}
	}
	*r.first = block{coded: r.first.coded[:0]}
	r.first.add(b)
	r.newest, r.front, r.recent = r.first, r.first.cursor(), spot{}
}

// add adds a run at the end of a block, or of a new one behind it, and gives
// the one it is in.
func (r *runs) add(at *block, b run) *block {
	if b.n == 0 || !at.full() || at.last.joins(b) {
		at.add(b)
		return at
	}
	at.seal()
	next := newBlock(b)
	r.file(next)
	return next
}

// file puts a block among the rest.
func (r *runs) file(b *block) {
	r.rest.Set(b.seq, b)
	if b.seq > r.newest.seq {
		r.newest = b
	}
}

// insert puts a run before the end.
func (r *runs) insert(b run) {
	at := r.block(b.seq)
	switch {
	case at == nil:
		r.file(r.first)
		r.first = newBlock(b)
		r.front = r.first.cursor()
	case b.seq >= at.last.end():
		r.add(at, b)
	default:
		r.edit(at, b.seq, b)
	}
}

// block finds the block that holds a message, or would: the last that begins
// with it or before; nil if all begin behind it.
func (r *runs) block(seq uint64) (at *block) {
	if seq < r.first.seq {
		return nil
	}
	if b := r.recent.of; b != nil && seq >= b.seq && seq < b.last.end() {
		return b
	}
	if at = r.first; seq >= at.last.end() {
		r.rest.Descend(seq, func(_ uint64, b *block) bool { at = b; return false })
	}
	return at
}

// head is what is left of the first run.
func (r *runs) head() (b run, ok bool) {
	if r.n == 0 {
		return run{}, false
	}
	return r.front.at(), true
}

// pop takes n messages off the first run, which has as many.
func (r *runs) pop(n uint32) {
	end := r.front.at().end()
	r.n -= int64(n)
	if r.first.seq += uint64(n); r.first.seq < end {
		return
	}
	if r.front.next() {
		r.first.seq = r.front.at().seq
	} else if _, next, ok := r.rest.PopMin(); ok {
		r.first, r.front = next, next.cursor()
	}
}

// find gives the run that holds a message.
func (r *runs) find(seq uint64) (run, bool) {
	if r.n == 0 || seq < r.first.seq || seq >= r.newest.last.end() {
		return run{}, false
	}
	c := r.seek(seq)
	b := c.at()
	return b, b.seq <= seq && seq < b.end()
}

// seek gives a cursor on the run that holds a message or, if there is none, on
// one beside the place where it would be.
func (r *runs) seek(seq uint64) cursor {
	c := r.front
	switch at := r.block(seq); {
	case at == nil:
		return c
	case at == r.recent.of && r.recent.at().end() <= seq:
		c = r.recent.cursor
	case at != r.first:
		c = at.cursor()
	}
	for b := c.at(); b.end() <= seq && c.next(); b = c.at() {
	}
	return c
}

// after moves a cursor to the next run, whichever block it is in.
func (r *runs) after(c *cursor) (ok bool) {
	if c.next() {
		return true
	}
	r.rest.Ascend(c.of.last.end(), func(_ uint64, b *block) bool {
		*c, ok = b.cursor(), true
		return false
	})
	return ok
}

// all gives the runs in order. They must not change meanwhile.
func (r *runs) all() iter.Seq[run] {
	return func(yield func(run) bool) {
		for c, ok := r.front, r.n > 0; ok && yield(c.at()); ok = r.after(&c) {
		}
	}
}

// remove takes a message out; the caller knows that it is there.
func (r *runs) remove(seq uint64) {
	if seq == r.first.seq {
		r.pop(1)
		return
	}
	r.n--
	r.edit(r.block(seq), seq, run{})
}

// move gives a message, as a run of one, another place; the caller knows that
// it is there.
func (r *runs) move(b run) { r.edit(r.block(b.seq), b.seq, b) }

// edit changes a block: see replace.
func (r *runs) edit(b *block, seq uint64, with run) {
	if b.trim() {
		r.recent = spot{}
	}
	at := r.spot(b, seq)
	was := b.seq
	b.replace(at, seq, with)
	r.recent = spot{}
	if at.begin > 0 { // the run before is where it was
		r.recent.cursor = cursor{of: b, run: at.before, off: at.begin}
	}
	if b == r.first {
		r.front = b.cursor()
	}
	r.settle(b, was)
}

// spot is at the run of a block that holds a message, or at the next one. It
// begins to look where the last one was found: most often they come in order.
func (r *runs) spot(b *block, seq uint64) spot {
	at := spot{cursor: cursor{of: b}}
	if r.recent.of == b && r.recent.at().end() <= seq {
		at = r.recent
	}
	for at.next() && at.at().end() <= seq {
	}
	return at
}

// settle puts a block that was changed, and was filed under a number, where it
// belongs now: what is small to the one before it.
func (r *runs) settle(b *block, was uint64) {
	if len(b.coded) > 2*blockSize {
		r.recent = spot{}
		r.file(b.halve())
	}
	if b == r.first || b.seq == was && len(b.coded) > blockSize/4 {
		return
	}
	r.recent = spot{}
	r.rest.Delete(was)
	if r.newest == b {
		r.newest = r.block(was)
	}
	if len(b.coded) > blockSize/4 {
		r.file(b)
	} else if len(b.coded) > 0 {
		at := r.block(b.seq)
		for c, ok := b.cursor(), true; ok; ok = c.next() {
			at = r.add(at, c.at())
		}
	}
}

// check proves what must hold, and counts messages and their bytes. No number
// is end or above.
func (r *runs) check(end uint64) (n, bytes int64, err error) {
	for b := range r.all() {
		n += int64(b.n)
		bytes += int64(b.n) * int64(b.size)
	}
	if n != r.n {
		return 0, 0, fmt.Errorf("%d messages in runs, counted as %d", n, r.n)
	}
	if n == 0 {
		return 0, 0, nil
	}
	last, below := r.first, r.first.seq
	if err := last.check(&below, end); err != nil {
		return 0, 0, err
	}
	r.rest.Scan(func(key uint64, b *block) bool {
		if last = b; key != b.seq {
			err = fmt.Errorf("the block of message %d is filed under %d", b.seq, key)
		} else {
			err = b.check(&below, end)
		}
		return err == nil
	})
	if err == nil && last != r.newest {
		err = fmt.Errorf("the newest block is the one of %d, not of %d", last.seq, r.newest.seq)
	}
	return n, bytes, err
}
