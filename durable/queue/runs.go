package queue

import "sort"

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

func (r *run) end() uint64 { return r.seq + uint64(r.n) }

func (r *run) place(seq uint64) Place {
	return Place{r.commit, r.offset + uint32(seq-r.seq)*r.size}
}

// joins tells whether b is the continuation of r.
func (r *run) joins(b *run) bool {
	return r.n > 0 && r.end() == b.seq && r.commit == b.commit && r.at == b.at && r.size == b.size &&
		uint64(r.offset)+uint64(r.n)*uint64(r.size) == uint64(b.offset)
}

// runs are the plain waiting messages of one priority, in order of sequence.
//
//	list   ····  5–9  12  ·  14–20  ·  21
//	       head^          gaps
//
// What was taken out in the middle leaves a gap (a run of no message), which
// the next to come there takes: a backlog that is carried forward message by
// message moves nothing.
type runs struct {
	list []run // list[head:] are in use; the first of them is no gap
	head int
	gaps int
	last int // place of the run that was pushed to last: a hint
	n    int64
}

func (r *runs) live() []run { return r.list[r.head:] }

// push adds a message, given as a run of one; most often at the end.
func (r *runs) push(b run) {
	r.n++
	if r.last >= r.head && r.last < len(r.list) && r.list[r.last].joins(&b) {
		r.extend(r.last)
		return
	}
	live := r.live()
	i := len(live)
	if i > 0 && live[i-1].seq >= b.seq {
		i = sort.Search(i, func(k int) bool { return live[k].seq > b.seq })
	}
	if i > 0 && live[i-1].joins(&b) {
		r.extend(r.head + i - 1)
		return
	}
	r.insert(i, b)
}

// extend adds the next message to the run at a place of the list. Gaps behind
// it go before it first: the numbers of a gap lie between its neighbours'.
func (r *runs) extend(k int) {
	for ; k+1 < len(r.list) && r.list[k+1].n == 0; k++ {
		r.list[k+1] = r.list[k]
		r.list[k] = run{seq: r.list[k+1].seq}
	}
	r.list[k].n++
	r.last = k
	r.tidy()
}

// insert puts b before the i-th run in use: into a gap there, or moving the
// shorter side.
func (r *runs) insert(i int, b run) {
	live := r.live()
	switch {
	case i > 0 && live[i-1].n == 0:
		i--
		r.gaps--
	case i < len(live) && live[i].n == 0:
		r.gaps--
	case r.head > 0 && i <= len(live)/2:
		copy(r.list[r.head-1:], live[:i])
		r.head--
	default:
		r.list = append(r.list, run{})
		copy(r.list[r.head+i+1:], r.list[r.head+i:])
	}
	r.last = r.head + i
	r.list[r.last] = b
}

// first is the run that begins with the first message.
func (r *runs) first() (run, bool) {
	if r.n == 0 {
		return run{}, false
	}
	return r.list[r.head], true
}

// index is the place among those in use of the run that holds a message, or
// would.
func (r *runs) index(seq uint64) int {
	live := r.live()
	return sort.Search(len(live), func(k int) bool { return live[k].end() > seq })
}

// find gives the run that holds a message.
func (r *runs) find(seq uint64) (b *run, ok bool) {
	live := r.live()
	i := r.index(seq)
	if i == len(live) || live[i].seq > seq {
		return nil, false
	}
	return &live[i], true
}

// remove takes a message out; the caller knows that it is there.
func (r *runs) remove(seq uint64) {
	i := r.index(seq)
	b := &r.live()[i]
	r.n--
	switch {
	case seq == b.seq:
		b.seq, b.offset, b.n = b.seq+1, b.offset+b.size, b.n-1
		if b.n == 0 {
			r.gaps++
			r.tidy()
		}
	case seq == b.end()-1:
		b.n--
	default:
		rest := run{seq: seq + 1, commit: b.commit, at: b.at, size: b.size, n: uint32(b.end() - seq - 1)}
		rest.offset = b.place(seq + 1).Offset
		b.n = uint32(seq - b.seq)
		r.insert(i+1, rest)
	}
}

// runsKept is how many unused places are kept in any case.
const runsKept = 64

// tidy passes the gaps in front, and gives memory back when more than half of
// the places are unused.
func (r *runs) tidy() {
	for r.head < len(r.list) && r.list[r.head].n == 0 {
		r.head++
		r.gaps--
	}
	if unused := r.head + r.gaps; unused <= runsKept || unused <= len(r.list)/2 {
		return
	}
	kept := make([]run, 0, 2*(len(r.list)-r.head-r.gaps))
	for _, b := range r.live() {
		if b.n > 0 {
			kept = append(kept, b)
		}
	}
	r.list, r.head, r.gaps, r.last = kept, 0, 0, 0
}
