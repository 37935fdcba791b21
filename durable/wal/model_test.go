package wal

import (
	"bytes"
	"os"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// model is what a log should hold.
type model struct {
	dir     string
	log     *Log
	first   uint64   // its first commit
	commits [][]byte // from first on
	durable uint64
}

func (m *model) last() uint64 { return m.first + uint64(len(m.commits)) - 1 }

// open opens the log and compares all of it.
func (m *model) open(t *rapid.T) {
	size := rapid.Int64Range(1, 3000).Draw(t, "generation size")
	var err error
	if m.log, err = Open(m.dir, Options{GenerationSize: size}); err != nil {
		t.Fatal(err)
	}
	next := m.first
	err = m.log.Recover(func(n uint64, data []byte) error {
		if n != next || n > m.last() || !bytes.Equal(data, m.commits[n-m.first]) {
			t.Fatalf("recovered commit %d, want commit %d of %d, with its data", n, next, m.last())
		}
		next++
		return nil
	})
	if err != nil || next != m.last()+1 || m.log.Last() != m.last() {
		t.Fatalf("recovered up to commit %d, want %d: %v", next-1, m.last(), err)
	}
	m.durable = m.last()
}

// TestModel does what a store does, in random order, with restarts, kills and torn ends, and compares with a list.
func TestModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		dir, err := os.MkdirTemp("", "dsend-wal")
		if err != nil {
			rt.Fatal(err)
		}
		defer os.RemoveAll(dir)
		m := &model{dir: dir, first: 1}
		m.open(rt)
		defer func() { kill(m.log) }()
		rt.Repeat(map[string]func(*rapid.T){
			"append": m.append, "append 2": m.append, "append 3": m.append,
			"sync": m.sync, "close": m.close, "kill": m.kill, "tear": m.tear, "drop": m.drop, "": m.compare,
		})
	})
}

func (m *model) append(t *rapid.T) {
	data := noise(rapid.Uint64().Draw(t, "seed"), rapid.IntRange(0, 1500).Draw(t, "bytes"))
	if err := m.log.Append(data); err != nil {
		t.Fatal(err)
	}
	m.commits = append(m.commits, data)
}

func (m *model) sync(t *rapid.T) {
	if err := m.log.Sync(); err != nil {
		t.Fatal(err)
	}
	m.durable = m.last()
}

func (m *model) close(t *rapid.T) {
	if err := m.log.Close(); err != nil {
		t.Fatal(err)
	}
	m.open(t)
}

func (m *model) kill(t *rapid.T) {
	kill(m.log)
	m.open(t)
}

// tear is a power cut: of what was not synced, some bytes are on disk.
func (m *model) tear(t *rapid.T) {
	kill(m.log)
	if m.durable < m.last() {
		g := m.log.gens[len(m.log.gens)-1]
		low := int64(0)
		if m.durable >= g.first {
			low = int64(g.ends[m.durable-g.first])
		}
		keep := rapid.Int64Range(max(low, 0), g.bytes).Draw(t, "bytes kept")
		if err := os.Truncate(g.segment(), keep); err != nil {
			t.Fatal(err)
		}
		whole, _ := slices.BinarySearch(g.ends, uint32(keep)+1)
		m.commits = m.commits[:g.first+uint64(whole)-m.first]
	}
	m.open(t)
}

func (m *model) drop(t *rapid.T) {
	gens := m.log.Generations()
	if len(gens) < 2 || gens[1].First > m.durable {
		t.Skip("nothing to drop")
	}
	if err := m.log.Drop(gens[0].First); err != nil {
		t.Fatal(err)
	}
	m.commits = m.commits[gens[1].First-m.first:]
	m.first = gens[1].First
}

// compare reads a piece of a commit, scans a generation, and checks the numbers.
func (m *model) compare(t *rapid.T) {
	gens := m.log.Generations()
	if len(m.commits) == 0 {
		if len(gens) > 0 || m.log.Last() != m.last() {
			t.Fatalf("%v, last %d in an empty log", gens, m.log.Last())
		}
		return
	}
	if gens[0].First != m.first || gens[len(gens)-1].Last != m.last() || m.log.Last() != m.last() {
		t.Fatalf("%v, last %d, want %d to %d", gens, m.log.Last(), m.first, m.last())
	}
	n := rapid.Uint64Range(m.first, m.last()).Draw(t, "commit")
	want := m.commits[n-m.first]
	off := rapid.IntRange(0, len(want)).Draw(t, "offset")
	p := make([]byte, len(want)-off)
	if err := m.log.Read(n, uint32(off), p); err != nil || !bytes.Equal(p, want[off:]) {
		t.Fatalf("commit %d from byte %d read wrong: %v", n, off, err)
	}
	if len(gens) < 2 {
		return
	}
	g := rapid.SampledFrom(gens[:len(gens)-1]).Draw(t, "generation")
	next := g.First
	err := m.log.Scan(g.First, func(n uint64, data []byte) error {
		if n != next || !bytes.Equal(data, m.commits[n-m.first]) {
			t.Fatalf("scanned commit %d, want %d, with its data", n, next)
		}
		next++
		return nil
	})
	if err != nil || next != g.Last+1 {
		t.Fatalf("scanned %v up to commit %d: %v", g, next-1, err)
	}
}
