//go:build linux

package power

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"dsend/cmd/dsend/system/crashfs"
)

// The power of a whole dsend is cut at a random call, under load of every kind, over and over. The next one starts without
// help, and has what was confirmed, and nothing else.
func TestRandomCuts(t *testing.T) {
	t.Parallel()
	const worlds = 4
	cuts := 100
	if storm() {
		cuts = 5000
	}
	y := newTally(t, "power cut at a random call of dsend under load")
	settle(t, y)
	for n := range worlds {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			for cut := range cuts / worlds {
				m := crashfs.Models()[(cut*worlds+n)%len(crashfs.Models())]
				found := w.life(m)
				if y.add(1, found); found.bad() {
					return
				}
			}
			y.add(0, w.last())
			t.Logf("%d of %d cuts came before dsend was ready; %d ended by themselves; %d messages; the oldest generation begins with commit %s",
				w.early, cuts/worlds, w.fallen, w.messages(), w.oldest())
		})
	}
}

// A dsend that does not sync fails the check that dsend passes.
func TestBrokenServers(t *testing.T) {
	t.Parallel()
	for name, broken := range map[string]func(crashfs.Call) bool{
		"no fsync":            func(c crashfs.Call) bool { return c.Kind == crashfs.Sync },
		"no fsync of folders": func(c crashfs.Call) bool { return c.Kind == crashfs.SyncFolder },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.broken = broken
			for cut := range 50 {
				if found := w.life(crashfs.Model{Data: crashfs.Nothing, Names: crashfs.Strict}); found.bad() {
					t.Logf("found after %d cuts: %+v", cut+1, found)
					return
				}
			}
			t.Error("a broken dsend passed 50 cuts")
		})
	}
}

// world is a disk, the dsend on it, and all hands.
type world struct {
	*testing.T
	broken func(crashfs.Call) bool // calls that do not reach the disk; nil: all do
	rng    *rand.Rand
	disk   *crashfs.Disk
	dir    string
	config string
	hands  []*hand
	lives  int
	early  int // cuts before it was ready
	fallen int // servers that ended by themselves after a cut
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{T: t, rng: dice(t)}
	w.disk, w.dir = newDisk(t, crashfs.Models()[0], w.rng.Uint64())
	w.config = filepath.Join(t.TempDir(), "dsend.yaml")
	if err := os.WriteFile(w.config, []byte(serverConfig), 0o600); err != nil {
		t.Fatal(err)
	}
	for n := range 6 {
		w.hands = append(w.hands, &hand{
			ledger: newLedger(fmt.Sprint("hand", n)), rng: rand.New(rand.NewPCG(w.rng.Uint64(), w.rng.Uint64())), large: n == 0,
		})
	}
	return w
}

// life is one life of dsend: it starts, what it has is compared with what was promised, all hands work, and the power is cut.
func (w *world) life(m crashfs.Model) (found verdict) {
	w.Helper()
	if err := w.disk.PowerOn(m); err != nil {
		w.Fatal(err)
	}
	at := 1 + w.rng.IntN(800)
	if w.rng.IntN(6) == 0 {
		at = 1 + w.rng.IntN(60) // most likely while it starts
	}
	w.disk.CutAt(at)
	w.disk.Ignore(w.broken)
	s := serve(w, w.dir, w.config)
	defer s.end(0)
	ready, err := s.up(w.disk)
	if ready {
		err = w.use(s)
	} else {
		w.early++
	}
	switch {
	case errors.Is(err, errSilent):
		w.Logf("%v, %v, call %d of %d:\n%s", err, m, w.disk.Calls(), at, s.stacks())
		return verdict{failed: 1}
	case err != nil && !isDark(w.disk):
		w.Logf("%v: %v:\n%s", m, err, strings.Join(s.stderr(), "\n"))
		return verdict{failed: 1}
	}
	w.disk.Cut()
	if s.end(300*time.Millisecond) > 0 {
		w.fallen++
	}
	return w.verdict(m)
}

// verdict is what the hands found, and tells of it.
func (w *world) verdict(m crashfs.Model) (found verdict) {
	for _, h := range w.hands {
		if h.found.bad() {
			w.Logf("%v:\n%s", m, h.report())
			found = found.plus(h.found)
		}
	}
	return found
}

// use audits, and has all hands work until the power is cut, or for a while. The error is that something was not as it
// should be while the power was on.
func (w *world) use(s *server) error {
	ctx, cancel := s.alive()
	defer cancel()
	if err := w.audit(s); err != nil {
		return err
	}
	errs := make(chan error, len(w.hands))
	var working sync.WaitGroup
	for _, h := range w.hands {
		working.Go(func() {
			nc, err := s.connect()
			if err == nil {
				defer nc.Close()
				err = h.work(&client{nc, ctx})
			}
			if !isDark(w.disk) || errors.Is(err, errSilent) {
				errs <- fmt.Errorf("%s: %w", h.queue, err)
			}
		})
	}
	var err error
	select {
	case <-w.disk.Dark():
	case <-time.After(3 * time.Second):
		w.disk.Cut()
	case err = <-errs:
		if !errors.Is(err, errSilent) {
			w.disk.Cut()
		}
	}
	if err == nil {
		s.end(300 * time.Millisecond) // by itself, because it can write no more
		working.Wait()
		select {
		case err = <-errs:
		default:
		}
	} else {
		defer working.Wait()
	}
	return err
}

// audit compares what dsend has with what was promised.
func (w *world) audit(s *server) error {
	ctx, cancel := s.alive()
	defer cancel()
	nc, err := s.connect()
	if err != nil {
		return err
	}
	defer nc.Close()
	c := &client{nc, ctx}
	names, err := c.queues()
	if err != nil {
		return err
	}
	all := map[string][]stored{}
	for _, name := range names {
		messages, err := c.peek(name)
		if err != nil {
			return err
		}
		hand := strings.TrimSuffix(name, "-dlq")
		all[hand] = append(all[hand], messages...)
	}
	for _, h := range w.hands {
		h.rise(all[h.queue])
		delete(all, h.queue)
	}
	if len(all) > 0 {
		return fmt.Errorf("there are queues that nobody made: %v", all)
	}
	return nil
}

// last audits once more, after the last cut, and stops dsend in order.
func (w *world) last() verdict {
	w.Helper()
	m := crashfs.Models()[0]
	if err := w.disk.PowerOn(m); err != nil {
		w.Fatal(err)
	}
	s := serve(w, w.dir, w.config)
	defer s.end(0)
	_, err := s.up(w.disk)
	if err == nil {
		err = w.audit(s)
	}
	if err != nil {
		w.Logf("the last start: %v", err)
		return verdict{failed: 1}
	}
	s.signal(syscall.SIGTERM)
	if code := s.end(patience); code != 0 {
		w.Errorf("exit code %d after SIGTERM:\n%s", code, strings.Join(s.stderr(), "\n"))
	}
	return w.verdict(m)
}

func (w *world) messages() (n int) {
	for _, h := range w.hands {
		n += h.drawn
	}
	return n
}

// oldest is the name of the oldest generation.
func (w *world) oldest() string {
	found, err := filepath.Glob(filepath.Join(w.dir, logFolder, "*.gen"))
	if err != nil || len(found) == 0 {
		w.Fatalf("there is no log: %v", err)
	}
	return filepath.Base(found[0])
}
