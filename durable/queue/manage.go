package queue

import (
	"fmt"
	"math"
	"slices"

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
	case *DeclareConsumer:
		return s.declareConsumer(op, out)
	case *RemoveConsumer:
		return s.removeConsumer(op, out)
	case *PauseConsumer:
		return s.pauseConsumer(op, out)
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
		next: q.next, deliveries: q.deliveries, settings: q.settings, auto: q.auto,
	}
}

func (s *State) declare(op *Declare, out *Out) Reply {
	q := s.byName[op.Name]
	var err *Error
	switch invalid := op.Settings.Validate(op.Name); {
	case !ValidName(op.Name):
		err = badName(op.Name)
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

// overlapping refuses subjects that another queue captures. One that was taken
// out of the configuration captures nothing: another may have its subjects.
func (s *State) overlapping(op *Declare) *Error {
	if q := s.byName[op.Name]; q != nil && !q.orphan && slices.Equal(q.settings.Subjects, op.Settings.Subjects) {
		return nil
	}
	for _, mine := range op.Settings.Subjects {
		var other *queue // the first by name
		s.captures.overlapping(mine, func(q *queue) {
			if q.name != op.Name && !q.orphan && (other == nil || q.name < other.name) {
				other = q
			}
		})
		if other == nil {
			continue
		}
		i := slices.IndexFunc(other.settings.Subjects, func(theirs string) bool { return Overlap(mine, theirs) })
		return refuse(Overlaps, fmt.Sprintf("subject %q overlaps with %q of queue %s", mine, other.settings.Subjects[i], other.name))
	}
	return nil
}

// update changes a queue and tells how many messages that leaves no attempt:
// they die, now or with the next Ticks.
func (s *State) update(q *queue, op *Declare, out *Out) int {
	if q.settings.Equal(op.Settings) && q.source == op.Source && !q.orphan {
		return 0
	}
	before, attempts := q.settings, q.attempts
	r := q.record()
	r.settings, r.source, r.orphan = op.Settings, op.Source, false
	if !op.Settings.VisibilityAuto {
		r.auto = 0
	}
	emit(s, out, r)
	out.Changed = append(out.Changed, q.name)
	out.tell(Event{Kind: EventUpdated, At: s.now, Queue: q.name})
	s.settleAll(q)
	s.touch(q)
	if q.settings.MaxAge != before.MaxAge {
		s.reage(q)
	}
	s.budget = tickBudget
	return s.relimit(q, attempts, out)
}

// reage sets the expiries of a queue's objects anew, in order: what is due at
// one moment must not depend on chance.
func (s *State) reage(q *queue) {
	for _, m := range q.objects(0, math.MaxUint64) {
		if m.phase != phaseInFlight {
			s.age(m)
		}
	}
	s.rearm(q)
}

// condemn notes the waiting messages that a lowered limit left no attempt.
func (s *State) condemn(q *queue) {
	q.spent = nil
	for seq, m := range q.all.m {
		if s.spent(m) {
			q.spent = append(q.spent, seq)
		}
	}
	slices.Sort(q.spent)
}

// spent tells whether a message waits without an attempt left.
func (s *State) spent(m *message) bool {
	return m.phase != phaseInFlight && m.doom == 0 && s.used(m)
}

// sweep lets those die that condemn found, as many as this Tick may.
func (s *State) sweep(q *queue, out *Out) {
	for len(q.spent) > 0 && s.budget > 0 {
		m := q.all.get(q.spent[0])
		q.spent = q.spent[1:]
		if m != nil && s.spent(m) {
			s.budget--
			s.die(m, dlq.ReasonLimitLowered, failure{at: s.now}, out)
		}
	}
	if len(q.spent) == 0 {
		q.spent = nil
	}
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
	for _, p := range inOrder(q.demand.pulls) {
		s.finish(p, status, out)
	}
}

// stop ends all pulls: the store is about to close.
func (s *State) stop(out *Out) {
	s.stopping = true
	for _, q := range s.sorted {
		s.endPulls(q, StatusShutdown, out)
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
	first, some := q.first()
	if !some || first > upto {
		return Reply{Op: op}
	}
	n := q.stored()
	emit(s, out, purgeRecord{identity{q.id, upto}})
	n -= q.stored()
	q.totals.Removed += uint64(n)
	out.tell(Event{Kind: EventPurged, At: s.now, Queue: op.Name, Count: int(n)})
	return Reply{Op: op, Count: int(n)}
}

// before is the number of the newest message that is not among the keep newest;
// 0 if there is none.
func (q *queue) before(keep uint64) uint64 {
	older := uint64(q.stored()) - min(keep, uint64(q.stored()))
	if older == 0 {
		return 0
	}
	for m := range q.walk(0) {
		if older--; older == 0 {
			return m.seq
		}
	}
	return 0
}

// lookup finds a message in any phase; it makes no object of a plain one.
func (q *queue) lookup(seq uint64) (seen, bool) {
	if m := q.all.get(seq); m != nil {
		return seen{seq: seq, object: m, priority: m.priority}, true
	}
	b, priority, ok := q.ready.find(seq)
	return seen{seq: seq, run: b, priority: priority}, ok
}

func (s *State) delete(op *Delete, out *Out) Reply {
	q, _, err := s.message(op.Name, op.Seq)
	if err != nil {
		return Reply{Op: op, Err: err}
	}
	emit(s, out, removeRecord{identity{q.id, op.Seq}})
	q.totals.Removed++
	return Reply{Op: op, Count: 1}
}

// message finds a message of a queue.
func (s *State) message(name string, seq uint64) (*queue, seen, *Error) {
	q := s.byName[name]
	if q == nil {
		return nil, seen{}, noQueue(name)
	}
	found, ok := q.lookup(seq)
	if !ok {
		return nil, seen{}, refuse(NoMessage, fmt.Sprintf("there is no message %d in queue %s", seq, name))
	}
	return q, found, nil
}

func (s *State) kill(op *Kill, out *Out) Reply {
	q, found, err := s.message(op.Name, op.Seq)
	if err != nil {
		return Reply{Op: op, Err: err}
	}
	if !q.settings.DeadLetter.Enabled || found.object != nil && found.object.letter() != nil {
		return Reply{Op: op, Err: refuse(NoDLQ, fmt.Sprintf("message %d of queue %s has no dead-letter queue to go to", op.Seq, op.Name))}
	}
	if full := s.deadLetterQueue(q, out).full(found.size()); full != nil {
		return Reply{Op: op, Err: full}
	}
	m := s.object(q, op.Seq)
	f := failure{at: s.now, text: dlq.TrimError(op.Error)}
	if m.phase == phaseInFlight {
		f.outcome = dlq.OutcomeManual
	}
	s.die(m, dlq.ReasonManual, f, out)
	return Reply{Op: op, Count: 1}
}

func (s *State) replay(op *Replay, out *Out) Reply {
	_, found, err := s.message(op.Name, op.Seq)
	if err != nil {
		return Reply{Op: op, Err: err}
	}
	m := found.object
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
