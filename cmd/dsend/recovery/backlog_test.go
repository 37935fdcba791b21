package recovery

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"dsend/durable"
	"dsend/durable/queue"
	"dsend/durable/wal"
	"dsend/testkit"
)

// TestDelayedMessagesCostNoCPU lets a server with many delayed messages idle:
// there is one timer for all of them.
func TestDelayedMessagesCostNoCPU(t *testing.T) {
	n := 200_000
	if testkit.Storm() {
		n = 1_000_000
	}
	if used := idle(t, n, 3*time.Second); used > 0.1 {
		t.Errorf("a server with %d delayed messages uses %.0f %% of a core", n, 100*used)
	}
}

// BenchmarkBacklogIdle is the part of a core that a server uses that has a
// million delayed messages and nothing to do.
func BenchmarkBacklogIdle(b *testing.B) {
	for b.Loop() {
		b.ReportMetric(100*idle(b, 1_000_000, 10*time.Second), "%core")
	}
	b.ReportMetric(0, "ns/op")
}

// idle gives the part of a core that a server uses that has n delayed messages.
// The collection of what recovery left behind comes before.
func idle(t testing.TB, n int, over time.Duration) float64 {
	c := newDsend(t)
	fill(t, c.dir, n, 1000*time.Hour)
	c.start(t)
	nc := c.connect(t)
	c.holds(t, nc, uint64(n))
	nc.Close()
	time.Sleep(over) // a measured time, not a wait
	before := c.cpu(t)
	time.Sleep(over)
	used := c.cpu(t) - before
	c.kill()
	t.Logf("%d delayed messages: %v of CPU in %v", n, used, over)
	return used.Seconds() / over.Seconds()
}

// cpu is the time a process has used.
func (c *contender) cpu(t testing.TB) time.Duration {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", c.cmd.Process.Pid))
	if err != nil {
		testkit.Need(t, false, "/proc, as Linux has it: "+err.Error())
	}
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	var user, system int64
	if _, err := fmt.Sscan(fields[11]+" "+fields[12], &user, &system); err != nil {
		t.Fatal(err)
	}
	return time.Duration(user+system) * 10 * time.Millisecond // of 100 ticks a second, whatever the machine
}

// BenchmarkBacklogHeap is the memory of waiting messages, in a process that
// has recovered three million: B/msg of the heap, the cache not used yet.
func BenchmarkBacklogHeap(b *testing.B) {
	const n = 3_000_000
	dir := filepath.Join(b.TempDir(), "data")
	fill(b, dir, n, 0)
	for b.Loop() {
		log, err := wal.Open(filepath.Join(dir, "log"), wal.Options{})
		if err != nil {
			b.Fatal(err)
		}
		before := heap()
		s, err := durable.Open(log, durable.Config{Queue: queue.Config{Defaults: queue.Defaults()}, Speaker: answered{}})
		if err != nil {
			b.Fatal(err)
		}
		b.ReportMetric((heap()-before)/n, "B/msg")
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}

// heap is what is in use.
func heap() float64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}
