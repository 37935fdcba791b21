package system

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// A disk of 64 MiB of which 16 are to stay free; the ballast is 4 of them.
const (
	fullReserve = 16 << 20
	fullBallast = 4 << 20
	fullConfig  = `
storage: {reserve: 16MiB, slack: 16MiB}
queues:
- name: bulk
  visibility_timeout: 10m
  backoff: {initial: 10ms, max: 10ms, jitter: 0}
`
)

// cram publishes until it is refused for want of room.
func (l *ledger) cram(t testing.TB, c *client) {
	t.Helper()
	for begin := time.Now(); time.Since(begin) < patience; {
		items, outs := make([]*item, 10), make([]out, 10)
		for k := range items {
			items[k] = l.draw(bulky)
			outs[k] = items[k].out
		}
		answers, err := c.publishAll(outs)
		if err != nil {
			t.Fatal(err)
		}
		for k, a := range answers {
			if l.answered(items[k], a.ack, a.err); a.err != nil {
				err = a.err
			}
		}
		if noRoom(err) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	t.Fatal("publishes are taken for ever")
}

// noRoom tells whether a publish was refused for want of room.
func noRoom(err error) bool {
	var refused *refusal
	return errors.As(err, &refused) && strings.Contains(refused.Description, "insufficient storage")
}

// refuses checks that no publish is taken.
func (l *ledger) refuses(t testing.TB, c *client) {
	t.Helper()
	if err := l.publish(c, l.draw(bulky)); !noRoom(err) {
		t.Errorf("a publish on a full disk: %v", err)
	}
}

// goesOn checks that all but publishes goes on: acks, retries and deaths.
func (l *ledger) goesOn(t testing.TB, c *client) {
	t.Helper()
	held := c.take(t, bulky, 20)
	if err := l.ackAll(held[:10]); err != nil {
		t.Fatal(err)
	}
	for k, d := range held[10:] {
		l.saw(d)
		answer := nak
		if k%2 == 0 {
			answer = term + " no use"
		}
		if result, err := l.answer(d, answer); err != nil || result != "ok" {
			t.Fatalf("%s: %s, %v", answer, result, err)
		}
	}
}

// The disk gets full, by Dsend and by others, to the last block: publishes are
// refused while there is a reserve, and all else goes on, on the room of the
// ballast. What is acked makes room; publishes are taken again, by the same
// process. On a full disk it starts as on any other.
func TestDiskNearlyFull(t *testing.T) {
	t.Parallel()
	d := newDiskOf(t, "64M")
	s := start(t, setup{dir: d.data(), config: fullConfig})
	c := s.connect(t)
	l := newLedger(dice(t), 10*time.Minute)

	l.cram(t, c)
	if free := d.free() + d.ballast(); free < fullReserve-4<<20 || free > fullReserve+8<<20 || d.ballast() != fullBallast {
		t.Errorf("publishes are refused with %d bytes free, %d of them ballast", free, d.ballast())
	}
	t.Logf("others take %d bytes", d.fill("others"))
	eventually(t, "the ballast is given back", func() error { return equal(d.ballast(), 0) })
	l.refuses(t, c)
	l.goesOn(t, c)
	l.balance(t, c)

	process := s.pid()
	eventually(t, "publishes are taken again", func() error {
		if err := l.workOff(c, bulky); err != nil {
			return err
		}
		return l.publish(c, l.draw(bulky))
	})
	eventually(t, "the ballast is there again", func() error { return equal(d.ballast(), fullBallast) })
	if s.pid() != process || !s.running() || len(s.runs) != 1 {
		t.Error("it is another process")
	}
	l.balance(t, c)

	l.cram(t, c)
	s.kill()
	if d.fill("more"); d.free() != 0 {
		t.Fatalf("%d bytes are free", d.free())
	}
	s.start()
	c.back(t)
	l.balance(t, c)
	l.refuses(t, c)
	l.goesOn(t, c)
	d.remove("more")
	eventually(t, "publishes are taken again", func() error {
		if err := l.workOff(c, bulky); err != nil {
			return err
		}
		return l.publish(c, l.draw(bulky))
	})
	l.drain(t, c)
	s.stop()
	d.check()
}
