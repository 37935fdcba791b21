package durable

import (
	"fmt"
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
		rapid.IntRange(0, 15).Draw(t, "what"), rapid.IntRange(0, 99).Draw(t, "which"),
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

// moment is a crash: what the disk has, and what was promised.
type moment struct {
	log  *memLog
	p    promise
	what string
}

// A storm over a log in memory, crashed at the boundaries of its writes, with
// compaction at work: what was promised holds at each of them.
func TestStorm(t *testing.T) {
	play(t, func(t *testing.T) {
		rapid.Check(struct{ *testing.T }{t}, func(t *rapid.T) {
			log, c := newMemLog(), newClient()
			cfg := config(c)
			log.size, cfg.slack = 512, 512
			cfg.Cache = rapid.SampledFrom([]int64{0, 1 << 20}).Draw(t, "cache")
			moments := make(chan moment, 10_000) // of two goroutines
			var boundaries atomic.Int64
			every := rapid.Int64Range(5, 15).Draw(t, "every") // to prove all would take minutes
			log.boundary = func(at string) {
				if boundaries.Add(1)%every != 0 {
					return
				}
				unsynced := log.unsynced()
				for n := range unsynced + 1 {
					p := c.promised() // before: it must be there. After: it may be
					crash := log.crash(n)
					p.ending, p.asked = c.promised().ending, c.promised().asked
					moments <- moment{crash, p, fmt.Sprintf("%s, with %d of %d commits that were not synced", at, n, unsynced)}
				}
			}
			s, err := Open(log, cfg)
			if err != nil {
				t.Fatal(err)
			}
			st := &storm{s: s, c: c}
			for _, g := range rapid.SliceOfN(gusts, 120, 120).Draw(t, "gusts") {
				st.blow(g)
				if g.which%3 == 0 {
					time.Sleep(time.Duration(g.which) * 100 * time.Millisecond)
				} else if g.which%3 == 1 {
					synctest.Wait()
				}
			}
			time.Sleep(time.Second)
			if err := miscount(s); err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			if c.answered != st.n {
				t.Fatalf("%d of %d publishes were answered", c.answered, st.n)
			}
			close(moments)
			for m := range moments {
				if err := m.p.kept(m.log); err != nil {
					t.Fatalf("crash at %s: %v", m.what, err)
				}
			}
			for _, b := range log.breaches {
				t.Fatal(b)
			}
		})
	})
}
