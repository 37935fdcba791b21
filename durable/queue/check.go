package queue

import "fmt"

// Check proves what must hold between calls, and names the first thing that
// does not. It walks everything: for tests and for offline verification.
func (s *State) Check() error {
	for _, err := range []error{s.deadlines.Check(), s.expiries.Check(), s.alarms.Check()} {
		if err != nil {
			return err
		}
	}
	timed, dead := 0, map[uint32]int64{}
	for id, q := range s.byID {
		if id != q.id || s.byName[q.name] != q {
			return fmt.Errorf("queue %q is not where its name and number %d say", q.name, id)
		}
		n, err := s.checkQueue(q, dead)
		if err != nil {
			return fmt.Errorf("queue %s: %w", q.name, err)
		}
		timed += n
	}
	if timed != s.deadlines.Len() {
		return fmt.Errorf("%d messages wait for a deadline, %d deadlines are kept", timed, s.deadlines.Len())
	}
	for id, q := range s.byID {
		if q.dead != dead[id] {
			return fmt.Errorf("queue %s: counts %d dead, %d letters come from it", q.name, q.dead, dead[id])
		}
	}
	return s.checkPeers()
}

// checkQueue counts a queue by hand and tells how many of its messages have a
// deadline.
func (s *State) checkQueue(q *queue, dead map[uint32]int64) (timed int, err error) {
	if err := q.ready.objects.Check(); err != nil {
		return 0, err
	}
	var count [phaseInFlight + 1]int64
	var bytes, letters, flyingTo int64
	for seq, m := range q.all {
		switch {
		case m.q != q || m.seq != seq || seq >= q.next:
			return 0, fmt.Errorf("message %d is filed under %d", m.seq, seq)
		case m.phase < phaseReady || m.phase > phaseInFlight:
			return 0, fmt.Errorf("message %d is in no phase", seq)
		case !m.turn.Scheduled():
			return 0, fmt.Errorf("message %d waits for nothing", seq)
		case m.phase == phaseInFlight && m.attempt == 0:
			return 0, fmt.Errorf("message %d is in flight without an attempt", seq)
		case m.letter() != nil && s.origins[m.more.origin] != m:
			return 0, fmt.Errorf("letter %d is not found by its origin", seq)
		}
		count[m.phase]++
		bytes += int64(m.size)
		if m.letter() != nil {
			letters++
			dead[m.more.origin.queue]++
		}
		if m.to != nil {
			flyingTo++
		}
	}
	plain, plainBytes, err := q.checkRuns()
	if err != nil {
		return 0, err
	}
	held := int64(0)
	for _, g := range q.demand.groups {
		held += int64(g.held)
	}
	switch {
	case plain != q.ready.runs:
		err = fmt.Errorf("%d plain messages, counted as %d", plain, q.ready.runs)
	case count[phaseReady] != int64(q.ready.objects.Len()) || count[phaseBlocked] != q.ready.blocked:
		err = fmt.Errorf("%d ready and %d blocked objects, counted as %d and %d", count[phaseReady], count[phaseBlocked], q.ready.objects.Len(), q.ready.blocked)
	case count[phaseDelayed] != q.delayed || count[phaseInFlight] != q.flying:
		err = fmt.Errorf("%d delayed and %d in flight, counted as %d and %d", count[phaseDelayed], count[phaseInFlight], q.delayed, q.flying)
	case bytes+plainBytes != q.bytes:
		err = fmt.Errorf("%d bytes, counted as %d", bytes+plainBytes, q.bytes)
	case letters != q.letters:
		err = fmt.Errorf("%d letters, counted as %d", letters, q.letters)
	case held != flyingTo:
		err = fmt.Errorf("groups hold %d, %d messages are with them", held, flyingTo)
	}
	return int(q.delayed + q.flying), err
}

func (q *queue) checkRuns() (n, bytes int64, err error) {
	for p, line := range q.ready.lines {
		if line == nil {
			continue
		}
		last, inLine := uint64(0), int64(0)
		for _, b := range line.live() {
			if b.n == 0 || b.seq <= last || b.end() > q.next {
				return 0, 0, fmt.Errorf("a run of %d messages at %d follows %d in priority %d", b.n, b.seq, last, p)
			}
			last = b.end() - 1
			inLine += int64(b.n)
			bytes += int64(b.n) * int64(b.size)
		}
		if inLine != line.n {
			return 0, 0, fmt.Errorf("priority %d has %d messages, counted as %d", p, inLine, line.n)
		}
		n += inLine
	}
	return n, bytes, nil
}

func (s *State) checkPeers() error {
	waiting := map[*queue]int{}
	for name, p := range s.peers {
		if p.name != name || len(p.pulls)+len(p.held) == 0 {
			return fmt.Errorf("peer %q neither waits nor holds", name)
		}
		for pl := range p.pulls {
			waiting[pl.q]++
			if (pl.element != nil) != (pl.lost == 0) {
				return fmt.Errorf("pull on %s: in turn %t, lost at %d", pl.Inbox, pl.element != nil, pl.lost)
			}
		}
		for i, m := range p.held {
			if m.peer != p || m.slot != i || m.phase != phaseInFlight {
				return fmt.Errorf("peer %q does not hold message %d", name, m.seq)
			}
		}
	}
	for _, q := range s.byID {
		if waiting[q] != q.demand.pulls {
			return fmt.Errorf("queue %s: %d pulls wait, counted as %d", q.name, waiting[q], q.demand.pulls)
		}
	}
	return nil
}
