package durable

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"dsend/durable/queue"
)

// gust is one step of a storm.
type gust struct {
	what, which, size int
}

var gusts = rapid.Custom(func(t *rapid.T) gust {
	return gust{
		rapid.IntRange(0, 17).Draw(t, "what"), rapid.IntRange(0, 99).Draw(t, "which"),
		rapid.SampledFrom([]int{0, 1, 50, 200, 700}).Draw(t, "size"),
	}
})

// storm does random things to a store on behalf of a client.
type storm struct {
	s *Store
	c *client
	n int // bodies made
}

// blow does a step. It does not wait for what was submitted.
func (st *storm) blow(g gust) {
	switch g.what {
	case 0, 1, 2, 3, 4:
		st.publish(g)
	case 5, 6, 7:
		p := pull(1 + g.which%5)
		p.Expires, p.Inbox = time.Second, fmt.Sprint("_INBOX.a.", g.which)
		if g.which%4 == 0 {
			p.Queue = "q-dlq"
		}
		st.submit(p)
	case 8, 9, 10, 11, 12:
		st.answer(g)
	case 13:
		if seq := st.c.letter(g.which); seq > 0 {
			st.submit(&queue.Replay{Name: "q-dlq", Seq: seq})
		}
	case 14:
		st.submit(&queue.Kill{Name: "q", Seq: uint64(1 + g.which%(st.n+1)), Error: "storm"})
	case 15:
		st.submit(&queue.Pause{Name: "q", Pause: g.which%2 == 0})
	case 16:
		if seq, ok := st.c.message(g.which); ok {
			st.submit(&queue.Delete{Name: "q", Seq: seq})
		}
	case 17:
		st.other(g)
	}
}

// other does something to another queue, whose messages may all be removed.
func (st *storm) other(g gust) {
	switch g.which % 5 {
	case 0:
		st.submit(&queue.Purge{Name: "p", Keep: uint64(g.which % 3)})
	case 1:
		st.submit(&queue.Remove{Name: "p"})
	default:
		st.n++
		p := publish(fmt.Sprintf("p%d:%s", st.n, strings.Repeat("x", g.size)))
		p.Queue, p.Reply, p.Delay = "p", p.Body, time.Duration(g.which%2)*time.Hour
		st.submit(p)
	}
}

func (st *storm) publish(g gust) {
	st.n++
	p := publish(fmt.Sprintf("%d:%s", st.n, strings.Repeat("x", g.size)))
	p.Reply = p.Body
	switch g.which % 8 {
	case 1:
		p.Delay = time.Duration(g.which) * time.Second
	case 2:
		p.Key = fmt.Sprint("key", g.which%3)
	case 3:
		p.Priority, p.HasPriority = uint8(g.which%10), true
	case 4:
		p.ID = fmt.Sprint("id", g.which%20)
	case 5:
		p.MaxAttempts = 1
	case 6:
		p.TTL = time.Duration(g.which) * time.Second
	}
	st.submit(p)
}

func (st *storm) answer(g gust) {
	d, ok := st.c.delivery(g.which)
	if !ok {
		return
	}
	verbs := []queue.Verb{queue.Ack, queue.Nak, queue.Term, queue.InProgress, queue.Ack}
	a := answer(d, verbs[g.size%len(verbs)], false)
	a.Reply = d.Message.Body
	st.submit(a)
}

func (st *storm) submit(op queue.Op) {
	st.c.asks(op)
	_ = st.s.Submit([]queue.Op{op}, 0) // refused after a failure
}

// moments are crashes: what the disk has, and what was promised.
type moments struct {
	log   *memLog
	c     *client
	every int64 // boundary is one

	boundaries atomic.Int64 // of two goroutines
	all        chan moment
}

type moment struct {
	log  *memLog
	p    promise
	what string
}

// crashes has a log crash, again and again, while it goes on.
func crashes(log *memLog, c *client, every int64) *moments {
	m := &moments{log: log, c: c, every: every, all: make(chan moment, 10_000)}
	log.boundary = m.at
	return m
}

func (m *moments) at(call string) {
	if m.boundaries.Add(1)%m.every != 0 {
		return
	}
	unsynced := m.log.unsynced()
	for n := range unsynced + 1 {
		p := m.c.promised() // before: it must be there. After: it may be
		crash := m.log.crash(n)
		after := m.c.promised()
		p.ending, p.asked = after.ending, after.asked
		m.all <- moment{crash, p, fmt.Sprintf("boundary %d, behind %s, with %d of %d commits that were not synced",
			m.boundaries.Load(), call, n, unsynced)}
	}
}

// kept proves that each promise was kept.
func (m *moments) kept() error {
	close(m.all)
	for m := range m.all {
		if err := m.p.kept(m.log); err != nil {
			return fmt.Errorf("crash at %s: %w", m.what, err)
		}
	}
	return nil
}

// rage has a storm over a log in memory, with compaction at work, and crashes.
func rage(gusts []gust, cache, every int64) error {
	log, c := newMemLog(), newClient()
	cfg := config(c)
	cfg.Cache, cfg.Slack, log.size = cache, 1024, 512
	crashes := crashes(log, c, every)
	s, err := Open(log, cfg)
	if err != nil {
		return err
	}
	st := &storm{s: s, c: c}
	for _, g := range gusts {
		st.blow(g)
		if g.which%3 == 0 {
			time.Sleep(time.Duration(g.which) * 100 * time.Millisecond)
		} else if g.which%3 == 1 {
			synctest.Wait()
		}
	}
	time.Sleep(time.Second)
	if err := errors.Join(miscount(s), s.Close()); err != nil {
		return err
	}
	if c.answered != st.n {
		return fmt.Errorf("%d of %d publishes were answered", c.answered, st.n)
	}
	if len(log.breaches) > 0 {
		return errors.New(log.breaches[0])
	}
	return crashes.kept()
}

// What was promised holds at each crash, whatever happens.
func TestStorm(t *testing.T) {
	play(t, func(t *testing.T) {
		rapid.Check(struct{ *testing.T }{t}, func(t *rapid.T) {
			all := rapid.SliceOfN(gusts, 80, 80).Draw(t, "gusts")
			cache := rapid.SampledFrom([]int64{0, 1 << 20}).Draw(t, "cache")
			every := rapid.Int64Range(7, 15).Draw(t, "every") // to prove all would take minutes
			if err := rage(all, cache, every); err != nil {
				t.Fatal(err)
			}
		})
	})
}

// What was promised holds at each boundary of one long storm.
func TestEveryBoundary(t *testing.T) {
	play(t, func(t *testing.T) {
		const seed = 3
		random := rand.New(rand.NewPCG(seed, 0))
		all := make([]gust, 200)
		for i := range all {
			all[i] = gust{random.IntN(18), random.IntN(100), random.IntN(400)}
		}
		if err := rage(all, 0, 1); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
	})
}
