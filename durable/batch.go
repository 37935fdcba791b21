package durable

import "dsend/durable/queue"

// maxCommit is about how many bytes of records one commit has: what more has
// come in goes into the next.
const maxCommit = 1 << 20

// keepSaid is up to how many calls and queues a batch keeps its memory for.
const keepSaid = 16 << 10

// batch is one commit: its records, and what it lets us say.
type batch struct {
	out      queue.Out
	calls    []call
	ops      int
	bytes    int64 // of publishes that waited for it
	progress progress
	changed  []queue.Info
}

// call is the reply of a Do.
type call struct {
	to    chan<- queue.Reply
	reply queue.Reply
}

// call takes the reply of a Do, the n-th if there is one, from those that the
// Speaker is told.
func (b *batch) call(i item, n int) {
	r := queue.Reply{Op: i.op}
	if replies := b.out.Replies; len(replies) > n {
		r, replies[n] = replies[n], queue.Reply{}
		b.out.Replies = replies[:n]
	}
	b.calls = append(b.calls, call{i.reply, r})
}

// fresh is an empty batch.
func (s *Store) fresh() *batch {
	select {
	case b := <-s.spare:
		return b
	default:
		return &batch{}
	}
}

// recycle keeps the memory of a batch for another one, unless a burst has made
// it large.
func (s *Store) recycle(b *batch) {
	if b.large() {
		return
	}
	records := b.out.Records[:0]
	b.out.Reset()
	b.out.Records = records
	clear(b.calls)
	clear(b.changed)
	*b = batch{out: b.out, calls: b.calls[:0], changed: b.changed[:0]}
	select {
	case s.spare <- b:
	default:
	}
}

// large tells whether a burst has left more than a usual commit needs. What is
// in out beside the records sees to itself.
func (b *batch) large() bool {
	return cap(b.out.Records) > 2*maxCommit || max(cap(b.calls), cap(b.changed)) > keepSaid
}
