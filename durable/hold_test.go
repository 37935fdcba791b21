package durable

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"dsend/durable/queue"
	"dsend/durable/wal"
)

// roomy is a log on a disk that is as full as the test says.
type roomy struct {
	*wal.Log
	free atomic.Uint64
}

func (l *roomy) Free() (uint64, error) { return l.free.Load(), nil }

// holdable opens a store on a log of small generations that is compacted early.
func holdable(t *testing.T) (*Store, *recorder, *roomy) {
	t.Helper()
	log, err := wal.Open(filepath.Join(t.TempDir(), "log"), wal.Options{GenerationSize: 4 << 10})
	must(t, err)
	l := &roomy{Log: log}
	l.free.Store(1 << 40)
	s, r := open(t, l, func(c *Config) { c.Slack, c.Reserve = 8<<10, 1<<30 })
	return s, r, l
}

// churn lets n messages through a queue.
func churn(t *testing.T, s *Store, r *recorder, n int) {
	t.Helper()
	for i := range n {
		p := publish(fmt.Sprint(i, strings.Repeat("x", 300)))
		p.Queue = "busy"
		do(t, s, p)
		ask := pull(1)
		ask.Queue, ask.NoWait = "busy", true
		do(t, s, ask)
		for _, d := range r.deliveries() {
			do(t, s, answer(d, queue.Ack, true))
		}
		r.forget()
	}
}

// eventually waits for what other goroutines bring about.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !is(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}

// copyTo copies what is held into a folder, and does something after each file.
func copyTo(t *testing.T, h *Hold, dir string, between func()) error {
	t.Helper()
	for _, g := range h.Files() {
		data := make([]byte, g.Bytes)
		for off := 0; off < len(data); off += 1000 {
			if err := h.Read(g.First, int64(off), data[off:min(len(data), off+1000)]); err != nil {
				return err
			}
		}
		name := filepath.Join(dir, wal.FileName(g.First))
		must(t, os.MkdirAll(filepath.Dir(name), 0o700))
		must(t, os.WriteFile(name, data, 0o600))
		between()
	}
	return nil
}

// TestHold copies a log while much passes through it, so that it would be
// compacted all the time. The copy is the store as it was at the begin.
func TestHold(t *testing.T) {
	s, r, log := holdable(t)
	fill(t, s, 20, func(i int) string { return fmt.Sprint("kept ", i) })
	churn(t, s, r, 40)
	from := log.Last()
	h, err := s.Hold(t.Context())
	must(t, err)
	if _, err := s.Hold(t.Context()); !errors.Is(err, ErrHeld) {
		t.Fatalf("two hold the log: %v", err)
	}
	to := log.Last()            // compaction may have made a commit of its own meanwhile
	first := h.Files()[0].First // an older one may be on its way out
	churn(t, s, r, 100)
	if now := log.Generations()[0].First; now > first {
		t.Fatalf("generation %d was dropped, although it is held", first)
	}
	dir := filepath.Join(t.TempDir(), "log")
	must(t, copyTo(t, h, dir, func() { churn(t, s, r, 5) }))
	h.Release()
	eventually(t, "what is not held any more is dropped", func() bool {
		churn(t, s, r, 1) // compaction keeps pace with what is written
		return log.Generations()[0].First > first
	})

	survey, e := examined(t, dir)
	if survey.Damaged() || survey.Torn != nil || e.Mending != nil || e.Last < from || e.Last > to {
		t.Fatalf("the copy: %v, torn %v, commit %d, want %d to %d", survey.Places, survey.Torn, e.Last, from, to)
	}
	must(t, survey.Close())
	all := kept(t, dir)
	for i := range 20 {
		if all[fmt.Sprint("q ", i+1)] != fmt.Sprint("kept ", i) {
			t.Fatalf("message %d of the copy is %q", i+1, all[fmt.Sprint("q ", i+1)])
		}
	}
	if len(all) != 20 {
		t.Fatalf("%d messages in the copy", len(all))
	}
	again, err := s.Hold(t.Context())
	must(t, err)
	again.Release()
}

// TestHoldGivenUp: when the disk is nearly full the log needs its room, and the
// copy ends with one clear error.
func TestHoldGivenUp(t *testing.T) {
	s, r, log := holdable(t)
	churn(t, s, r, 40)
	h, err := s.Hold(t.Context())
	must(t, err)
	files := h.Files()
	must(t, h.Read(files[0].First, 0, make([]byte, 10)))
	churn(t, s, r, 100)
	log.free.Store(64 << 20) // below the reserve of 1 GiB
	eventually(t, "the copy is given up", func() bool {
		do(t, s, &queue.Declare{Name: "other", Settings: queue.Defaults(), Source: queue.FromAPI})
		return errors.Is(h.Read(files[len(files)-1].First, 0, make([]byte, 10)), ErrGivenUp)
	})
	h.Release()
	eventually(t, "the log is dropped", func() bool { return log.Generations()[0].First > files[0].First })
	log.free.Store(math.MaxInt64)
}

// TestHoldDamage: what is damaged on the disk is not copied.
func TestHoldDamage(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	log, err := wal.Open(dir, wal.Options{})
	must(t, err)
	s, _ := open(t, log)
	fill(t, s, 5, func(i int) string { return fmt.Sprint("body ", i) })
	h, err := s.Hold(t.Context())
	must(t, err)
	defer h.Release()
	file := filepath.Join(dir, wal.FileName(h.Files()[0].First))
	data, err := os.ReadFile(file)
	must(t, err)
	data[len(data)/2] ^= 1
	must(t, os.WriteFile(file, data, 0o600))
	var damage *wal.Damage
	if err := h.Read(h.Files()[0].First, 0, make([]byte, 1)); !errors.As(err, &damage) || damage.File != file {
		t.Fatalf("%v", err)
	}
}

// TestHoldEnds: a store that is closed holds nothing, and one whose log cannot
// be copied says so.
func TestHoldEnds(t *testing.T) {
	s, _, _ := holdable(t)
	h, err := s.Hold(t.Context())
	must(t, err)
	must(t, s.Close())
	h.Release()
	if _, err := s.Hold(t.Context()); !errors.Is(err, ErrStopped) {
		t.Fatal(err)
	}
	s, _ = open(t, newMemLog())
	if _, err := s.Hold(t.Context()); !errors.Is(err, ErrNoCopy) {
		t.Fatal(err)
	}
}
