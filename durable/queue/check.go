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
		if err := s.checkConsumers(q); err != nil {
			return fmt.Errorf("queue %s: %w", q.name, err)
		}
		if q.dead != dead[id] {
			return fmt.Errorf("queue %s: counts %d dead, %d letters come from it", q.name, q.dead, dead[id])
		}
	}
	return s.checkPeers()
}

// checkQueue counts a queue by hand and tells how many of its messages have a
// deadline.
func (s *State) checkQueue(q *queue, dead map[uint32]int64) (timed int, err error) {
	objects, err := q.checkLanes()
	if err != nil {
		return 0, err
	}
	if err := q.checkKeys(s.now); err != nil {
		return 0, err
	}
	var count [phaseInFlight + 1]int64
	var bytes, letters, flyingTo int64
	for seq, m := range q.all.m {
		switch {
		case m.q != q || m.seq != seq || seq >= q.next:
			return 0, fmt.Errorf("message %d is filed under %d", m.seq, seq)
		case m.phase < phaseReady || m.phase > phaseInFlight:
			return 0, fmt.Errorf("message %d is in no phase", seq)
		case !m.turn.Scheduled():
			return 0, fmt.Errorf("message %d waits for nothing", seq)
		case m.phase == phaseInFlight && m.attempt == 0:
			return 0, fmt.Errorf("message %d is in flight without an attempt", seq)
		case m.letter() != nil && s.origins.get(m.more.origin) != m:
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
	case count[phaseReady] != q.ready.objects || objects != q.ready.objects || count[phaseBlocked] != q.ready.blocked:
		err = fmt.Errorf("%d ready and %d blocked objects, counted as %d (%d in lanes) and %d",
			count[phaseReady], count[phaseBlocked], q.ready.objects, objects, q.ready.blocked)
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
	for p, l := range q.ready.lanes {
		if l == nil {
			continue
		}
		inLane, size, err := l.plain.check(q.next)
		if err != nil {
			return 0, 0, fmt.Errorf("priority %d: %w", p, err)
		}
		n += inLane
		bytes += size
	}
	return n, bytes, nil
}

// checkLanes counts the objects in the lanes.
func (q *queue) checkLanes() (n int64, err error) {
	for _, l := range q.ready.lanes {
		if l == nil {
			continue
		}
		if err := l.objects.Check(); err != nil {
			return 0, err
		}
		n += int64(l.objects.Len())
	}
	return n, nil
}

// checkKeys proves that of each key one message can go, or has gone, and that
// all others wait behind it.
func (q *queue) checkKeys(now int64) error {
	for seq, m := range q.all.m {
		key := m.key()
		retried := m.phase == phaseDelayed && m.delivery > 0 && m.doom == 0 && m.turn.At() > now
		if key == "" || m.phase != phaseReady && m.phase != phaseInFlight && !retried {
			continue
		}
		if line := q.keys.get(key); line == nil || line.head != m {
			return fmt.Errorf("message %d is not the head of its key %q", seq, key)
		}
	}
	blocked := int64(0)
	for key, line := range q.keys.m {
		if err := line.waiting.Check(); err != nil {
			return err
		}
		if head := line.head; head == nil || q.all.get(head.seq) != head || head.key() != key || head.phase == phaseBlocked {
			return fmt.Errorf("key %q has no head, or one that cannot be it", key)
		}
		if next, ok := line.waiting.Peek(); ok && line.head.phase == phaseReady && next.seq < line.head.seq {
			return fmt.Errorf("message %d waits behind the later %d of its key %q", next.seq, line.head.seq, key)
		}
		blocked += int64(line.waiting.Len())
	}
	if blocked != q.ready.blocked {
		return fmt.Errorf("%d messages wait behind their keys, counted as %d", blocked, q.ready.blocked)
	}
	return nil
}

func (s *State) checkPeers() error {
	waiting := map[*queue]int{}
	for name, p := range s.peers.m {
		if p.name != name || len(p.pulls)+len(p.held) == 0 {
			return fmt.Errorf("peer %q neither waits nor holds", name)
		}
		for pl := range p.pulls {
			waiting[pl.q]++
			if _, ok := pl.q.demand.pulls[pl]; !ok || pl.ended {
				return fmt.Errorf("pull on %s has ended, or its queue does not know it", pl.Inbox)
			}
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
		if waiting[q] != len(q.demand.pulls) {
			return fmt.Errorf("queue %s: %d pulls wait, counted as %d", q.name, waiting[q], len(q.demand.pulls))
		}
	}
	return nil
}
