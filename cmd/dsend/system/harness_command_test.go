package system

import "time"

// What people tell Dsend to do, noted by the ledger.

// purge removes the messages of a queue up to a sequence. It is for queues where
// nothing dies: what was there with such a number is gone if it is confirmed.
func (l *ledger) purge(c *client, queue string, upto uint64) error {
	hit := l.mark(func(i *item) bool {
		return i.queue == queue && (i.home == "" && !i.none || i.home == queue && i.seq <= upto)
	})
	if err := c.api("queue.purge", args{"queue": queue, "upto": upto}, nil); err != nil {
		return err
	}
	l.ended(hit, func(i *item) bool { return i.home == queue && i.seq <= upto })
	return nil
}

// remove removes one message by its number in a queue.
func (l *ledger) remove(c *client, i *item, queue string, seq uint64) error {
	hit := l.mark(func(other *item) bool { return other == i })
	if err := c.api("msg.rm", args{"queue": queue, "seq": seq}, nil); err != nil {
		return err
	}
	l.ended(hit, func(*item) bool { return true })
	return nil
}

// mark notes that messages may be gone from now on.
func (l *ledger) mark(hit func(*item) bool) (marked []*item) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, i := range l.items {
		if hit(i) {
			i.maybe = true
			marked = append(marked, i)
		}
	}
	return marked
}

// ended notes that messages are gone for certain.
func (l *ledger) ended(marked []*item, certain func(*item) bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, i := range marked {
		if certain(i) && i.gone.IsZero() && !l.blind {
			l.end(i)
		}
	}
}

// kill moves one message to the dead-letter queue.
func (l *ledger) kill(c *client, i *item, queue string, seq uint64) error {
	sent := time.Now()
	if err := c.api("msg.kill", args{"queue": queue, "seq": seq, "error": "killed by the test"}, nil); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.blind {
		i.dead = sent
	}
	return nil
}

// replay brings all dead letters of a queue back, and tells how many.
func (l *ledger) replay(c *client, queue string) (n int, err error) {
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.replays = time.Now() // also if it is not known how far it came
	}()
	request := args{"queue": queue}
	for {
		var page struct {
			Replayed []struct{}
			Through  uint64
			Began    time.Time
			Next     uint64
			More     bool
		}
		if err := c.api("dlq.replay", request, &page); err != nil {
			return n, err
		}
		n += len(page.Replayed)
		if !page.More {
			return n, nil
		}
		request = args{"queue": queue, "from": page.Next, "through": page.Through, "began": page.Began}
	}
}

// removeQueue removes a queue with all its messages. Nothing of it may have died.
func (l *ledger) removeQueue(c *client, queue string) error {
	hit := l.mark(func(i *item) bool { return i.queue == queue && !i.none })
	if err := c.api("queue.rm", args{"queue": queue}, nil); err != nil {
		return err
	}
	l.ended(hit, func(i *item) bool { return i.home == queue })
	return nil
}
