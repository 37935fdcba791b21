package queue

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestSettingsAreProven(t *testing.T) {
	for _, c := range []struct {
		key    string // "" if they are good
		change func(s *Settings)
	}{
		{"", func(s *Settings) {}},
		{"", func(s *Settings) { s.MaxAttempts, s.DedupeWindow, s.MaxHold = 0, 0, 0 }},
		{"", func(s *Settings) { s.MaxHold = s.VisibilityTimeout }},
		{"", func(s *Settings) { s.VisibilityTimeout, s.MaxHold = MaxDelay, MaxDelay }},
		{"", func(s *Settings) { s.Subjects = []string{"a", "b.*", "c.>", "b"} }},
		{"", func(s *Settings) { s.DeadLetter = DeadLetter{Enabled: false, Queue: "q"} }},
		{"visibility_timeout", func(s *Settings) { s.VisibilityTimeout = 0 }},
		{"visibility_timeout", func(s *Settings) { s.VisibilityTimeout = MaxDelay + 1 }},
		{"", func(s *Settings) {
			s.VisibilityAuto, s.VisibilityTimeout, s.VisibilityMin = true, time.Second, time.Minute
		}},
		{"", func(s *Settings) { s.VisibilityAuto, s.MaxHold = true, time.Hour }},
		{"", func(s *Settings) { s.VisibilityMin, s.VisibilityMax = 0, 0 }}, // of an older log
		{"visibility_timeout", func(s *Settings) { s.VisibilityAuto, s.VisibilityTimeout = true, 0 }},
		{"visibility_timeout_min", func(s *Settings) { s.VisibilityAuto, s.VisibilityMin = true, 0 }},
		{"visibility_timeout_min", func(s *Settings) { s.VisibilityMin = -1 }},
		{"visibility_timeout_min", func(s *Settings) { s.VisibilityAuto, s.VisibilityMax = true, time.Second }},
		{"visibility_timeout_min", func(s *Settings) { s.VisibilityMin = math.MaxInt64 }},
		{"visibility_timeout_max", func(s *Settings) { s.VisibilityMax = -1 }},
		{"visibility_timeout_max", func(s *Settings) { s.VisibilityAuto, s.VisibilityMax = true, MaxDelay+1 }},
		{"max_hold", func(s *Settings) { s.VisibilityAuto, s.MaxHold = true, time.Hour-1 }},
		{"max_hold", func(s *Settings) { s.MaxHold = -1 }},
		{"max_hold", func(s *Settings) { s.MaxHold = time.Second }},
		{"max_hold", func(s *Settings) { s.MaxHold = math.MaxInt64 }},
		{"max_attempts", func(s *Settings) { s.MaxAttempts = -1 }},
		{"max_attempts", func(s *Settings) { s.MaxAttempts = 1 << 32 }},
		{"max_in_flight", func(s *Settings) { s.MaxInFlight = 0 }},
		{"push.max_in_flight_per_worker", func(s *Settings) { s.Push.MaxInFlightPerWorker = 0 }},
		{"push.max_in_flight_per_worker", func(s *Settings) { s.Push.MaxInFlightPerWorker = math.MaxInt }},
		{"push.subject", func(s *Settings) { s.Push.Subject = "a.*" }},
		{"dedupe_window", func(s *Settings) { s.DedupeWindow = -1 }},
		{"dedupe_window", func(s *Settings) { s.DedupeWindow = math.MaxInt64 }},
		{"max_messages", func(s *Settings) { s.MaxMessages = -1 }},
		{"max_bytes", func(s *Settings) { s.MaxBytes = -1 }},
		{"max_message_size", func(s *Settings) { s.MaxMessageSize = -1 }},
		{"max_age", func(s *Settings) { s.MaxAge = -1 }},
		{"max_age", func(s *Settings) { s.MaxAge = MaxDelay + 1 }},
		{"dead_letter.queue", func(s *Settings) { s.DeadLetter.Queue = "a.b" }},
		{"dead_letter.queue", func(s *Settings) { s.DeadLetter.Queue = "q" }},
		{"backoff", func(s *Settings) { s.Backoff.Factor = 0 }},
		{"metadata", func(s *Settings) { s.Metadata = map[string]string{"a": strings.Repeat("x", maxMetadata)} }},
		{"", func(s *Settings) { s.Subjects = manySubjects(maxSubjects) }},
		{"subjects", func(s *Settings) { s.Subjects = manySubjects(maxSubjects + 1) }},
		{"subjects", func(s *Settings) { s.Subjects = []string{strings.Repeat("x", maxSubjectBytes+1)} }},
		{"subjects", func(s *Settings) { s.Subjects = []string{"a..b"} }},
		{"subjects", func(s *Settings) { s.Subjects = []string{"a.*", "b", "a.b"} }},
		{"subjects", func(s *Settings) { s.Subjects = []string{"b", "b"} }},
	} {
		s := Defaults()
		c.change(&s)
		err := s.Validate("q")
		var refused *SettingError
		switch {
		case c.key == "" && err != nil:
			t.Errorf("%+v: %v", s, err)
		case c.key != "" && (!errors.As(err, &refused) || refused.Key != c.key):
			t.Errorf("%s: %v", c.key, err)
		}
	}
	s := Defaults()
	if err := s.Validate(strings.Repeat("a", 61)); err == nil {
		t.Error("a name with no room for -dlq is taken")
	}
}

func TestNamesAndSubjects(t *testing.T) {
	for _, name := range []string{"a", "A-b_9", strings.Repeat("x", 64)} {
		if !ValidName(name) {
			t.Errorf("%q is no name", name)
		}
	}
	for _, name := range []string{"", "a.b", "a b", "*", ">", "é", "a\x00", "a/b", "..", strings.Repeat("x", 65)} {
		if ValidName(name) {
			t.Errorf("%q is a name", name)
		}
	}
	for _, subject := range []string{"a", "a.b", "*", ">", "*.a.>", "é.ü"} {
		if !ValidPattern(subject) {
			t.Errorf("%q is no pattern", subject)
		}
	}
	for _, subject := range []string{"", ".", "a.", ".a", "a..b", "a b", "a\t", "a*", "*a", ">.a", "a.>.b", "a>", "a\x7f"} {
		if ValidPattern(subject) {
			t.Errorf("%q is a pattern", subject)
		}
	}
	if ValidSubject("a.*") || !ValidSubject("a.b") {
		t.Error("a literal subject is one without wildcards")
	}
}

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

// manySubjects are n that do not overlap.
func manySubjects(n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprint("s", i))
	}
	return all
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
