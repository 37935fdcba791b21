package queue

import (
	"encoding/json"
	"fmt"
)

// consumerRecord is a consumer, its settings and what it has delivered.
type consumerRecord struct {
	queue     uint32
	name      string
	created   int64
	delivered uint64
	top       uint64
	active    int64
	settings  ConsumerSettings
}

func (r consumerRecord) encode(dst []byte) []byte {
	start := len(dst)
	dst = appendUint(begin(dst, kindConsumer), uint64(r.queue))
	dst = appendText(dst, r.name)
	dst = appendTime(dst, r.created)
	dst = appendUint(dst, r.delivered)
	dst = appendUint(dst, r.top)
	dst = appendTime(dst, r.active)
	settings, err := json.Marshal(r.settings)
	if err != nil { // ConsumerSettings hold nothing that JSON cannot say
		panic("queue: settings of consumer " + r.name + ": " + err.Error())
	}
	return end(append(dst, settings...), start)
}

func decodeConsumer(f *fields) (r consumerRecord) {
	r.queue, r.name, r.created = f.uint32(), f.text(), f.time()
	r.delivered, r.top, r.active = f.uint(), f.seq(), f.time()
	if f.err != nil {
		return r
	}
	if err := json.Unmarshal(f.b, &r.settings); err != nil {
		f.fail(fmt.Errorf("queue: settings of consumer %s: %w", r.name, err))
	}
	f.b = nil
	return r
}

func (r consumerRecord) apply(s *State, place Place, _ *Out) {
	q := s.queueOf(r.queue)
	c := q.consumers[r.name]
	if c == nil { // what is in flight through it may have come before, when the log was compacted
		c = &consumer{q: q, name: r.name, created: r.created, held: s.holding(q, r.name)}
		if q.consumers == nil {
			q.consumers = map[string]*consumer{}
		}
		q.consumers[r.name] = c
	}
	c.settings, c.commit = r.settings, place.Commit
	c.delivered, c.top, c.active = max(c.delivered, r.delivered), max(c.top, r.top), max(c.active, r.active)
	q.relimited()
	s.attend(c)
}

// record is the record of a consumer as it is now.
func (c *consumer) record() consumerRecord {
	return consumerRecord{c.q.id, c.name, c.created, c.delivered, c.top, c.active, c.settings}
}

// note takes note of a delivery.
func (c *consumer) note(r *deliverRecord) {
	c.delivered, c.top, c.active = max(c.delivered, r.delivery), max(c.top, r.seq), max(c.active, r.at)
}

type dropConsumerRecord struct {
	queue uint32
	name  string
}

func (r dropConsumerRecord) encode(dst []byte) []byte {
	start := len(dst)
	return end(appendText(appendUint(begin(dst, kindDropConsumer), uint64(r.queue)), r.name), start)
}

func (r dropConsumerRecord) apply(s *State, _ Place, _ *Out) {
	q := s.byID[r.queue]
	if q == nil || q.consumers[r.name] == nil {
		return
	}
	s.forgetConsumer(q.consumers[r.name])
	q.relimited()
}

// forgetConsumer takes a consumer out of everything. What is in flight through
// it stays in flight.
func (s *State) forgetConsumer(c *consumer) {
	s.alarms.Remove(c)
	c.q.demand.turn.withdraw(c)
	delete(c.q.consumers, c.name)
}

func (s *State) forgetConsumers(q *queue) {
	for _, c := range q.consumers {
		s.forgetConsumer(c)
	}
}

// relimited notes anew how many attempts a waiting message may have. What that
// leaves no attempt is found by condemn: now, or when all is recovered.
func (q *queue) relimited() {
	q.attempts = q.patience()
	q.changed = q.changed || q.all.len() > 0
}
