package dlq

import (
	"slices"
	"strings"
	"testing"
)

func TestMatchSubject(t *testing.T) {
	for _, c := range []struct {
		pattern, subject string
		want             bool
	}{
		{"orders.new", "orders.new", true},
		{"orders.new", "orders.New", false},
		{"orders.new", "orders", false},
		{"orders", "orders.new", false},
		{"orders.*", "orders.new", true},
		{"orders.*", "orders", false},
		{"orders.*", "orders.new.eu", false},
		{"*.*", "orders.new", true},
		{"*.new", "orders.new", true},
		{"orders.>", "orders.new.eu", true},
		{"orders.>", "orders", false},
		{">", "orders", true},
		{"*", "orders", true},
		{"*.>", "orders", false},
		{"*.>", "orders.new", true},
		{">.new", "orders.new", false},
		{"or*", "orders", false},
		{"or*", "or*", true},
		{"or>", "orders", false},
		{"", "", false},
		{">", "", false},
		{"*", "", false},
		{">", "a..b", false},
		{">", "a.", false},
		{"a.>", "a.", false},
		{"a.*", "a.", false},
		{"*.a", ".a", false},
		{"a..b", "a..b", false},
	} {
		if got := MatchSubject(c.pattern, c.subject); got != c.want {
			t.Errorf("%q, %q: %v", c.pattern, c.subject, got)
		}
	}
}

// Every pattern of up to four tokens on every subject of up to five, against the
// rule written down a second time.
func TestMatchSubjectExhaustively(t *testing.T) {
	patterns := sentences([]string{"a", "b", "*", ">"}, 4)
	subjects := sentences([]string{"a", "b", ""}, 5)
	matched := 0
	for _, p := range patterns {
		for _, s := range subjects {
			want := !slices.Contains(s, "") && fits(p, s)
			if got := MatchSubject(strings.Join(p, "."), strings.Join(s, ".")); got != want {
				t.Fatalf("%q, %q: %v", p, s, got)
			}
			if want {
				matched++
			}
		}
	}
	if matched < 1000 {
		t.Errorf("only %d of %d pairs match", matched, len(patterns)*len(subjects))
	}
}

func fits(pattern, subject []string) bool {
	switch {
	case len(pattern) == 0 || len(subject) == 0:
		return len(pattern) == len(subject)
	case len(pattern) == 1 && pattern[0] == ">":
		return true
	}
	return (pattern[0] == "*" || pattern[0] == subject[0]) && fits(pattern[1:], subject[1:])
}

// sentences returns all sequences of 1 to longest words.
func sentences(words []string, longest int) (all [][]string) {
	last := [][]string{nil}
	for range longest {
		var next [][]string
		for _, s := range last {
			for _, w := range words {
				next = append(next, append(slices.Clone(s), w))
			}
		}
		all, last = append(all, next...), next
	}
	return all
}

// A pattern is refused exactly when it fits no subject.
func TestValidatePattern(t *testing.T) {
	subjects := sentences([]string{"a", "b", "a>", "*b"}, 4)
	for _, p := range sentences([]string{"a", "*", ">", "", "a>", "*b"}, 4) {
		pattern, useful := strings.Join(p, "."), false
		for _, s := range subjects {
			useful = useful || MatchSubject(pattern, strings.Join(s, "."))
		}
		if err := validatePattern(pattern); (err == nil) != useful {
			t.Errorf("%q: %v, fits something: %v", pattern, err, useful)
		}
	}
	for _, bad := range []string{"a b", "a.\tb", "a\x00", "a\r\n"} {
		if validatePattern(bad) == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}

func TestMatchSubjectDoesNotAllocate(t *testing.T) {
	if n := testing.AllocsPerRun(100, func() { MatchSubject("orders.*.eu.>", "orders.new.eu.a.b") }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
