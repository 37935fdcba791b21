package durable

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"dsend/durable/queue"
)

// small makes a log of 1 KiB generations, which is compacted when it has 4 KiB
// more than twice what is needed.
func small(log *memLog) func(*Config) {
	log.size = 1 << 10
	return func(c *Config) { c.Slack = 8 << 10 }
}

// agree fails the test if the store's count of what the log needs is not that
// of the State.
func agree(t testing.TB, s *Store) {
	t.Helper()
	do(t, s, &queue.Space{}) // plain acks that wait are counted when they are committed
	must(t, miscount(s))
}

// miscount says where the store's count of what the log needs is wrong.
func miscount(s *Store) (err error) {
	return errors.Join(s.View(background, func(state *queue.State) {
		right := newUsage(0, s.log.Generations(), state.Spans())
		gone := len(right.parts) - len(s.usage.parts) // one may be about to be dropped
		if right.live != s.usage.live || gone < 0 {
			err = fmt.Errorf("the store counts %+v, right is %+v", s.usage, right)
			return
		}
		for i, p := range s.usage.parts {
			if is := right.parts[i+gone]; p.first != is.first || p.live != is.live {
				err = fmt.Errorf("the store counts %+v, right is %+v", p, is)
			}
		}
	}), err)
}

// pass lets n messages through a queue; compaction keeps up.
func pass(t testing.TB, s *Store, r *recorder, n int) {
	t.Helper()
	for i := range n {
		p := publish(fmt.Sprint(i, strings.Repeat("x", 200)))
		p.Queue = "busy"
		asks := pull(1)
		asks.Queue = "busy"
		do(t, s, p)
		do(t, s, asks)
		all := r.deliveries()
		submit(t, s, answer(all[len(all)-1], queue.Ack, false))
		synctest.Wait()
	}
}

// litter leaves one message behind, and much garbage, until the store takes no
// more.
func litter(t *testing.T, s *Store) {
	t.Helper()
	p := publish("stays")
	p.Queue = "other"
	ops := []queue.Op{p}
	for range 100 {
		if s.Submit(ops, 0) != nil {
			return
		}
		ops = []queue.Op{publish(strings.Repeat("x", 200)), &queue.Purge{Name: "q"}}
		synctest.Wait()
	}
	t.Error("the store goes on")
}

// still gives what people can see of all queues but "busy", without places.
func still(t testing.TB, s *Store) map[string][]queue.Entry {
	t.Helper()
	seen := map[string][]queue.Entry{}
	infos, err := s.Infos(t.Context())
	must(t, err)
	for _, info := range infos {
		if info.Name == "busy" {
			continue
		}
		all := list(t, s, info.Name)
		for i := range all {
			_, m, err := s.Message(t.Context(), info.Name, all[i].Seq)
			must(t, err)
			all[i].Place, all[i].Size = queue.Place{}, 0
			all[i].Worker += string(m.Subject) + string(m.Header) + string(m.Body)
		}
		seen[info.Name] = all
	}
	return seen
}

// park leaves messages behind in every state.
func park(t *testing.T, s *Store, r *recorder) {
	t.Helper()
	fill(t, s, 6, func(i int) string { return fmt.Sprint("parked ", i) })
	keyed := publish("the first of its key")
	keyed.Key = "k"
	do(t, s, keyed)
	keyed = publish("blocked behind it")
	keyed.Key = "k"
	do(t, s, keyed)
	late := publish("delayed")
	late.Delay = 1000 * time.Hour
	do(t, s, late)
	do(t, s, &queue.Declare{Name: "q", Settings: patient()})
	do(t, s, pull(4))
	d := r.deliveries()
	submit(t, s, answer(d[0], queue.Ack, true), answer(d[1], queue.Term, true), answer(d[2], queue.Nak, true)) // one stays in flight
	do(t, s, &queue.Kill{Name: "q", Seq: 5, Error: "by hand"})
	replayed := do(t, s, &queue.Replay{Name: "q-dlq", Seq: 1})
	if replayed.Seq != 10 {
		t.Fatalf("the replayed message is %d", replayed.Seq)
	}
}

// patient are settings under which a message may wait for months.
func patient() queue.Settings {
	s := queue.Defaults()
	s.VisibilityTimeout, s.MaxHold = 1000*time.Hour, 0
	s.Backoff.Initial, s.Backoff.Max = 1000*time.Hour, 1000*time.Hour
	return s
}

// However many messages pass, and whatever stays, the log is bounded, and what
// stays is what it was: while it runs, and after a restart.
func TestTheLogStaysSmall(t *testing.T) {
	play(t, func(t *testing.T) {
		log := newMemLog()
		s, r := open(t, log, small(log), noCache)
		park(t, s, r)
		before := still(t, s)
		pass(t, s, r, 600)
		synctest.Wait()
		agree(t, s)
		var needed int64
		must(t, s.View(t.Context(), func(*queue.State) { needed = s.usage.live + s.usage.rest }))
		if bound := 2*needed + s.cfg.Slack; log.most() > bound {
			t.Errorf("the log had up to %d bytes; %d are needed, the bound is %d", log.most(), needed, bound)
		}
		if drops := log.count("Drop"); drops < 100 {
			t.Errorf("only %d generations were dropped", drops)
		}
		same(t, before, still(t, s), "after compaction")
		must(t, s.Close())
		again, _ := open(t, log.crash(0), noCache)
		sound(t, again)
		agree(t, again)
		same(t, before, still(t, again), "after a restart")
	})
}

func same(t *testing.T, before, after map[string][]queue.Entry, when string) {
	t.Helper()
	for name, want := range before {
		for i, e := range want {
			if got := after[name]; i >= len(got) || !reflect.DeepEqual(e, got[i]) {
				t.Fatalf("%s of queue %s:\n%+v, want\n%+v", when, name, got, want)
			}
		}
	}
	if len(before) != len(after) {
		t.Errorf("%s: %d queues, want %d", when, len(after), len(before))
	}
}

// A generation of which something is needed is not dropped, whatever happens.
func TestNothingNeededIsDropped(t *testing.T) {
	play(t, func(t *testing.T) {
		log := newMemLog()
		s, _ := open(t, log, small(log))
		do(t, s, publish("needed"))
		must(t, s.View(t.Context(), func(state *queue.State) { s.usage.parts[0].live++ })) // a miscount
		litter(t, s)
		<-s.Done()
		if err := s.Err(); err == nil || !strings.Contains(err.Error(), "1 bytes of messages were not carried") {
			t.Errorf("the error is %v", err)
		}
		if log.count("Drop") != 0 {
			t.Error("it was dropped")
		}
	})
}

// A log that a crash has left too large is compacted at the next start, even
// if nothing happens.
func TestALargeLogIsCompactedAtStart(t *testing.T) {
	play(t, func(t *testing.T) {
		log := newMemLog()
		log.size = 1 << 10
		s, r := open(t, log)
		pass(t, s, r, 100)
		must(t, s.Close())
		if n := log.bytes(); n < 20<<10 {
			t.Fatalf("the log has %d bytes", n)
		}
		left := log.crash(0)
		again, _ := open(t, left, small(left))
		synctest.Wait()
		if n := left.bytes(); n > again.cfg.Slack/2 {
			t.Errorf("the log has %d bytes still", n)
		}
	})
}

// A server that is restarted without end, and begins a generation each time, has
// few of them all the same: also if all that is in them is needed.
func TestManySmallGenerations(t *testing.T) {
	for name, kept := range map[string]bool{"kept": true, "not kept": false} {
		t.Run(name, func(t *testing.T) {
			play(t, func(t *testing.T) {
				log := newMemLog()
				s, r := open(t, log, func(c *Config) { c.Slack = 4 << 20 })
				pass(t, s, r, 1)
				for range 1000 {
					log.begin()
					if kept {
						do(t, s, publish("body"))
					} else {
						pass(t, s, r, 1)
					}
				}
				synctest.Wait()
				const needed = 1000 * 200 // at the most, in bytes
				if n, most := len(log.Generations()), (2*needed+4<<20)/minFootprint; n > most {
					t.Errorf("the log has %d generations, want %d at the most", n, most)
				}
				sound(t, s)
			})
		})
	}
}

// Many queues that are emptied leave nothing behind but that they are there, and
// nothing at all when they are removed.
func TestManyQueuesAreEmptied(t *testing.T) {
	play(t, func(t *testing.T) {
		const queues, slack = 2000, 512 << 10
		log := newMemLog()
		log.size = 32 << 10
		s, _ := open(t, log, func(c *Config) { c.Slack = slack })
		name := func(i int) string { return fmt.Sprintf("queue-%d", i) }
		for i := range queues {
			p := publish(strings.Repeat("x", 2000))
			p.Queue = name(i)
			do(t, s, p)
		}
		full := log.bytes()
		for i := range queues {
			do(t, s, &queue.Purge{Name: name(i)})
		}
		synctest.Wait()
		if n, records := log.bytes(), int64(queues*400); n > 2*records+slack || n > full/2 {
			t.Errorf("the log of %d empty queues has %d bytes, full it had %d", queues, n, full)
		}
		agree(t, s)
		for i := range queues {
			do(t, s, &queue.Remove{Name: name(i)})
		}
		for range 5 { // that they are gone is found out by and by
			time.Sleep(doubtInterval)
			synctest.Wait()
		}
		if n := log.bytes(); n > slack {
			t.Errorf("the log of no queues has %d bytes", n)
		}
	})
}

// However long a consumer does something over and over that comes to nothing, it
// does not make the log grow.
func TestAConsumerThatNeverComesToAnEnd(t *testing.T) {
	for name, again := range map[string]func(t *testing.T, s *Store, r *recorder) queue.Op{
		"polls": func(*testing.T, *Store, *recorder) queue.Op {
			p := pull(1)
			p.Queue, p.NoWait = "empty", true
			return p
		},
		"extends": func(_ *testing.T, _ *Store, r *recorder) queue.Op {
			time.Sleep(time.Second) // else there is nothing to extend
			return answer(r.deliveries()[0], queue.InProgress, true)
		},
		"naks": func(t *testing.T, s *Store, r *recorder) queue.Op {
			all := r.deliveries()
			do(t, s, answer(all[len(all)-1], queue.Nak, true))
			time.Sleep(time.Second)
			return pull(1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			play(t, func(t *testing.T) {
				log := newMemLog()
				s, r := open(t, log, small(log))
				endless := queue.Defaults()
				endless.MaxAttempts, endless.Backoff.Max, endless.VisibilityTimeout = 0, time.Second, time.Hour
				do(t, s, &queue.Declare{Name: "empty", Settings: endless})
				do(t, s, &queue.Declare{Name: "q", Settings: endless})
				do(t, s, publish("for ever"))
				do(t, s, pull(1))
				synctest.Wait()
				for range 1000 {
					do(t, s, again(t, s, r))
					synctest.Wait()
				}
				if most := log.most(); most > s.cfg.Slack {
					t.Errorf("the log had up to %d bytes", most)
				}
				if written := log.count("Append"); name != "polls" && written < 1000 || log.count("Drop") < written/100 {
					t.Errorf("%d commits, %d generations were dropped", written, log.count("Drop"))
				}
				if e, m, err := s.Message(t.Context(), "q", 1); err != nil || string(m.Body) != "for ever" {
					t.Errorf("the message is %+v, %v", e, err)
				}
			})
		})
	}
}

// Message ids must be kept for their time, longer than their messages. They are
// not carried round and round meanwhile, and make room when it is over.
func TestIDsDoNotKeepTheDiskBusy(t *testing.T) {
	play(t, func(t *testing.T) {
		log := newMemLog()
		s, _ := open(t, log, small(log))
		for i := range 1000 {
			p := publish("body")
			p.ID = fmt.Sprintf("%032d", i)
			do(t, s, p)
			if i%10 == 9 {
				do(t, s, &queue.Purge{Name: "q"})
			}
		}
		synctest.Wait()
		size := log.bytes()
		if ids := int64(1000 * 32); size < ids || size > 4*ids {
			t.Errorf("the log has %d bytes for ids of %d", size, ids)
		}
		drops, last := log.count("Drop"), log.count("Append")
		for range 100 {
			do(t, s, publish("body"))
			do(t, s, &queue.Purge{Name: "q"})
			time.Sleep(time.Second)
		}
		if n, m := log.count("Drop")-drops, log.count("Append")-last; n > 100 || m > 200+3*100 {
			t.Errorf("in 100 s %d generations were dropped, %d commits made", n, m)
		}
		time.Sleep(5 * time.Minute)
		if n := log.bytes(); n > s.cfg.Slack/2 {
			t.Errorf("minutes after their time the log has %d bytes still", n)
		}
		if again := publish("body"); true {
			again.ID = fmt.Sprintf("%032d", 5)
			if r := do(t, s, again); r.Duplicate {
				t.Error("an id was remembered for more than its time")
			}
		}
	})
}

// A message that is carried forward between its look-up and the reading is
// looked up again.
func TestAMessageMovesWhileItIsRead(t *testing.T) {
	play(t, func(t *testing.T) {
		log, s, _ := aged(t, "q")
		e, err := s.Entry(t.Context(), "q", 1)
		must(t, err)
		carry := &queue.Carry{Through: e.Place.Commit}
		data := make([]byte, e.Size)
		must(t, log.Read(e.Place.Commit, e.Place.Offset, data))
		carry.Add(e.Place.Commit, e.Place.Offset, data)
		log.reading = func() {
			log.reading = nil
			submit(t, s, carry)
			synctest.Wait()
			log.failNext("Read", 1) // it was dropped
		}
		now, m, err := s.Message(t.Context(), "q", 1)
		must(t, err)
		sameBody(t, m, "the body in q")
		if now.Place == e.Place || log.faults() != 1 {
			t.Errorf("it was at %v, it is at %v; %d reads failed", e.Place, now.Place, log.faults())
		}
	})
}

// Who reads while the log is compacted gets what he asked for.
func TestReadsRaceWithCompaction(t *testing.T) {
	log := newMemLog()
	s, r := open(t, log, small(log), noCache)
	fill(t, s, 20, func(i int) string { return fmt.Sprint("parked ", i) })
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for reader := range 2 {
		readers.Go(func() {
			for i := reader; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				e, m, err := s.Message(background, "q", uint64(i%20+1))
				if want := fmt.Sprint("parked ", i%20); err != nil || string(m.Body) != want || e.Seq != m.Seq {
					t.Errorf("%q, %v, want %q", m.Body, err, want)
					return
				}
			}
		})
	}
	readers.Go(func() { // deliveries read as well
		for {
			select {
			case <-stop:
				return
			default:
				n := len(r.deliveries())
				_ = s.Submit([]queue.Op{pull(5)}, 0)
				_ = s.Submit([]queue.Op{&queue.Space{}}, 0)
				time.Sleep(time.Millisecond)
				for _, d := range r.deliveries()[n:] {
					if d.Queue == "q" {
						back := answer(d, queue.Nak, false)
						back.Uncounted = true
						_ = s.Submit([]queue.Op{back}, 0)
					}
				}
			}
		}
	})
	for range 1500 {
		p := publish(strings.Repeat("x", 300))
		p.Queue = "busy"
		submit(t, s, p)
		do(t, s, &queue.Purge{Name: "busy"})
	}
	close(stop)
	readers.Wait()
	if log.count("Drop") < 50 {
		t.Errorf("only %d generations were dropped", log.count("Drop"))
	}
	must(t, s.Close())
}
