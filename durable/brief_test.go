package durable

import (
	"testing"
	"testing/synctest"
)

// What is brief is said by the loop and what is long by the speaking goroutine;
// whoever it is, it is said in the order of the commits.
func TestSaidInOrderByTheLoopAndTheSpeaker(t *testing.T) {
	play(t, func(t *testing.T) {
		log := newMemLog()
		s, r := open(t, log)
		n := 0
		for range 20 {
			for _, together := range []int{1, maxBrief, maxBrief + 1, 2 * maxBrief, 1, 1} {
				log.hold()
				for range together {
					submit(t, s, publish("x"))
					n++
				}
				synctest.Wait()
				log.release()
			}
		}
		synctest.Wait()
		answers := r.answers()
		if len(answers) != n {
			t.Fatalf("%d of %d are answered", len(answers), n)
		}
		for i, a := range answers {
			if a.Seq != uint64(i+1) {
				t.Fatalf("answer %d is of message %d", i+1, a.Seq)
			}
		}
		if s.unsaid.Load() != 0 {
			t.Errorf("%d batches count as unsaid", s.unsaid.Load())
		}
	})
}
