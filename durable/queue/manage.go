package queue

import (
	"fmt"
	"slices"
	"strings"

	"dsend/dlq"
)

// manage does what people ask for.
func (s *State) manage(op Op, out *Out) Reply {
	switch op := op.(type) {
	case *Configure:
		s.cfg = op.Config
		return Reply{Op: op}
	case *Declare:
		return s.declare(op, out)
	case *Undeclare:
		return s.undeclare(op, out)
	case *Remove:
		return s.remove(op, out)
	case *Pause:
		return s.pause(op, out)
	case *Purge:
		return s.purge(op, out)
	case *Delete:
		return s.delete(op, out)
	case *Kill:
		return s.kill(op, out)
	case *Replay:
		return s.replay(op, out)
	}
	panic(fmt.Sprintf("queue: unknown op %T", op))
}

// create makes a queue; the caller knows that there is none of this name.
func (s *State) create(name string, settings Settings, source Source, out *Out) *queue {
	emit(s, out, queueRecord{
		id: s.lastID + 1, name: name, source: source, created: s.now, next: 1, settings: settings,
	})
	out.Changed = append(out.Changed, name)
	out.tell(Event{Kind: EventCreated, At: s.now, Queue: name})
	return s.byName[name]
}

// record is the record of a queue as it is now.
func (q *queue) record() queueRecord {
	return queueRecord{
		id: q.id, name: q.name, source: q.source, created: q.created, paused: q.paused, orphan: q.orphan,
		next: q.next, deliveries: q.deliveries, settings: q.settings,
	}
}

func (s *State) declare(op *Declare, out *Out) Reply {
	q := s.byName[op.Name]
	var err *Error
	switch invalid := op.Settings.Validate(op.Name); {
	case !ValidName(op.Name):
		err = refuse(BadName, fmt.Sprintf("%q is not a queue name: [A-Za-z0-9_-]{1,64}", op.Name))
	case op.MustCreate && q != nil:
		err = refuse(Exists, "queue "+op.Name+" is there already")
	case op.MustExist && q == nil:
		err = refuse(NoQueue, "there is no queue "+op.Name)
	case invalid != nil:
		err = refuse(BadSettings, "queue "+op.Name+": "+invalid.Error())
	default:
		err = s.overlapping(op)
	}
	if err != nil {
		return Reply{Op: op, Err: err}
	}
	if q == nil {
		s.create(op.Name, op.Settings, op.Source, out)
		return Reply{Op: op}
	}
	return Reply{Op: op, Count: s.update(q, op, out)}
}

// overlapping refuses subjects that another queue captures.
func (s *State) overlapping(op *Declare) *Error {
	for _, name := range s.names() {
		if name == op.Name || s.byName[name].orphan {
			continue
		}
		for _, mine := range op.Settings.Subjects {
			for _, other := range s.byName[name].settings.Subjects {
				if Overlap(mine, other) {
					return refuse(Overlaps, fmt.Sprintf("subject %q overlaps with %q of queue %s", mine, other, name))
				}
			}
		}
	}
	return nil
}

// update changes a queue and tells how many messages that killed.
func (s *State) update(q *queue, op *Declare, out *Out) int {
	if q.settings.Equal(op.Settings) && q.source == op.Source && !q.orphan {
		return 0
	}
	r := q.record()
	r.settings, r.source, r.orphan = op.Settings, op.Source, false
	emit(s, out, r)
	out.Changed = append(out.Changed, q.name)
	out.tell(Event{Kind: EventUpdated, At: s.now, Queue: q.name})
	for _, g := range q.demand.groups {
		s.settle(g)
	}
	s.touch(q)
	s.reage(q)
	return s.sweep(q, out)
}

// reage sets the expiries of a queue's objects anew.
func (s *State) reage(q *queue) {
	for _, m := range q.all {
		if m.phase != phaseInFlight {
			s.age(m)
		}
	}
	s.rearm(q)
}

// sweep kills the waiting messages that a lowered limit leaves no attempt.
func (s *State) sweep(q *queue, out *Out) (n int) {
	for _, m := range q.objects(0) {
		if m.phase != phaseInFlight && s.used(m) {
			s.die(m, dlq.ReasonLimitLowered, failure{at: s.now}, out)
			n++
		}
	}
	return n
}

// names are the queues' names, in order.
func (s *State) names() []string {
	names := make([]string, 0, len(s.byName))
	for name := range s.byName {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

func (s *State) undeclare(op *Undeclare, out *Out) Reply {
	q := s.byName[op.Name]
	if q == nil {
		return Reply{Op: op, Err: noQueue(op.Name)}
	}
	if !q.orphan {
		r := q.record()
		r.orphan = true
		emit(s, out, r)
		out.Changed = append(out.Changed, q.name)
	}
	return Reply{Op: op}
}

func noQueue(name string) *Error { return refuse(NoQueue, "there is no queue "+name) }

func (s *State) remove(op *Remove, out *Out) Reply {
	q := s.byName[op.Name]
	if q == nil {
		return Reply{Op: op, Err: noQueue(op.Name)}
	}
	n := int(q.stored())
	s.endPulls(q, StatusRemoved, out)
	emit(s, out, dropRecord{q.id})
	q.totals.Removed += uint64(n)
	out.Changed = append(out.Changed, op.Name)
	out.tell(Event{Kind: EventRemoved, At: s.now, Queue: op.Name, Count: n})
	return Reply{Op: op, Count: n}
}

// endPulls ends every waiting pull of a queue.
func (s *State) endPulls(q *queue, status Status, out *Out) {
	var waiting []*pull
	for _, p := range s.peers {
		for pl := range p.pulls {
			if pl.q == q {
				waiting = append(waiting, pl)
			}
		}
	}
	slices.SortFunc(waiting, func(a, b *pull) int { return strings.Compare(a.Inbox, b.Inbox) })
	for _, pl := range waiting {
		s.finish(pl, status, out)
	}
}

// stop ends all pulls: the store is about to close.
func (s *State) stop(out *Out) {
	s.stopping = true
	for _, name := range s.names() {
		s.endPulls(s.byName[name], StatusShutdown, out)
	}
}

func (s *State) pause(op *Pause, out *Out) Reply {
	q := s.byName[op.Name]
	switch {
	case q == nil:
		return Reply{Op: op, Err: noQueue(op.Name)}
	case !op.Pause && q.settings.Paused:
		return Reply{Op: op, Err: refuse(PausedByConfig, "queue "+op.Name+" is paused by its settings")}
	case q.paused == op.Pause:
		return Reply{Op: op}
	}
	r := q.record()
	r.paused = op.Pause
	emit(s, out, r)
	s.touch(q)
	kind := EventResumed
	if op.Pause {
		kind = EventPaused
	}
	out.tell(Event{Kind: kind, At: s.now, Queue: op.Name})
	return Reply{Op: op}
}

func (s *State) purge(op *Purge, out *Out) Reply {
	q := s.byName[op.Name]
	if q == nil {
		return Reply{Op: op, Err: noQueue(op.Name)}
	}
	upto := q.next - 1
	if op.Upto != 0 {
		upto = min(upto, op.Upto)
	}
	if op.Keep > 0 {
		upto = min(upto, q.before(op.Keep))
	}
	n := q.stored()
	if n > 0 && upto > 0 {
		emit(s, out, purgeRecord{identity{q.id, upto}})
		n -= q.stored()
		q.totals.Removed += uint64(n)
		out.tell(Event{Kind: EventPurged, At: s.now, Queue: op.Name, Count: int(n)})
	} else {
		n = 0
	}
	return Reply{Op: op, Count: int(n)}
}

// before is the number below the keep newest messages.
func (q *queue) before(keep uint64) uint64 {
	if uint64(q.stored()) <= keep {
		return 0
	}
	seqs := make([]uint64, 0, q.stored())
	for e := range q.walk(0) {
		seqs = append(seqs, e.seq)
	}
	return seqs[uint64(len(seqs))-keep-1]
}

// lookup finds a message in any phase; it makes no object of a plain one.
func (q *queue) lookup(seq uint64) bool {
	if q.all[seq] != nil {
		return true
	}
	_, _, ok := q.ready.find(seq)
	return ok
}

func (s *State) delete(op *Delete, out *Out) Reply {
	q, err := s.message(op.Name, op.Seq)
	if err != nil {
		return Reply{Op: op, Err: err}
	}
	emit(s, out, removeRecord{identity{q.id, op.Seq}})
	q.totals.Removed++
	return Reply{Op: op, Count: 1}
}

func (s *State) message(name string, seq uint64) (*queue, *Error) {
	q := s.byName[name]
	if q == nil {
		return nil, noQueue(name)
	}
	if !q.lookup(seq) {
		return nil, refuse(NoMessage, fmt.Sprintf("there is no message %d in queue %s", seq, name))
	}
	return q, nil
}

func (s *State) kill(op *Kill, out *Out) Reply {
	q, err := s.message(op.Name, op.Seq)
	if err != nil {
		return Reply{Op: op, Err: err}
	}
	if m := q.all[op.Seq]; !q.settings.DeadLetter.Enabled || m != nil && m.letter() != nil {
		return Reply{Op: op, Err: refuse(NoDLQ, fmt.Sprintf("message %d of queue %s has no dead-letter queue to go to", op.Seq, op.Name))}
	}
	if to := s.deadLetterQueue(q, out); to.full(0) != nil {
		return Reply{Op: op, Err: to.full(0)}
	}
	m := q.all[op.Seq]
	if m == nil { // a plain one: an object from now on
		m = s.take(q, op.Seq)
		s.makeReady(m)
	}
	f := failure{at: s.now, text: dlq.TrimError(op.Error)}
	if m.phase == phaseInFlight {
		f.outcome = dlq.OutcomeManual
	}
	s.die(m, dlq.ReasonManual, f, out)
	return Reply{Op: op, Count: 1}
}

func (s *State) replay(op *Replay, out *Out) Reply {
	q, err := s.message(op.Name, op.Seq)
	if err != nil {
		return Reply{Op: op, Err: err}
	}
	m := q.all[op.Seq]
	if m == nil || m.letter() == nil {
		return Reply{Op: op, Err: refuse(NotDead, fmt.Sprintf("message %d of queue %s is not a dead letter", op.Seq, op.Name))}
	}
	if m.phase == phaseInFlight {
		return Reply{Op: op, Err: refuse(Owned, fmt.Sprintf("message %d of queue %s is with a worker", op.Seq, op.Name))}
	}
	target := op.Target
	if target == "" {
		target = m.letter().OriginQueue
	}
	to := s.byName[target]
	if to == nil {
		return Reply{Op: op, Err: noQueue(target)}
	}
	if full := to.full(int64(m.size)); full != nil {
		return Reply{Op: op, Err: full}
	}
	record := replayRecord{m.identity(), identity{to.id, to.next}, s.now}
	emit(s, out, record)
	to.totals.Replayed++
	out.tell(Event{
		Kind: EventReplayed, At: s.now, Queue: to.name, Seq: record.to.seq,
		DLQ: op.Name, DLQSeq: op.Seq, Target: to.name, NewSeq: record.to.seq,
	})
	return Reply{Op: op, Queue: to.name, Seq: record.to.seq, Count: 1}
}
