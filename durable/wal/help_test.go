package wal

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// noise is n bytes that depend on seed.
func noise(seed uint64, n int) []byte {
	r := rand.New(rand.NewPCG(seed, 0))
	p := make([]byte, n)
	for i := range p {
		p[i] = byte(r.Uint32())
	}
	return p
}

// open opens a log, recovers it and closes it at the end of the test.
func open(t testing.TB, dir string, o Options) *Log {
	t.Helper()
	l, err := Open(dir, o)
	check(t, err)
	t.Cleanup(func() { _ = l.Close() })
	check(t, l.Recover(func(_ uint64, data []byte) error { bytes.Clone(data); return nil }))
	return l
}
