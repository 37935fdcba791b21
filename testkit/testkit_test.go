package testkit

import (
	"fmt"
	"net"
	"strings"
	"testing"
)

// watched is a test that is only looked at.
type watched struct {
	testing.TB
	name, said, ended string
}

func (w *watched) Helper()      {}
func (w *watched) Name() string { return w.name }
func (w *watched) Logf(format string, args ...any) {
	w.said = fmt.Sprintf(format, args...)
}
func (w *watched) Fatal(args ...any) { w.ended = "failed: " + fmt.Sprint(args...) }
func (w *watched) Fatalf(format string, args ...any) {
	w.ended = "failed: " + fmt.Sprintf(format, args...)
}
func (w *watched) Skip(args ...any) { w.ended = "skipped: " + fmt.Sprint(args...) }

// What was logged repeats the numbers, and gives another test others.
func TestTheSeedRepeats(t *testing.T) {
	t.Setenv("TEST_SEED", "")
	first := &watched{name: "TestA"}
	numbers := Dice(first)
	name, value, _ := strings.Cut(first.said, "=")
	if name != "TEST_SEED" {
		t.Fatalf("it said %q", first.said)
	}
	t.Setenv(name, value)
	again, other := Dice(&watched{name: "TestA"}), Dice(&watched{name: "TestB"})
	for i := range 10 {
		a, b, c := numbers.Uint64(), again.Uint64(), other.Uint64()
		if a != b || a == c {
			t.Errorf("number %d: %d, again %d, of another test %d", i, a, b, c)
		}
	}
	t.Setenv("TEST_SEED", "seven")
	bad := &watched{}
	if Dice(bad); !strings.HasPrefix(bad.ended, "failed: TEST_SEED") {
		t.Errorf("a seed that is none: %q", bad.ended)
	}
}

func TestNeed(t *testing.T) {
	for _, c := range []struct{ missing, all, want string }{
		{"nothing", "1", ""},
		{"a tool", "", "skipped: needs: a tool"},
		{"a tool", "1", "failed: TEST_REQUIRE_ALL=1, and this is missing: a tool"},
	} {
		t.Setenv("TEST_REQUIRE_ALL", c.all)
		w := &watched{}
		if Need(w, c.missing == "nothing", c.missing); w.ended != c.want {
			t.Errorf("%+v: %q", c, w.ended)
		}
	}
}

func TestStorm(t *testing.T) {
	for value, want := range map[string]bool{"": false, "1": true} {
		t.Setenv("TEST_STORM", value)
		if Storm() != want {
			t.Errorf("TEST_STORM=%q: %t", value, Storm())
		}
	}
}

// Ports are not picked twice in a row, and not where somebody listens; and what
// this process may pick no other one does.
func TestPickAddr(t *testing.T) {
	first := PickAddr(t)
	l, err := net.Listen("tcp", first)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	seen := map[string]bool{first: true}
	for range blockPorts / 2 {
		addr := PickAddr(t)
		if seen[addr] {
			t.Fatalf("%s was picked twice", addr)
		}
		seen[addr] = true
	}
	for range blockPorts {
		if PickAddr(t) == first {
			t.Fatalf("%s was picked, and somebody listens there", first)
		}
	}

	mine := ports.first
	if !claimBlock() {
		t.Fatal("there is one block only")
	}
	defer ports.claim.Close()
	if ports.first == mine {
		t.Errorf("two have the ports from %d", mine)
	}
}
