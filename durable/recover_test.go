package durable

import (
	"slices"
	"strings"
	"testing"

	"dsend/durable/queue"
)

// history makes a log of four commits: the store, queue q, a message, another.
func history(t *testing.T) *memLog {
	log := newMemLog()
	s, _ := open(t, log)
	do(t, s, &queue.Declare{Name: "q", Settings: queue.Defaults()})
	do(t, s, publish("one"))
	do(t, s, publish("two"))
	must(t, s.Close())
	return log.crash(0)
}

// A log that is not whole is refused, with a sentence that says what is
// missing, and closed.
func TestALogThatIsNotWhole(t *testing.T) {
	cases := map[string]struct {
		hurt func(commits [][]byte) [][]byte
		says string
	}{
		"the queue's record is missing": {
			func(c [][]byte) [][]byte { return slices.Delete(c, 1, 2) },
			"recover: queue: the log holds 2 messages of queue number 1, and nothing says what it is",
		},
		"the store's record is missing": {
			func(c [][]byte) [][]byte { return c[1:] },
			"recover: the log does not begin with the store's own record: a part of it is missing",
		},
		"a record is cut short": {
			func(c [][]byte) [][]byte { c[2] = c[2][:len(c[2])-1]; return c },
			"recover: commit 3: record at byte ",
		},
		"a record is of a kind nobody knows": {
			func(c [][]byte) [][]byte { c[3] = []byte{200, 0, 0, 0, 0}; return c },
			"recover: commit 4: record at byte 0: ",
		},
		"a message is damaged": {
			func(c [][]byte) [][]byte { c[3][len(c[3])-1] ^= 1; return c },
			"recover: commit 4: record at byte ",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			log := history(t)
			log.gens[0].commits = c.hurt(log.gens[0].commits)
			s, err := Open(log, config(&recorder{}))
			if s != nil || err == nil || !strings.HasPrefix(err.Error(), c.says) || strings.Contains(err.Error(), "\n") {
				t.Errorf("the error is %v", err)
			}
			log.check(t)
		})
	}
}

// A new store has a secret of its own, and keeps it.
func TestANewStore(t *testing.T) {
	log := newMemLog()
	s, _ := open(t, log)
	left := log.crash(0)
	if left.last != 1 {
		t.Errorf("%d commits are durable when the store is open", left.last)
	}
	again, _ := open(t, left)
	if again.Key() != s.Key() || left.count("Append") != 0 {
		t.Error("the second start founded the store anew")
	}
	other, _ := open(t, newMemLog())
	if other.Key() == s.Key() {
		t.Error("two stores have one secret")
	}
}
