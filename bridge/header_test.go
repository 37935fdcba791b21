package bridge

import (
	"bytes"
	"testing"

	"pgregory.net/rapid"
)

func TestCleanHeader(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"none", "", ""},
		{"only user headers", "NATS/1.0\r\nA: 1\r\na: 2\r\nA: 1\r\nEmpty:\r\n\r\n", "NATS/1.0\r\nA: 1\r\na: 2\r\nA: 1\r\nEmpty:\r\n\r\n"},
		{"options stay", "NATS/1.0\r\nDsend-Key: k\r\nDsend-Priority: 9\r\n\r\n", "NATS/1.0\r\nDsend-Key: k\r\nDsend-Priority: 9\r\n\r\n"},
		{"facts go", "NATS/1.0\r\nA: 1\r\nDsend-Attempt: 7\r\nB:  2 \r\nDsend-Dead-Reason: x\r\n\r\n", "NATS/1.0\r\nA: 1\r\nB:  2 \r\n\r\n"},
		{"nothing left", "NATS/1.0\r\nDsend-Attempt: 7\r\n\r\n", ""},
		{"another case is a user's", "NATS/1.0\r\ndsend-attempt: 7\r\nDSEND-ATTEMPT: 7\r\n\r\n", "NATS/1.0\r\ndsend-attempt: 7\r\nDSEND-ATTEMPT: 7\r\n\r\n"},
		{"an option in another case is no fact", "NATS/1.0\r\nDsend-key: k\r\n\r\n", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			in := []byte(c.in)
			if c.in == "" {
				in = nil
			}
			if got := string(cleanHeader(in)); got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
		})
	}
}

// Whatever comes in: no reserved header but an option comes out, and cleaning
// twice is cleaning once.
func TestCleanHeaderProperty(t *testing.T) {
	line := rapid.SampledFrom([]string{"A: 1\r\n", "Dsend-Attempt: 3\r\n", "Dsend-Key: k\r\n", ": \r\n", "\r\n", "no colon\r\n", "Dsend-", "\x00:\r\n"})
	rapid.Check(t, func(t *rapid.T) {
		block := []byte("NATS/1.0\r\n")
		for _, l := range rapid.SliceOf(line).Draw(t, "lines") {
			block = append(block, l...)
		}
		once := cleanHeader(bytes.Clone(block))
		eachHeader(once, func(key, _, _ []byte) {
			if isReserved(key) && !isOption(string(key)) {
				t.Fatalf("%q keeps %q", once, key)
			}
		})
		if twice := cleanHeader(bytes.Clone(once)); !bytes.Equal(once, twice) {
			t.Fatalf("%q cleaned again is %q", once, twice)
		}
	})
}

func TestCheckHeader(t *testing.T) {
	for _, good := range []string{"", "NATS/1.0\r\n\r\n", "NATS/1.0\r\nA: b\r\n\r\n", "NATS/1.0\r\nA:\r\nA: \xff:\r\n\r\n"} {
		block := []byte(good)
		if good == "" {
			block = nil
		}
		if err := checkHeader(block); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for _, bad := range []string{
		"NATS/1.0", "NATS/1.0\r\n", "ABCDE", "NATS/1.0\r\nA: b\r\n", "NATS/1.0\r\nA: b", "NATS/1.0\r\nA: b\r\n\r\nB: c\r\n\r\n",
		"NATS/1.0\r\nA: b\nDsend-Attempt: 99\r\n\r\n", "NATS/1.0\r\nA: b\rC: d\r\n\r\n", "NATS/1.0\r\nno colon\r\n\r\n",
		"NATS/1.0\r\n: x\r\n\r\n", "NATS/1.0\r\nA b: x\r\n\r\n", "NATS/1.0\r\n A: x\r\n\r\n", "NATS/1.0\r\nA: \x00\r\n\r\n",
		"NATS/1.0 404 No Messages\r\n\r\n", "NATS/1.0 100 Idle Heartbeat\r\nA: b\r\n\r\n", "nats/1.0\r\n\r\n",
	} {
		if checkHeader([]byte(bad)) == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

// Any block, as the server hands it on unchecked: nothing panics, and what is
// taken comes out well formed and without forged facts.
func FuzzHeader(f *testing.F) {
	f.Add([]byte("NATS/1.0\r\nA: b\r\n"))
	f.Add([]byte("NATS/1.0\r\nA: b\r\nDsend-Attempt: 1\r\n\r\n"))
	f.Fuzz(func(t *testing.T, block []byte) {
		eachHeader(block, func(_, _, _ []byte) {})
		clean := cleanHeader(block)
		if checkHeader(block) != nil {
			return
		}
		if err := checkHeader(clean); err != nil {
			t.Fatalf("%q became %q: %v", block, clean, err)
		}
		if opened := append(openHeader(nil, clean), "Dsend-Attempt: 1\r\n\r\n"...); checkHeader(opened) != nil {
			t.Fatalf("%q became %q", block, opened)
		}
	})
}
