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
	return r.end() == b.seq && r.commit == b.commit && r.at == b.at && r.size == b.size &&
		uint64(r.offset)+uint64(r.n)*uint64(r.size) == uint64(b.offset)
}

// runs are the plain waiting messages of one priority, in order of sequence.
type runs struct {
	list []run // list[head:] are in use
	head int
	n    int64
}

func (r *runs) live() []run { return r.list[r.head:] }

// push adds a message; most often at the end.
func (r *runs) push(seq uint64, place Place, size uint32, at int64) {
	b := run{seq: seq, commit: place.Commit, at: at, offset: place.Offset, size: size, n: 1}
	r.n++
	live := r.live()
	i := len(live)
	if i > 0 && live[i-1].seq >= seq {
		i = sort.Search(i, func(k int) bool { return live[k].seq > seq })
	}
	if i > 0 && live[i-1].joins(&b) {
		live[i-1].n++
		return
	}
	r.insert(i, b)
}

// insert puts b before the i-th run in use, moving the shorter side.
func (r *runs) insert(i int, b run) {
	if r.head > 0 && i <= len(r.live())/2 {
		copy(r.list[r.head-1:], r.list[r.head:r.head+i])
		r.head--
		r.list[r.head+i] = b
		return
	}
	r.list = append(r.list, run{})
	copy(r.list[r.head+i+1:], r.list[r.head+i:])
	r.list[r.head+i] = b
}

// first is the first message.
func (r *runs) first() (seq uint64, place Place, size uint32, at int64, ok bool) {
	if r.n == 0 {
		return 0, Place{}, 0, 0, false
	}
	b := &r.list[r.head]
	return b.seq, b.place(b.seq), b.size, b.at, true
}

// find gives a message by its number.
func (r *runs) find(seq uint64) (b *run, ok bool) {
	live := r.live()
	i := sort.Search(len(live), func(k int) bool { return live[k].end() > seq })
	if i == len(live) || live[i].seq > seq {
		return nil, false
	}
	return &live[i], true
}

// remove takes a message out; the caller knows that it is there.
func (r *runs) remove(seq uint64) {
	live := r.live()
	i := sort.Search(len(live), func(k int) bool { return live[k].end() > seq })
	b := &live[i]
	r.n--
	switch {
	case b.n == 1:
		r.drop(i)
	case seq == b.seq:
		b.seq, b.offset, b.n = b.seq+1, b.offset+b.size, b.n-1
	case seq == b.end()-1:
		b.n--
	default:
		rest := run{seq: seq + 1, commit: b.commit, at: b.at, size: b.size, n: uint32(b.end() - seq - 1)}
		rest.offset = b.place(seq + 1).Offset
		b.n = uint32(seq - b.seq)
		r.insert(i+1, rest)
	}
}

// drop forgets the i-th run in use and gives memory back after a backlog.
func (r *runs) drop(i int) {
	if i == 0 {
		r.head++
	} else {
		live := r.live()
		copy(live[i:], live[i+1:])
		r.list = r.list[:len(r.list)-1]
	}
	if r.head > 64 && r.head > len(r.list)/2 {
		r.list = append(make([]run, 0, 2*len(r.live())), r.live()...)
		r.head = 0
	}
}
