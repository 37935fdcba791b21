package durable

import (
	"testing"
	"testing/synctest"
	"time"

	"dsend/durable/queue"
)

// An idle store with a million delayed messages sleeps. Each turn of the loop
// asks the log for its last commit once.
//
// The race detector has enough to do with less.
func TestAnIdleStoreSleeps(t *testing.T) {
	play(t, func(t *testing.T) {
		const batch = 10_000
		n := 1_000_000
		if raceEnabled {
			n = 5 * batch
		}
		log := newMemLog()
		s, r := open(t, log, noCache, func(c *Config) { c.Queue.Defaults.MaxAge = 9000 * time.Hour })
		for range n / batch {
			ops := make([]queue.Op, batch)
			for i := range ops {
				p := publish("")
				p.Delay = 5000 * time.Hour
				ops[i] = p
			}
			submit(t, s, ops...)
			do(t, s, &queue.Space{})
			r.forget()
		}
		turns, began := log.count("Last"), time.Now()
		time.Sleep(24 * time.Hour)
		if n, minutes := log.count("Last")-turns, int(time.Since(began).Minutes()); n > 2*minutes {
			t.Errorf("%d turns of the loop in %d minutes", n, minutes)
		}
	})
}

// What is due at once, and more than one Tick does, is delivered without delay
// in between.
func TestMuchIsDueAtOnce(t *testing.T) {
	play(t, func(t *testing.T) {
		const n = 10_000
		s, r := open(t, newMemLog())
		ops := make([]queue.Op, n)
		for i := range ops {
			p := publish("")
			p.Delay = time.Minute
			ops[i] = p
		}
		began := time.Now()
		submit(t, s, append(ops, pull(n))...)
		time.Sleep(time.Minute - time.Nanosecond)
		synctest.Wait()
		if got := len(r.deliveries()); got != 0 {
			t.Errorf("%d messages came before their time", got)
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if got := len(r.deliveries()); got != n || time.Since(began) != time.Minute {
			t.Errorf("%d of %d messages came after %v", got, n, time.Since(began))
		}
	})
}

// A store with nothing to do does nothing.
func TestAnEmptyStoreSleeps(t *testing.T) {
	play(t, func(t *testing.T) {
		log := newMemLog()
		_, _ = open(t, log)
		synctest.Wait()
		appends, turns := log.count("Append"), log.count("Last")
		time.Sleep(24 * time.Hour)
		if n := log.count("Append") - appends; n != 0 {
			t.Errorf("%d commits of nothing", n)
		}
		if n := log.count("Last") - turns; n > 25*60 {
			t.Errorf("%d turns in a day", n)
		}
	})
}

// A message that is too old, in a queue that delivers nothing, keeps nobody
// awake. In real time: in fake time a loop that does not sleep stops the clock.
func TestAnOldMessageKeepsNobodyAwake(t *testing.T) {
	holds := map[string]func(d *queue.Settings) []queue.Op{
		"paused": func(d *queue.Settings) []queue.Op {
			d.Paused = true
			return nil
		},
		"its in-flight limit is reached": func(d *queue.Settings) []queue.Op {
			d.MaxInFlight = 1
			return []queue.Op{publish("in flight"), pull(1)}
		},
		"nobody is there": func(d *queue.Settings) []queue.Op { return nil },
	}
	for name, hold := range holds {
		t.Run(name, func(t *testing.T) {
			log, settings := newMemLog(), queue.Defaults()
			settings.MaxAge = 5 * time.Millisecond
			ops := hold(&settings)
			s, _ := open(t, log)
			do(t, s, &queue.Declare{Name: "q", Settings: settings})
			submit(t, s, append(ops, publish("grows old"))...)
			time.Sleep(20 * time.Millisecond)
			turns := log.count("Last")
			time.Sleep(20 * time.Millisecond)
			if n := log.count("Last") - turns; n > 20 {
				t.Errorf("%d turns of the loop in 20 ms", n)
			}
		})
	}
}
