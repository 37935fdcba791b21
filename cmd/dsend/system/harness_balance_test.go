package system

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"
)

// snapshot is where every message is: by its id.
type snapshot map[string][]stored

// snap looks at all queues, and compares what they hold with what they count.
func (l *ledger) snap(c *client) (snapshot, error) {
	queues, err := c.queues()
	if err != nil {
		return nil, err
	}
	all := snapshot{}
	for _, q := range queues {
		messages, err := c.glance(q.Name, 2000) // what is larger is looked at when it is delivered
		if err != nil {
			return nil, err
		}
		held := counts{Dead: q.Dead}
		for _, m := range messages {
			held.add(m)
			id := idOf(m.Data)
			all[id] = append(all[id], m)
		}
		if held != q.counts {
			return nil, fmt.Errorf("queue %s counts %+v, but holds %+v", q.Name, q.counts, held)
		}
	}
	return all, nil
}

// add counts a message where it is held.
func (c *counts) add(m stored) {
	switch m.State {
	case "ready":
		c.Ready++
	case "delayed":
		c.Delayed++
	case "in_flight":
		c.InFlight++
	}
	if m.Letter != nil {
		c.Letters++
	}
}

// balance checks that every message is exactly where it was promised to be: one
// that was taken in one place, unless it is done or removed; one that is done or
// removed nowhere; nothing else anywhere. Messages may move while it looks, so it
// looks again before it says that something is wrong.
func (l *ledger) balance(t testing.TB, c *client) snapshot {
	t.Helper()
	l.check(t)
	for begin := time.Now(); ; time.Sleep(50 * time.Millisecond) {
		all, err := l.snap(c)
		if err == nil && l.compare(all, false) == 0 {
			return all
		}
		if time.Since(begin) < patience {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		l.compare(all, true)
		l.check(t)
		return all
	}
}

// compare compares the ledger with what is there, and tells how much is wrong. It
// notes that only if it is to be blamed.
func (l *ledger) compare(all snapshot, blame bool) (wrong int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	say := func(counter *int, format string, args ...any) {
		if wrong++; blame {
			*counter++
			l.fault(format, args...)
		}
	}
	for id, i := range l.items {
		switch places := all[id]; {
		case len(places) > 1:
			say(&l.duplicated, "%s is in %d places: %s", id, len(places), where(places))
		case len(places) == 1 && !i.gone.IsZero():
			say(&l.undone, "%s was confirmed as gone at %v, and is there: %s", id, i.gone, where(places))
		case len(places) == 1 && i.dead.After(l.replays) && places[0].Letter == nil:
			say(&l.undone, "%s was confirmed as dead at %v, and is alive: %s", id, i.dead, where(places))
		case len(places) == 0 && i.taken && i.gone.IsZero() && !i.maybe:
			say(&l.lost, "%s (%s/%d) is lost", id, i.home, i.seq)
		}
	}
	if wrong == 0 || blame {
		wrong += l.contents(all)
	}
	return wrong
}

// contents checks that what is there is what was sent.
func (l *ledger) contents(all snapshot) (wrong int) {
	for _, places := range all {
		for _, m := range places {
			before := l.invented
			l.known(m.Data, !m.More, m.header(), where([]stored{m}))
			wrong += l.invented - before
		}
	}
	return wrong
}

func where(places []stored) (text string) {
	for _, m := range places {
		text += fmt.Sprintf("[%s/%d %s attempt %d", m.Queue, m.Seq, m.State, m.Attempt)
		if m.Letter != nil {
			text += fmt.Sprintf(", dead: %s", m.Letter.Reason)
		}
		text += "]"
	}
	return text
}

// drain works off all queues, dead letters too, until nothing is left, and checks
// that all that was promised has come.
func (l *ledger) drain(t testing.TB, c *client) {
	t.Helper()
	l.balance(t, c)
	eventually(t, "all queues are drained", func() error {
		queues, err := c.queues()
		if err != nil {
			return err
		}
		left := int64(0)
		for _, q := range queues {
			if left += q.Messages; q.Messages > 0 {
				err = errors.Join(err, l.workOff(c, q.Name))
			}
		}
		return errors.Join(err, equal(left, 0))
	})
	all := l.balance(t, c)
	if len(all) > 0 {
		t.Errorf("%d messages are left", len(all))
	}
	t.Logf("%d messages: %s", len(l.items), l.counters())
}

// workOff acks what is ready in a queue.
func (l *ledger) workOff(c *client, queue string) error {
	for {
		p, err := c.pull(queue, pull{Batch: 200, NoWait: true})
		if err != nil || len(p.msgs) == 0 {
			return err
		}
		if err := l.ackAll(p.msgs); err != nil {
			return err
		}
	}
}

// ackAll notes deliveries and acks them side by side, with confirmation.
func (l *ledger) ackAll(msgs []*delivery) error {
	errs := make([]error, len(msgs))
	var all sync.WaitGroup
	for k, d := range msgs {
		l.saw(d)
		all.Go(func() {
			result, err := l.answer(d, ack)
			if err == nil && !slices.Contains([]string{"ok", "late"}, result) {
				err = fmt.Errorf("%v: the ack was %s", d, result)
			}
			errs[k] = err
		})
	}
	all.Wait()
	return errors.Join(errs...)
}
