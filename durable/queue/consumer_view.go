package queue

// ConsumerInfo is a consumer at one moment.
type ConsumerInfo struct {
	Queue, Name string
	Settings    ConsumerSettings
	Created     int64
	Paused      bool

	InFlight    int    // messages in flight through it
	Redelivered int    // those of them that are at their second attempt or a later one
	Waiting     int    // requests that wait
	Pending     int64  // messages that are ready
	Delivered   uint64 // number of its last delivery
	TopSeq      uint64 // the highest number of a message that was delivered here
	Active      int64  // when it delivered last; 0 is never
	Answered    uint64 // all its deliveries up to this number are answered
	DoneSeq     uint64 // no message up to this number, TopSeq at the most, is in the queue any more
}

// Consumer gives a consumer at this moment, and its queue.
func (s *State) Consumer(queue, name string) (ConsumerInfo, Info, *Error) {
	c, err := s.consumer(queue, name)
	if err != nil {
		return ConsumerInfo{}, Info{}, err
	}
	return s.consumerInfo(c), c.q.info(), nil
}

// Consumers gives the consumers of a queue, by name, and the queue.
func (s *State) Consumers(queue string) ([]ConsumerInfo, Info, *Error) {
	q := s.byName[queue]
	if q == nil {
		return nil, Info{}, noQueue(queue)
	}
	infos := make([]ConsumerInfo, 0, len(q.consumers))
	for _, c := range q.consumersByName() {
		infos = append(infos, s.consumerInfo(c))
	}
	return infos, q.info(), nil
}

func (s *State) consumerInfo(c *consumer) ConsumerInfo {
	i := ConsumerInfo{
		Queue: c.q.name, Name: c.name, Settings: c.settings, Created: c.created, Paused: c.paused(s.now),
		InFlight: c.held, Waiting: c.waiting, Pending: c.q.ready.len(),
		Delivered: c.delivered, TopSeq: c.top, Active: c.active, Answered: c.delivered, DoneSeq: c.top,
	}
	for m := range s.heldBy(c.q, c.name) {
		if m.attempt > 1 {
			i.Redelivered++
		}
		if m.delivery <= c.delivered { // one with a later number came through another consumer of this name
			i.Answered = min(i.Answered, m.delivery-1)
		}
	}
	if first, ok := c.q.first(); ok {
		i.DoneSeq = min(i.DoneSeq, first-1)
	}
	return i
}
