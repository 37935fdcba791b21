package queue

// dedupe remembers the message ids of a queue, each for a fixed time from its
// first publish.
type dedupe struct {
	ids  map[string]remembered
	line []string // in the order they came
	head int
}

type remembered struct {
	seq     uint64
	expires int64
	commit  uint64 // where the log says so
}

func (d *dedupe) add(id string, seq uint64, expires int64, commit uint64) {
	if d.ids == nil {
		d.ids = map[string]remembered{}
	}
	if _, known := d.ids[id]; !known {
		d.line = append(d.line, id)
	}
	d.ids[id] = remembered{seq, expires, commit}
}

// find gives the number of the first publish of an id.
func (d *dedupe) find(id string, now int64) (seq uint64, ok bool) {
	r, ok := d.ids[id]
	return r.seq, ok && r.expires > now
}

// forget drops ids whose time is over, oldest first.
func (d *dedupe) forget(now int64) {
	for d.head < len(d.line) {
		id := d.line[d.head]
		if d.ids[id].expires > now {
			break
		}
		delete(d.ids, id)
		d.line[d.head] = ""
		d.head++
	}
	if d.head > 64 && d.head > len(d.line)/2 {
		d.line = append([]string(nil), d.line[d.head:]...)
		d.head = 0
	}
}

// next is when the oldest id is forgotten.
func (d *dedupe) next() (at int64, ok bool) {
	if d.head == len(d.line) {
		return 0, false
	}
	return d.ids[d.line[d.head]].expires, true
}
