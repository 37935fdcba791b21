package queue

import "fmt"

// DeclareConsumer makes a consumer, or changes its settings. Settings that are
// the same already are no change.
type DeclareConsumer struct {
	Queue, Name string
	Settings    ConsumerSettings
	// MustCreate refuses one that is there with other settings, MustExist one
	// that is not there.
	MustCreate, MustExist bool
}

// RemoveConsumer deletes a consumer. What is in flight through it stays with
// its workers, by the queue's settings.
type RemoveConsumer struct{ Queue, Name string }

// PauseConsumer stops the deliveries of a consumer until a time (ns); one that
// is over, or 0, starts them again.
type PauseConsumer struct {
	Queue, Name string
	Until       int64
}

func (*DeclareConsumer) op() {}
func (*RemoveConsumer) op()  {}
func (*PauseConsumer) op()   {}

func (s *State) declareConsumer(op *DeclareConsumer, out *Out) Reply {
	q := s.byName[op.Queue]
	if q == nil {
		return Reply{Op: op, Err: noQueue(op.Queue)}
	}
	c := q.consumers[op.Name]
	if err := s.admitConsumer(q, c, op); err != nil {
		return Reply{Op: op, Err: err}
	}
	before := q.attempts
	r := consumerRecord{queue: q.id, name: op.Name, created: s.now}
	if c != nil {
		if c.settings.Equal(op.Settings) {
			return Reply{Op: op}
		}
		r = c.record()
	}
	r.settings = op.Settings
	s.change(r, out)
	if c == nil {
		s.adopt(q.consumers[op.Name])
	}
	s.budget = tickBudget
	return Reply{Op: op, Count: s.relimit(q, before, out)}
}

// admitConsumer refuses what cannot be declared. c is nil if it is not there
// yet.
func (s *State) admitConsumer(q *queue, c *consumer, op *DeclareConsumer) *Error {
	switch invalid := op.Settings.Validate(); {
	case !ValidConsumerName(op.Name):
		return refuse(BadName, fmt.Sprintf("%q is not a consumer name: up to %d printable characters without . * > / \\ @", op.Name, maxConsumerName))
	case op.MustExist && c == nil:
		return noConsumer(op.Queue, op.Name)
	case invalid != nil:
		return refuse(BadSettings, "consumer "+op.Name+": "+invalid.Error())
	case op.MustCreate && c != nil && !c.settings.Equal(op.Settings):
		return refuse(Exists, "consumer "+op.Name+" is there already with other settings")
	case c == nil && len(q.consumers) >= maxConsumers:
		return refuse(TooManyConsumers, fmt.Sprintf("queue %s has %d consumers, the most there can be", q.name, maxConsumers))
	}
	return nil
}

// change writes a consumer down that is used just now: by whoever changes it.
func (s *State) change(r consumerRecord, out *Out) {
	emit(s, out, r)
	c := s.byID[r.queue].consumers[r.name]
	c.idle = 0
	s.attend(c)
}

// adopt gives the pulls that name a consumer, and waited at the queue itself, to
// the consumer now that it is declared.
func (s *State) adopt(c *consumer) {
	for _, p := range inOrder(c.q.demand.pulls) {
		if p.via == nil && p.Consumer == c.name {
			s.withdraw(p)
			p.via = c
			c.waiting++
			if p.lost == 0 {
				s.offer(p)
			}
		}
	}
	s.attend(c)
}

// relimit lets those waiting messages die that another limit than before leaves
// no attempt, and tells how many there are: as many die now as the budget
// allows, the others with the next Ticks.
func (s *State) relimit(q *queue, before int, out *Out) int {
	if q.attempts == before {
		return 0
	}
	s.condemn(q)
	n := len(q.spent)
	s.sweep(q, out)
	s.rearm(q)
	return n
}

func noConsumer(queue, name string) *Error {
	return refuse(NoConsumer, "queue "+queue+" has no consumer "+name)
}

// consumer finds a consumer, or says what is not there.
func (s *State) consumer(queue, name string) (*consumer, *Error) {
	q := s.byName[queue]
	if q == nil {
		return nil, noQueue(queue)
	}
	c := q.consumers[name]
	if c == nil {
		return nil, noConsumer(queue, name)
	}
	return c, nil
}

func (s *State) removeConsumer(op *RemoveConsumer, out *Out) Reply {
	c, err := s.consumer(op.Queue, op.Name)
	if err != nil {
		return Reply{Op: op, Err: err}
	}
	for _, p := range inOrder(c.q.demand.pulls) {
		if p.via == c {
			s.finish(p, StatusRemoved, out)
		}
	}
	before := c.q.attempts
	emit(s, out, dropConsumerRecord{c.q.id, c.name})
	s.budget = tickBudget
	return Reply{Op: op, Count: s.relimit(c.q, before, out)}
}

func (s *State) pauseConsumer(op *PauseConsumer, out *Out) Reply {
	c, err := s.consumer(op.Queue, op.Name)
	if err != nil {
		return Reply{Op: op, Err: err}
	}
	r := c.record()
	r.settings.PausedUntil = op.Until
	if op.Until <= s.now {
		r.settings.PausedUntil = 0
	}
	if r.settings.PausedUntil != c.settings.PausedUntil {
		s.change(r, out)
	}
	return Reply{Op: op}
}
