package system

import (
	"testing"
	"time"
)

// dying is a queue whose messages die at their second failure; those that are good
// have attempts enough to survive every kill.
var dying = settings("orders", "visibility_timeout: 1s", "max_attempts: 2", "backoff: {initial: 10ms, max: 10ms, jitter: 0}")

// batchOfTheDoomed is n messages of which every 10th is to fail.
func (l *ledger) batchOfTheDoomed(t testing.TB, c *client, n int) (doomed map[string]bool) {
	t.Helper()
	items, outs := make([]*item, n), make([]out, n)
	doomed = map[string]bool{}
	for k := range items {
		i := l.draw("orders")
		if doomed[i.id] = k%10 == 9; !doomed[i.id] {
			i.out = i.out.with("Dsend-Max-Attempts", "1000")
		}
		items[k], outs[k] = i, i.out
	}
	answers, err := c.publishAll(outs)
	if err != nil {
		t.Fatal(err)
	}
	for k, a := range answers {
		if a.err != nil {
			t.Fatal(a.err)
		}
		l.answered(items[k], a.ack, nil)
	}
	return doomed
}

// workOn pulls a few messages, fails the doomed and acks the others.
func (l *ledger) workOn(c *client, doomed map[string]bool) error {
	p, err := c.pull("orders", pull{Batch: 5, Expires: 200 * time.Millisecond})
	for _, d := range p.msgs {
		l.saw(d)
		answer := ack
		if doomed[idOf(d.Data)] {
			answer = `-NAK {"error":"doomed"}`
		}
		if _, err := l.answer(d, answer); err != nil {
			return err
		}
	}
	return err
}

// E1: the move to the dead-letter queue is atomic. Of 200 messages every 10th
// fails twice; the server is killed at random moments of that. Each message is in
// one place, and at the end the dead-letter queue holds the doomed, once, and
// nobody else.
func TestE1_KilledWhileDying(t *testing.T) {
	t.Parallel()
	const rounds = 20
	rng := dice(t)
	s := start(t, setup{config: dying})
	crew, c := newCrew(t, s, 3), s.connect(t)
	l := newLedger(rng, time.Second)
	doomed := l.batchOfTheDoomed(t, c, 200)
	for round := range rounds {
		if round%5 == 4 { // the first ones are done by now
			for id, yes := range l.batchOfTheDoomed(t, c, 200) {
				doomed[id] = yes
			}
		}
		crew.begin(func(c *client) error { return l.workOn(c, doomed) })
		time.Sleep(aMoment(rng) / 3)
		s.kill()
		crew.end()
		s.start()
		c.back(t)
		l.balance(t, c)
	}
	crew.begin(func(c *client) error { return l.workOn(c, doomed) })
	c.rest(t, "orders", counts{Dead: int64(len(doomed) / 10)})
	crew.end()
	l.balance(t, c)
	l.onlyTheDoomedDied(t, c, doomed)
}

// onlyTheDoomedDied checks that each of the doomed died once, of its two attempts.
func (l *ledger) onlyTheDoomedDied(t testing.TB, c *client, doomed map[string]bool) {
	t.Helper()
	letters, err := c.letters("orders", nil)
	if err != nil {
		t.Fatal(err)
	}
	died := map[string]int{}
	for _, d := range letters {
		id := idOf(d.Data)
		died[id]++
		if d.Reason != "max_attempts" || d.Attempts != 2 || len(d.History) != 2 || !doomed[id] {
			t.Errorf("%s died of %s after %d attempts (%v)", id, d.Reason, d.Attempts, d.outcomes())
		}
	}
	for id, yes := range doomed {
		if yes && died[id] != 1 {
			t.Errorf("%s is %d times in the dead-letter queue", id, died[id])
		}
	}
}

// The same with the kill at the very sync of the death, and at the one behind it.
func TestE1_KilledAtTheSyncOfTheDeath(t *testing.T) {
	t.Parallel()
	for name, confirmed := range map[string]bool{"before": false, "behind": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, setup{config: dying + "- name: others\n"})
			c := s.connect(t)
			l := newLedger(dice(t), time.Second)
			l.put(t, c, "orders", 1)
			l.fail(t, c.one(t, "orders"))
			second := c.one(t, "orders")
			if confirmed {
				l.fail(t, second)
			}
			s.trace(t, deadly()...)
			if err := second.say(nak); err != nil { // once more does no harm
				t.Fatal(err)
			}
			if err := c.nc.PublishMsg(l.draw("others").msg()); err != nil { // it is never answered
				t.Fatal(err)
			}
			s.killed()
			s.start()
			c.back(t)
			l.balance(t, c)
			c.rest(t, "orders", counts{Dead: 1}) // by itself: nobody pulls
			l.balance(t, c)
			if d := c.dead(t, "orders"); d.Attempts != 2 || confirmed && d.History[1].Outcome != "nak" {
				t.Errorf("died after %d attempts: %v", d.Attempts, d.outcomes())
			}
		})
	}
}

// fail notes a delivery and fails it, with confirmation.
func (l *ledger) fail(t testing.TB, d *delivery) {
	t.Helper()
	l.saw(d)
	if result, err := l.answer(d, nak); err != nil || result != "ok" {
		t.Fatalf("%v: nak: %s, %v", d, result, err)
	}
}
