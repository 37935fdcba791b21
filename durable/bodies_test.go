package durable

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"dsend/durable/queue"
	"dsend/testkit"
)

// Messages that only the log has are read in its order and together, in
// whatever order they are delivered.
func TestNeighboursAreReadTogether(t *testing.T) {
	play(t, func(t *testing.T) {
		const n = 2000
		random := testkit.Dice(t)
		log := newMemLog()
		s, r := open(t, log, noCache)
		body := func(seq uint64) string { return fmt.Sprintf("%0*d", seq%300, seq) }
		ops := make([]queue.Op, n)
		for i := range ops {
			op := publish(body(uint64(i + 1)))
			op.HasPriority, op.Priority = true, uint8(random.IntN(10))
			ops[i] = op
		}
		submit(t, s, ops...)
		do(t, s, &queue.Publish{Queue: "other", MaxAttempts: -1}) // the newest commit is in memory
		do(t, s, pull(n))
		all := r.deliveries()
		if len(all) != n || slices.IsSortedFunc(all, func(a, b Spoken) int { return int(a.Seq) - int(b.Seq) }) {
			t.Fatalf("%d deliveries, and not out of order", len(all))
		}
		for _, d := range all {
			sameBody(t, d.Message, body(d.Seq))
		}
		if reads := log.count("Read"); reads == 0 || reads > n/20 {
			t.Errorf("%d reads for %d messages", reads, n)
		}
	})
}

// A backlog that is not in memory is read many messages at a time, and each is
// still its own, whatever lies between them.
func TestBacklogIsReadTogether(t *testing.T) {
	for name, between := range map[string]int{"nothing between": 0, "others between": 100, "too much between": maxGap} {
		t.Run(name, func(t *testing.T) {
			play(t, func(t *testing.T) {
				log := newMemLog()
				s, r := open(t, log, func(c *Config) { c.Cache = 0 })
				const n = 400
				ops := make([]queue.Op, 0, 2*n)
				for i := range n {
					ops = append(ops, &queue.Publish{Queue: "q", Body: fmt.Append(nil, "body ", i), MaxAttempts: -1})
					if between > 0 {
						ops = append(ops, &queue.Publish{Queue: "other", Body: make([]byte, between), MaxAttempts: -1})
					}
				}
				submit(t, s, ops...)
				do(t, s, &queue.Declare{Name: "later", Settings: queue.Defaults()}) // the newest commit is in memory
				reads := 0
				log.reading = func() { reads++ }
				do(t, s, pull(n))
				got := r.deliveries()
				if len(got) != n {
					t.Fatalf("%d of %d are delivered", len(got), n)
				}
				for i, d := range got {
					if want := fmt.Append(nil, "body ", i); !bytes.Equal(d.Message.Body, want) {
						t.Fatalf("message %d is %q", i+1, d.Message.Body)
					}
				}
				if together := between < maxGap; together && reads > 10 || !together && reads < n/2 {
					t.Errorf("%d reads for %d messages", reads, n)
				}
			})
		})
	}
}

// What lies far apart, or would be too much at once, is read by itself.
func TestStrangersAreReadApart(t *testing.T) {
	at := func(commit uint64, offset, size uint32) *Spoken {
		return &Spoken{Speech: &queue.Speech{Place: queue.Place{Commit: commit, Offset: offset}, Size: size}}
	}
	all := []*Spoken{
		at(1, 0, 100), at(1, 100, 50), at(1, 150+maxGap, 10), // near
		at(1, 161+2*maxGap, 10), // one byte too far
		at(2, 200+2*maxGap, maxPieceBytes),
		at(2, 200+2*maxGap+maxPieceBytes, 10), // too much
		at(3, 0, 10), at(3, 0, 10),            // twice the same
	}
	var got []int
	for near := range neighbours(all) {
		got = append(got, len(near))
	}
	if want := []int{3, 1, 1, 1, 2}; !slices.Equal(got, want) {
		t.Errorf("read together: %v, not %v", got, want)
	}
}

// BenchmarkBacklogBodies reads 100,000 messages that only the log has: in the
// order they came, and at random, as they are retried.
func BenchmarkBacklogBodies(b *testing.B) {
	const n = 100_000
	for _, order := range []string{"in order", "at random"} {
		b.Run(order, func(b *testing.B) {
			s, _ := openBench(b, &recorder{})
			fill(b, s, n, func(int) string { return string(make([]byte, 256)) })
			var speech []queue.Speech
			must(b, s.View(b.Context(), func(state *queue.State) {
				entries, _ := state.List(queue.List{Queue: "q"})
				for _, e := range entries {
					speech = append(speech, queue.Speech{Queue: "q", Seq: e.Seq, Place: e.Place, Size: e.Size})
				}
			}))
			if order == "at random" {
				rand.Shuffle(n, func(i, j int) { speech[i], speech[j] = speech[j], speech[i] })
			}
			s.cache.mu.Lock()
			s.cache.limit = 0
			s.cache.list = nil
			s.cache.mu.Unlock()
			v := voice{Store: s}
			for b.Loop() {
				for piece := range pieces(speech, func(s *queue.Speech) uint32 { return s.Size }) {
					v.spoken = v.spoken[:0]
					for i := range piece {
						v.spoken = append(v.spoken, Spoken{Speech: &piece[i]})
					}
					must(b, v.bodies(v.spoken))
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/msg")
		})
	}
}
