package recovery

import (
	"fmt"
	"slices"
	"testing"
	"time"
)

// rounds is how often each is started; the median counts.
const rounds = 3

// BenchmarkRecovery starts dsend and JetStream after kill -9, in turn, on the
// same messages in one work queue. For each: ms to be ready, ns and resident
// bytes per message, and MiB resident in all.
func BenchmarkRecovery(b *testing.B) {
	for b.Loop() {
		compare(b, 3_000_000)
		alone(b, 10_000_000)
	}
	b.ReportMetric(0, "ns/op") // what is measured is below
}

// compare measures both in turn.
func compare(b *testing.B, n int) {
	both := []*contender{newDsend(b), newJetStream(b)}
	took, memory := map[*contender][]float64{}, map[*contender][]float64{}
	for _, c := range both {
		c.load(b, n)
	}
	for range rounds {
		for _, c := range both {
			ms, bytes := c.measure(b, n)
			took[c], memory[c] = append(took[c], ms), append(memory[c], bytes)
		}
	}
	for _, c := range both {
		report(b, c, n, median(took[c]), median(memory[c]))
	}
	b.ReportMetric(median(took[both[0]])/median(took[both[1]]), "dsend/jetstream")
}

// alone measures dsend.
func alone(b *testing.B, n int) {
	c := newDsend(b)
	c.load(b, n)
	var took, memory []float64
	for range rounds {
		ms, bytes := c.measure(b, n)
		took, memory = append(took, ms), append(memory, bytes)
	}
	report(b, c, n, median(took), median(memory))
}

func report(b *testing.B, c *contender, n int, ms, bytes float64) {
	name := fmt.Sprintf("%s-%dM", c.name, n/1_000_000)
	b.ReportMetric(ms, name+"-ms")
	b.ReportMetric(ms*1e6/float64(n), name+"-ns/msg")
	b.ReportMetric(bytes/(1<<20), name+"-MiB")
}

func median(of []float64) float64 {
	of = slices.Sorted(slices.Values(of))
	return of[len(of)/2]
}

// load puts n messages into a server, and kills it.
func (c *contender) load(b *testing.B, n int) {
	c.start(b)
	nc := c.connect(b)
	c.makeStream(b, nc)
	publish(b, nc, n)
	c.holds(b, nc, uint64(n))
	nc.Close()
	c.kill()
}

// measure starts a server and tells how long it took and what memory it has
// then, and kills it.
func (c *contender) measure(b *testing.B, n int) (ms, bytes float64) {
	begun := time.Now()
	c.start(b)
	nc := c.connect(b)
	c.holds(b, nc, uint64(n))
	ms = float64(time.Since(begun).Microseconds()) / 1000
	bytes = c.resident(b)
	nc.Close()
	c.kill()
	return ms, bytes
}
