package queue

import "fmt"

// checkConsumers counts what the consumers of a queue hold and who waits there
// by hand, and proves that those are in the turn that take a message.
func (s *State) checkConsumers(q *queue) error {
	if q.attempts != q.patience() {
		return fmt.Errorf("waiting messages have %d attempts, noted are %d", q.patience(), q.attempts)
	}
	for name, c := range q.consumers {
		waiting, inTurn := 0, 0
		for p := range q.demand.pulls {
			if p.via != c {
				continue
			}
			waiting++
			if p.element != nil {
				inTurn++
			}
		}
		held := s.holding(q, name)
		switch {
		case c.q != q || c.name != name:
			return fmt.Errorf("consumer %s is filed under %s", c.name, name)
		case c.held != held:
			return fmt.Errorf("consumer %s: %d messages are in flight, counted as %d", name, held, c.held)
		case c.waiting != waiting || c.turn.Len() != inTurn:
			return fmt.Errorf("consumer %s: %d pulls wait, %d in turn, counted as %d and %d", name, waiting, inTurn, c.waiting, c.turn.Len())
		case c.open(s.now) && c.element == nil && !c.bell.Scheduled():
			return fmt.Errorf("consumer %s takes messages and is not in the turn", name)
		case c.element != nil && c.turn.Len() == 0:
			return fmt.Errorf("consumer %s is in the turn and nobody waits", name)
		case c.idle != 0 && c.waiting+c.held > 0:
			return fmt.Errorf("consumer %s is used and counts as idle", name)
		}
	}
	for p := range q.demand.pulls {
		if p.via != nil && q.consumers[p.via.name] != p.via {
			return fmt.Errorf("pull on %s waits at a consumer that is gone", p.Inbox)
		}
	}
	return nil
}
