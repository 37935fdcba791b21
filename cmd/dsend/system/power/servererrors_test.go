//go:build linux

package power

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"dsend/cmd/dsend/system/crashfs"
)

// Every call of a whole dsend fails once, or from then on: while it starts, recovers, works, reads what is cold, and stops.
// Nothing of a commit that failed was confirmed; it ends by itself with one line and an exit code that is not 0; who waits
// for an answer learns of it at once; and the next dsend has what was confirmed.
func TestServerErrors(t *testing.T) {
	t.Parallel()
	stride := 40
	if storm() {
		stride = 1
	}
	y := newTally(t, "an error at the N-th call of dsend")
	settle(t, y)
	worlds := map[*testing.T]*world{}
	var mu sync.Mutex
	eachFault(t, stride, func(r *trial, f crashfs.Fault) bool {
		mu.Lock()
		w := worlds[r.T]
		if w == nil || w.lives == manyLives {
			w = newWorld(r.T)
			worlds[r.T] = w
		}
		mu.Unlock()
		w.lives++
		struck, found := w.errorLife(r.m, f)
		if struck {
			y.add(1, found)
		}
		return struck && !found.bad()
	})
}

// manyLives is how many lives a world has before the next one begins with nothing. Each leaves a generation or two, and the
// more there are the more calls a start takes: with one world the N-th call would be there for every N.
const manyLives = 25

// Bounds: who waits for an answer learns of a failure within a second, on a machine that is not busy.
const (
	atOnce   = time.Second
	overload = 4 * time.Second
)

// errorLife is a life of dsend with a fault: it starts, every hand does a few things, and it stops.
func (w *world) errorLife(m crashfs.Model, f crashfs.Fault) (struck bool, found verdict) {
	w.Helper()
	if err := w.disk.PowerOn(m); err != nil {
		w.Fatal(err)
	}
	w.disk.Inject(f)
	s := serve(w, w.dir, w.config)
	defer s.end(0)
	fail := func(format string, args ...any) (bool, verdict) {
		w.Logf("%+v: %s\n%s", f, fmt.Sprintf(format, args...), s.stacks())
		return true, verdict{failed: 1}
	}
	var err error
	select {
	case <-s.ready:
		err = w.useABit(s)
	case <-s.ended:
	case <-time.After(patience):
		return fail("it neither starts nor ends")
	}
	struck = w.disk.Hits() > 0
	if err != nil && !struck || errors.Is(err, errSilent) {
		return fail("%v", err)
	}
	s.signal(syscall.SIGTERM) // it may have ended already
	select {
	case <-s.ended:
	case <-time.After(silence):
		return fail("it does not end")
	}
	struck = w.disk.Hits() > 0
	if text := s.blame(struck, struck && fatal(f, w.disk.FirstHit())); text != "" {
		return fail("exit code %d: %s", s.cmd.ProcessState.ExitCode(), text)
	}
	w.disk.Heal()
	return struck, w.again(m, fmt.Sprintf("%+v", f))
}

// useABit audits, has every hand do a few things, and checks that all know at once when it is over.
func (w *world) useABit(s *server) error {
	ctx, cancel := s.alive()
	defer cancel()
	if err := w.audit(s); err != nil {
		return err
	}
	errs := make([]error, len(w.hands))
	over := make(chan struct{})
	var working sync.WaitGroup
	for n, h := range w.hands {
		working.Go(func() {
			nc, err := s.connect()
			if err != nil {
				errs[n] = err
				return
			}
			defer nc.Close()
			errs[n] = h.bit(&client{nc, ctx})
		})
	}
	go func() { working.Wait(); close(over) }()
	select {
	case <-over:
		return errors.Join(errs...)
	case <-w.disk.Struck():
	}
	begin := time.Now()
	<-over // or errSilent
	if took := time.Since(begin); took > atOnce+overload {
		return fmt.Errorf("those who waited for an answer learned of the failure after %v: %w", took, errSilent)
	} else if took > atOnce {
		w.Logf("those who waited for an answer learned of the failure after %v: a busy machine?", took)
	}
	return errors.Join(errs...)
}

// bit does a few things.
func (h *hand) bit(c *client) error {
	err := h.publish(c)
	for n := 0; n < 5 && err == nil; n++ {
		err = h.act(c)
	}
	return err
}

// blame says what is wrong with how a server has ended; "" if nothing is. It must have failed if a fault struck that no
// store survives; others it may live with.
func (s *server) blame(struck, must bool) string {
	code := s.cmd.ProcessState.ExitCode()
	complaints := append(s.said("level=ERROR"), s.said("dsend: ")...)
	switch {
	case len(s.said("panic: "))+len(s.said("fatal error: "))+len(s.said("goroutine ")) > 0:
		return "it crashed"
	case code == 0 && must:
		return "it did not fail"
	case code == 0 && len(complaints) > 0:
		return "it complains, and nothing failed"
	case code != 0 && !struck:
		return "it failed without a fault"
	case code != 0 && (code != 1 || len(complaints) != 1):
		return fmt.Sprintf("want exit code 1 and one line:\n%s", strings.Join(complaints, "\n"))
	}
	return ""
}

// again starts dsend once more, compares what it has with what was promised, and cuts the power.
func (w *world) again(m crashfs.Model, what string) verdict {
	w.Helper()
	s := serve(w, w.dir, w.config)
	defer s.end(0)
	_, err := s.up(w.disk)
	if err == nil {
		err = w.audit(s)
	}
	if err != nil {
		w.Logf("%s, and then: %v", what, err)
		return verdict{failed: 1}
	}
	w.disk.Cut()
	return w.verdict(m)
}
