package queue

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestCapturesFindWhatOverlaps compares the tree with a look at all subjects.
func TestCapturesFindWhatOverlaps(t *testing.T) {
	pattern := rapid.Custom(func(t *rapid.T) string {
		tokens := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "*"}), 1, 3).Draw(t, "tokens")
		if rapid.Bool().Draw(t, "tail") {
			tokens[len(tokens)-1] = ">"
		}
		return strings.Join(tokens, ".")
	})
	rapid.Check(t, func(t *rapid.T) {
		var tree captures
		type capture struct {
			subject string
			q       *queue
		}
		var all []capture
		queues := []*queue{{id: 1}, {id: 2}, {id: 3}}
		t.Repeat(map[string]func(*rapid.T){
			"add": func(*rapid.T) {
				c := capture{pattern.Draw(t, "subject"), rapid.SampledFrom(queues).Draw(t, "queue")}
				tree.add(c.subject, c.q)
				all = append(all, c)
			},
			"remove": func(t *rapid.T) {
				if len(all) == 0 {
					t.Skip("nothing")
				}
				i := rapid.IntRange(0, len(all)-1).Draw(t, "which")
				tree.remove(all[i].subject, all[i].q)
				all = append(all[:i], all[i+1:]...)
			},
			"find": func(*rapid.T) {
				subject := pattern.Draw(t, "subject")
				found, want := map[*queue]int{}, map[*queue]int{}
				tree.overlapping(subject, func(q *queue) { found[q]++ })
				for _, c := range all {
					if Overlap(c.subject, subject) {
						want[c.q]++
					}
				}
				for _, q := range queues {
					if found[q] != want[q] {
						t.Fatalf("%q overlaps with %d subjects of %d, found %d, among %v", subject, want[q], q.id, found[q], all)
					}
				}
			},
		})
		for _, c := range all {
			tree.remove(c.subject, c.q)
		}
		tree.remove("never.there", queues[0])
		if len(tree.next) > 0 {
			t.Fatalf("all are removed, and %v is left", tree.next)
		}
	})
}
