package durable

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"

	"dsend/durable/queue"
)

// samples are publishes of many shapes.
func samples() (all []*queue.Publish) {
	random := rand.NewChaCha8([32]byte{1})
	bodies := [][]byte{nil, {}, {0}, []byte("plain"), []byte("\r\n\x00\xff$JS.ACK"), make([]byte, 200<<10)}
	_, _ = random.Read(bodies[5])
	headers := [][]byte{nil, []byte("NATS/1.0\r\n\r\n"), []byte("NATS/1.0\r\nA: 1\r\nA: 2\r\na: 3\r\n\r\n")}
	for _, body := range bodies {
		for _, header := range headers {
			for _, key := range []string{"", fmt.Sprint("key", len(all))} {
				all = append(all, &queue.Publish{
					Queue: "q", Subject: fmt.Append(nil, "orders.", len(all)), Header: header, Body: body,
					MaxAttempts: -1, Key: key, Priority: uint8(len(all) % 10), HasPriority: true,
				})
			}
		}
	}
	return all
}

// A body is the same byte for byte, whether it comes from memory or from the
// log, on the first delivery, the second, to people, and in the DLQ.
func TestBodies(t *testing.T) {
	for name, cache := range map[string]int64{"from memory": 64 << 20, "from the log": 0, "from the log, 1 byte": 1, "from both": 500 << 10} {
		t.Run(name, func(t *testing.T) {
			play(t, func(t *testing.T) {
				log := newMemLog()
				s, r := open(t, log, func(c *Config) { c.Cache = cache })
				all := samples()
				for _, p := range all {
					do(t, s, p)
				}
				want := func(seq uint64, m queue.Message, where string) {
					t.Helper()
					p := all[seq-1]
					if !bytes.Equal(m.Subject, p.Subject) || !bytes.Equal(m.Header, p.Header) || !bytes.Equal(m.Body, p.Body) {
						t.Errorf("message %d %s is another", seq, where)
					}
				}
				do(t, s, pull(len(all)))
				first := r.deliveries()
				for _, d := range first {
					want(d.Seq, d.Message, "at its first delivery")
					submit(t, s, answer(d, queue.Nak, false))
				}
				do(t, s, &queue.Kill{Name: "q", Seq: 1})
				do(t, s, pull(len(all)))
				for _, d := range r.deliveries()[len(first):] {
					want(d.Seq, d.Message, "at its second delivery")
				}
				for i := range all[1:] {
					_, m, err := s.Message(t.Context(), "q", uint64(i+2))
					must(t, err)
					want(uint64(i+2), m, "as people see it")
				}
				_, m, err := s.Message(t.Context(), "q-dlq", 1)
				must(t, err)
				want(1, m, "in the DLQ")
				died := r.events[len(r.events)-1]
				want(1, died.Message, "in the event of its death")
				if reads := log.count("Read"); (reads == 0) != (cache == 64<<20) {
					t.Errorf("%d reads of the log", reads)
				}
			})
		})
	}
}

// However large a backlog is, its bodies are not in memory at once.
func TestABacklogIsSpokenInPieces(t *testing.T) {
	play(t, func(t *testing.T) {
		const size, n = 64 << 10, 200
		most := &widest{}
		s, _ := open(t, newMemLog(), noCache, func(c *Config) { most.Speaker, c.Speaker = c.Speaker, most })
		fill(t, s, n, func(int) string { return string(make([]byte, size)) })
		do(t, s, pull(n))
		if most.total != n || most.bytes > maxPieceBytes+size {
			t.Errorf("%d deliveries, %d bytes of bodies at once", most.total, most.bytes)
		}
		do(t, s, &queue.Purge{Name: "q"})
		most.total = 0
		fill(t, s, 5000, func(int) string { return "" })
		do(t, s, pull(5000))
		if most.total != 5000 || most.n > maxPiece {
			t.Errorf("%d deliveries, %d at once", most.total, most.n)
		}
	})
}

// The bodies of a backlog are read to the same memory over and over; what is
// larger than usual has its own, which is not kept.
func TestMemoryOfBodiesIsUsedAgain(t *testing.T) {
	play(t, func(t *testing.T) {
		const n = 40
		where := &places{at: map[*byte]bool{}}
		s, _ := open(t, newMemLog(), noCache, func(c *Config) { where.Speaker, c.Speaker = c.Speaker, where })
		fill(t, s, n, func(int) string { return string(make([]byte, maxPieceBytes)) })
		do(t, s, publish("the newest commit is in memory"))
		do(t, s, pull(n))
		if len(where.at) > 3 {
			t.Errorf("%d bodies were read to %d places", n, len(where.at))
		}
		v := voice{read: make([]byte, 0, 100)}
		first, second := v.room(40), v.room(60)
		if third := v.room(60); &first[0] == &third[0] || &second[0] == &third[0] || len(third) != 60 || cap(first) != 40 {
			t.Error("two bodies have the same memory")
		}
		if v.room(keepRead + 1); cap(v.read) != keepRead+1 {
			t.Errorf("%d bytes for what is larger than usual", cap(v.read))
		}
		if v.done(); cap(v.read) != 0 {
			t.Errorf("%d bytes are kept", cap(v.read))
		}
	})
}

// places is a Speaker that notes where bodies are.
type places struct {
	Speaker
	at map[*byte]bool
}

func (p *places) Speak(all []Spoken) {
	for _, s := range all {
		if len(s.Message.Body) > 0 {
			p.at[&s.Message.Body[0]] = true
		}
	}
	p.Speaker.Speak(all)
}

// widest is a Speaker that notes the most that was spoken at once.
type widest struct {
	Speaker
	bytes, n, total int
	last            uint64
}

func (w *widest) Speak(all []Spoken) {
	bytes := 0
	for _, s := range all {
		if s.Delivery < w.last {
			panic("spoken out of order")
		}
		w.last = s.Delivery
		bytes += len(s.Message.Body)
	}
	w.bytes, w.n, w.total = max(w.bytes, bytes), max(w.n, len(all)), w.total+len(all)
	w.Speaker.Speak(all)
}

// aged gives a store with a message of each queue that only the log has.
func aged(t *testing.T, queues ...string) (*memLog, *Store, *recorder) {
	log := newMemLog()
	s, r := open(t, log, noCache)
	for _, name := range queues {
		p := publish("the body in " + name)
		p.Queue = name
		do(t, s, p)
	}
	do(t, s, &queue.Declare{Name: "newest", Settings: queue.Defaults()})
	p := publish("the newest commit is in memory")
	p.Queue = "newest"
	do(t, s, p)
	return log, s, r
}

// spoil hurts the body of the first message of a queue in the log.
func spoil(t *testing.T, log *memLog, s *Store, name string) {
	t.Helper()
	e, err := s.Entry(t.Context(), name, 1)
	must(t, err)
	log.damage(e.Place.Commit, int(e.Place.Offset+e.Size)-1)
}

// A damaged body is not delivered: it ends the store, and nothing more is said.
func TestADamagedBodyIsNeverDelivered(t *testing.T) {
	breaks := map[string]func(t *testing.T, log *memLog, s *Store){
		"damaged":    func(t *testing.T, log *memLog, s *Store) { spoil(t, log, s, "q") },
		"unreadable": func(t *testing.T, log *memLog, s *Store) { log.failNext("Read", 1) },
	}
	needs := map[string]queue.Op{"delivered": pull(1), "told of its death": &queue.Kill{Name: "q", Seq: 1}}
	for broken, spoil := range breaks {
		for needed, op := range needs {
			t.Run(broken+" when "+needed, func(t *testing.T) {
				play(t, func(t *testing.T) {
					log, s, r := aged(t, "q")
					spoil(t, log, s)
					log.hold()
					submit(t, s, op)
					synctest.Wait()
					submit(t, s, publish("in the next commit"))
					log.release()
					<-s.Done()
					for _, d := range r.deliveries() {
						t.Errorf("%q was delivered", d.Message.Body)
					}
					for _, a := range r.answers() {
						if _, late := a.Op.(*queue.Publish); late {
							t.Error("the next commit was confirmed after the failure")
						}
					}
					err := s.Err()
					if err == nil || !strings.Contains(err.Error(), "message 1 of queue q: commit ") {
						t.Errorf("the error does not name the message: %v", err)
					}
					if _, err := s.Do(background, publish("late")); err == nil {
						t.Error("the store goes on")
					}
				})
			})
		}
	}
}

// It is found even by the last words of a store that is closing.
func TestADamagedBodyIsFoundWhileClosing(t *testing.T) {
	play(t, func(t *testing.T) {
		log, s, _ := aged(t, "q")
		spoil(t, log, s, "q")
		log.hold()
		submit(t, s, publish("under way"))
		synctest.Wait()
		submit(t, s, pull(1), publish("to be closed behind"))
		closed := make(chan error)
		go func() { closed <- s.Close() }()
		synctest.Wait()
		log.release()
		if err := <-closed; err == nil || !strings.Contains(err.Error(), "damaged") {
			t.Errorf("Close: %v", err)
		}
	})
}

// People who look at a damaged body are told so, and nobody else suffers.
func TestADamagedBodyIsLookedAt(t *testing.T) {
	play(t, func(t *testing.T) {
		log, s, r := aged(t, "q", "other")
		spoil(t, log, s, "q")
		_, _, err := s.Message(t.Context(), "q", 1)
		if err == nil || !strings.Contains(err.Error(), "message 1 of queue q") || !strings.Contains(err.Error(), "checksum") {
			t.Errorf("the error is %v", err)
		}
		p := pull(1)
		p.Queue = "other"
		do(t, s, p)
		sameBody(t, r.deliveries()[0].Message, "the body in other")
	})
}

// What is not there is a *queue.Error.
func TestAMessageThatIsNotThere(t *testing.T) {
	play(t, func(t *testing.T) {
		s, _ := open(t, newMemLog())
		do(t, s, publish("body"))
		for name, seq := range map[string]uint64{"q": 2, "none": 1} {
			_, _, err := s.Message(t.Context(), name, seq)
			if refused, ok := err.(*queue.Error); !ok || refused.Text == "" {
				t.Errorf("message %d of %s: %v", seq, name, err)
			}
		}
	})
}
