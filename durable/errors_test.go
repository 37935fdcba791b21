package durable

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// The n-th call of the log fails, for n = 1, 2, … until the same storm goes by
// without a fault: each time the store ends, and what was promised holds.
func TestEveryCallOfTheLogMayFail(t *testing.T) {
	const seed = 7
	for _, call := range []string{"Append", "Sync", "Read", "Scan", "Drop"} {
		t.Run(call, func(t *testing.T) {
			n := 1
			for ; oneFault(t, call, n, seed); n += 1 + n/8 {
			}
			if n < 4 {
				t.Errorf("there were %d calls", n-1)
			}
		})
	}
}

// oneFault tells whether the fault happened.
func oneFault(t *testing.T, call string, n int, seed uint64) (happened bool) {
	play(t, func(t *testing.T) {
		log, c := newMemLog(), newClient()
		cfg := config(c)
		cfg.Cache, cfg.Slack, log.size = 0, 1024, 512
		s, err := Open(log, cfg)
		must(t, err)
		log.failNext(call, n)
		st, random := &storm{s: s, c: c}, rand.New(rand.NewPCG(seed, 0))
		for range 250 {
			st.blow(gust{random.IntN(18), random.IntN(100), random.IntN(400)})
			if random.IntN(3) == 0 {
				time.Sleep(time.Duration(random.IntN(10)) * time.Second)
			}
			synctest.Wait()
		}
		happened = log.faults() > 0
		if happened {
			<-s.Done()
		}
		err = s.Close()
		if errors.Is(err, errDisk) != happened {
			t.Fatalf("%s %d, seed %d: %d faults happened, Close: %v", call, n, seed, log.faults(), err)
		}
		for _, left := range []*memLog{log.crash(0), log.crash(log.unsynced())} {
			if err := c.promised().kept(left); err != nil {
				t.Fatalf("%s %d, seed %d: %v", call, n, seed, err)
			}
		}
		log.check(t)
	})
	return happened && !t.Failed()
}

// A log that fails while the store is opened is closed, and the error says
// what was tried.
func TestOpenFails(t *testing.T) {
	for call, says := range map[string]string{
		"Recover": "recover: ", "Append": "write the first commit: ", "Sync": "write the first commit: ",
	} {
		log := newMemLog()
		log.failNext(call, 1)
		s, err := Open(log, config(&recorder{}))
		if s != nil || !errors.Is(err, errDisk) || !strings.HasPrefix(err.Error(), says) {
			t.Errorf("%s failed: %v", call, err)
		}
		log.check(t)
	}
}
