package queue

import "iter"

// dedupe remembers the message ids of a queue, each for a fixed time from its
// first publish.
type dedupe struct {
	ids  shelf[string, remembered]
	line []saying // in the order of the log
	head int
}

type remembered struct {
	seq     uint64
	expires int64
	commit  uint64 // the newest that says so
}

// saying is that a commit says an id. It is stale when a later one does, or the
// id is forgotten.
type saying struct {
	id     string
	commit uint64
}

// add remembers an id, and forgets what is over by now.
func (d *dedupe) add(id string, r remembered, now int64) {
	d.forget(now)
	d.ids.set(id, r)
	d.line = append(d.line, saying{id, r.commit})
}

// find gives the number of the first publish of an id.
func (d *dedupe) find(id string, now int64) (seq uint64, ok bool) {
	r := d.ids.get(id)
	return r.seq, r.expires > now
}

// said is what the log says of an id, if this is the newest to say it.
func (d *dedupe) said(s saying) (r remembered, ok bool) {
	r = d.ids.get(s.id)
	return r, r.commit == s.commit && r.expires != 0
}

// forget drops ids whose time is over, oldest first. One that was carried
// forward waits for those that came while it did, a window at the most.
func (d *dedupe) forget(now int64) {
	for d.head < len(d.line) {
		first := d.line[d.head]
		r, ok := d.said(first)
		if ok && r.expires > now {
			break
		}
		if ok {
			d.ids.drop(first.id)
		}
		d.pass()
	}
}

// pass takes the first saying out of the line.
func (d *dedupe) pass() {
	d.line[d.head] = saying{}
	d.head++
	if d.head > 64 && d.head > len(d.line)/2 {
		d.line = append([]saying(nil), d.line[d.head:]...)
		d.head = 0
	}
}

// upTo takes the ids out of the line that no commit after through says, and
// gives them; each must be added again.
func (d *dedupe) upTo(through uint64, now int64) iter.Seq2[string, remembered] {
	return func(yield func(string, remembered) bool) {
		d.forget(now)
		for d.head < len(d.line) && d.line[d.head].commit <= through {
			first := d.line[d.head]
			d.pass()
			if r, ok := d.said(first); ok && r.expires > now && !yield(first.id, r) {
				return
			}
		}
	}
}

// next is when the oldest id is forgotten.
func (d *dedupe) next() (at int64, ok bool) {
	if d.head == len(d.line) {
		return 0, false
	}
	return d.ids.get(d.line[d.head].id).expires, true
}
