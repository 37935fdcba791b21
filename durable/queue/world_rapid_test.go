package queue

import (
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"pgregory.net/rapid"

	"dsend/testkit"
)

// seeded is a choice that a seed repeats.
type seeded struct{ *rand.Rand }

func (s seeded) n(limit int) int { return s.IntN(limit) }

func newSeeded(seed uint64) seeded { return seeded{rand.New(rand.NewPCG(seed, 0))} }

// drawn is a choice of rapid's, which can make a failing story short.
type drawn struct{ t *rapid.T }

func (d drawn) n(limit int) int { return rapid.IntRange(0, limit-1).Draw(d.t, "n") }

// TestWorldRapid finds short stories in which machine and model part.
func TestWorldRapid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t)
		c := drawn{t}
		t.Repeat(map[string]func(*rapid.T){
			"step": func(*rapid.T) { w.step(c) },
		})
	})
}

// TestWorld runs long stories. TEST_SEED repeats one; TEST_STORM=1 runs a
// million steps, TEST_STORM=n n million.
func TestWorld(t *testing.T) {
	seed := testkit.Seed(t)
	stories, steps := 10, 400
	if storm, _ := strconv.Atoi(os.Getenv("TEST_STORM")); storm > 0 {
		stories, steps = storm*1000, 1000
	}
	for i := range stories {
		t.Logf("TEST_SEED=%d", seed+uint64(i))
		w := newWorld(t)
		c := newSeeded(seed + uint64(i))
		for range steps {
			w.step(c)
		}
	}
}
