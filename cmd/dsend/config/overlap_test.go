package config

import (
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"pgregory.net/rapid"
)

// The tree and nats-server agree on which subjects overlap.
func TestOverlapIsNATSs(t *testing.T) {
	subject := rapid.Custom(func(t *rapid.T) string {
		tokens := rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c", "*", "*"}), 1, 4).Draw(t, "tokens")
		if rapid.IntRange(0, 3).Draw(t, "full") == 0 {
			tokens = append(tokens, ">")
		}
		return strings.Join(tokens, ".")
	})
	rapid.Check(t, func(t *rapid.T) {
		tree := &subjectTree{}
		have := rapid.SliceOfN(subject, 0, 5).Draw(t, "have")
		collide := false
		asked := subject.Draw(t, "asked")
		for _, s := range have {
			tree.add(s, "x")
			collide = collide || server.SubjectsCollide(s, asked)
		}
		found := tree.overlap(asked)
		if (found != nil) != collide {
			t.Fatalf("%v and %q: found %v, nats-server says %v", have, asked, found, collide)
		}
		if found != nil && !server.SubjectsCollide(found.subject, asked) {
			t.Fatalf("%q does not overlap with %q", found.subject, asked)
		}
	})
}
