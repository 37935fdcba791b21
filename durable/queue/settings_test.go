package queue

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// What was meant for living messages must not refuse or hold back dead ones.
func TestForDead(t *testing.T) {
	s := Defaults()
	s.MaxMessages, s.MaxBytes, s.MaxMessageSize, s.MaxAge, s.Paused = 1, 1, 1, time.Second, true
	got := s.ForDead("orders-dlq")
	if !got.Equal(Defaults()) {
		t.Errorf("a dead-letter queue gets %+v", got)
	}
	for _, name := range []string{strings.Repeat("x", maxName), "graves"} {
		s.DeadLetter.Queue = map[bool]string{true: "graves"}[name == "graves"]
		if to := s.ForDead(name); to.DLQName(name) != name {
			t.Errorf("what fails in %s goes to %s", name, to.DLQName(name))
		}
	}
}

// Two patterns overlap when a subject of few tokens matches both.
func TestOverlap(t *testing.T) {
	token := rapid.SampledFrom([]string{"a", "b", "*"})
	pattern := rapid.Custom(func(t *rapid.T) string {
		tokens := rapid.SliceOfN(token, 0, 3).Draw(t, "tokens")
		if len(tokens) == 0 || rapid.Bool().Draw(t, "tail") {
			tokens = append(tokens, ">")
		}
		return strings.Join(tokens, ".")
	})
	subjects := allSubjects(5)
	rapid.Check(t, func(t *rapid.T) {
		a, b := pattern.Draw(t, "a"), pattern.Draw(t, "b")
		want := false
		for _, s := range subjects {
			want = want || matches(a, s) && matches(b, s)
		}
		if got := Overlap(a, b); got != want || Overlap(b, a) != want {
			t.Fatalf("Overlap(%s, %s) is %t", a, b, got)
		}
	})
}

func allSubjects(most int) (all []string) {
	last := []string{""}
	for range most {
		var next []string
		for _, s := range last {
			for _, token := range []string{"a", "b", "c"} {
				next = append(next, strings.TrimPrefix(s+"."+token, "."))
			}
		}
		all, last = append(all, next...), next
	}
	return all
}

func matches(pattern, subject string) bool {
	p, s := strings.Split(pattern, "."), strings.Split(subject, ".")
	for i := range p {
		switch {
		case i < len(s) && p[i] == ">":
			return true
		case i >= len(s) || p[i] != "*" && p[i] != s[i]:
			return false
		}
	}
	return len(p) == len(s)
}
