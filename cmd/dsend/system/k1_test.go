package system

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// parking is three queues of which each holds one message that stays, in another
// state, and one through which messages pass.
const parking = `
queues:
- name: dead
- name: delayed
- name: held
  visibility_timeout: 5s
- name: busy
  push: {max_in_flight_per_worker: 500}
`

// parked is the messages that stay, and the worker who holds one of them.
type parked struct {
	held    *delivery
	running sync.WaitGroup
	end     chan struct{}
}

// park parks a message in each state: dead, delayed by an hour, and with a worker
// who says over and over that it is still at work.
func (l *ledger) park(t testing.TB, c *client) *parked {
	t.Helper()
	p := &parked{end: make(chan struct{})}
	l.put(t, c, "dead", 1)
	doomed := c.one(t, "dead")
	l.saw(doomed)
	if result, err := l.answer(doomed, term+" no use"); err != nil || result != "ok" {
		t.Fatalf("term: %s, %v", result, err)
	}
	later := l.draw("delayed", func(o out) out { return o.with("Dsend-Delay", "1h") })
	if err := l.publish(c, later); err != nil {
		t.Fatal(err)
	}
	l.put(t, c, "held", 1)
	p.held = c.one(t, "held")
	l.saw(p.held)
	p.running.Go(func() {
		for {
			if result, err := p.held.ask(inProgress); err != nil || result != "ok" {
				t.Errorf("in progress: %s, %v", result, err)
				return
			}
			select {
			case <-p.end:
				return
			case <-time.After(200 * time.Millisecond):
			}
		}
	})
	return p
}

// leave lets the worker be silent.
func (p *parked) leave() { close(p.end); p.running.Wait() }

// check checks that each is where it was left.
func (p *parked) check(t testing.TB, l *ledger, c *client) {
	t.Helper()
	for queue, want := range map[string]counts{"dead": {Dead: 1}, "delayed": {Delayed: 1}, "held": {InFlight: 1}, "busy": {}} {
		if got := c.info(t, queue).counts; got != want {
			t.Errorf("queue %s: %+v, want %+v", queue, got, want)
		}
	}
	l.balance(t, c)
}

// K1: messages that stay, in whatever state, do not keep what has passed beside
// them on the disk: it is never larger than twice what is needed and a fixed
// number of bytes, without a restart, and nothing of it is read when it starts.
func TestK1_ParkedMessages(t *testing.T) {
	t.Parallel()
	slack, passing := int64(16*mib), 60_000 // of 1 KiB: about four times what may be there
	if storm() {
		slack, passing = 56*mib, 2_000_000
	}
	s := start(t, setup{config: parking, args: []string{
		"--storage-slack", fmt.Sprintf("%dB", slack), "--storage-reserve", "32MiB",
	}})
	c := s.connect(t)
	l := newLedger(dice(t), 5*time.Second)
	p := l.park(t, c)
	first, disk := oldest(t, s), s.watchDisk(t)
	c.passThrough(t, s, "busy", passing)
	// Twice the messages that wait while others are published: two commits and two
	// batches of a thousand, beside the ballast.
	bound := slack + 8*mib + 2*4*mib
	if most := disk.stop(); most > bound {
		t.Errorf("there were up to %d bytes on the disk, the bound is %d", most, bound)
	} else {
		t.Logf("%d MiB passed, up to %d MiB were on the disk", passing>>10, most/mib)
	}
	if last := oldest(t, s); last == first {
		t.Error("nothing was compacted")
	}
	p.check(t, l, c)

	p.leave()
	s.restart()
	c.back(t)
	t.Logf("started in %s", s.starting)
	l.balance(t, c)
	// Its time was 5 s from the last sign of work, and is not renewed by a restart.
	eventually(t, "the worker has lost it", func() error {
		i := c.info(t, "held").counts
		return equal(i.InFlight, 0)
	})
	l.whole(t, c)
}

// whole checks that what was parked is as it was left, after its worker has lost
// what it held.
func (l *ledger) whole(t testing.TB, c *client) {
	t.Helper()
	held := c.one(t, "held")
	if held.attempt != 2 {
		t.Errorf("%v, want attempt 2", held)
	}
	if err := l.ackAll([]*delivery{held}); err != nil {
		t.Fatal(err)
	}
	if d := c.dead(t, "dead"); d.Reason != "terminated" || d.Attempts != 1 {
		t.Errorf("the dead one: %+v", d)
	}
	if got := c.info(t, "delayed").counts; got != (counts{Delayed: 1}) {
		t.Errorf("the delayed one: %+v", got)
	}
	l.balance(t, c)
}

// oldest is the number of the first commit of the log.
func oldest(t testing.TB, s *server) int {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(s.dir, "log", "*.gen"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no log in %s: %v", s.dir, err)
	}
	slices.Sort(files)
	n, err := strconv.Atoi(strings.TrimSuffix(filepath.Base(files[0]), ".gen"))
	if err != nil {
		t.Fatal(err)
	}
	return n
}
