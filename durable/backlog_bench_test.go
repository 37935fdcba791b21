package durable

import (
	"encoding/binary"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"dsend/durable/queue"
	"dsend/durable/wal"
)

// metronome is a Speaker for publishes that come at a fixed rate, whatever
// happens: each is to be answered from the moment it was due, so that those that
// a stall held up count as well (coordinated omission). What is delivered is
// acked.
type metronome struct {
	s        *Store
	start    time.Time
	took     *hdrhistogram.Histogram // µs from due to answered
	answered chan struct{}           // one for each
}

func (m *metronome) Replies(all []queue.Reply) {
	now := int64(time.Since(m.start))
	for _, r := range all {
		if p, ok := r.Op.(*queue.Publish); ok && len(p.Reply) == 8 {
			_ = m.took.RecordValue((now - int64(binary.LittleEndian.Uint64(p.Reply))) / 1000)
			m.answered <- struct{}{}
		}
	}
}

func (m *metronome) Speak(all []Spoken) {
	acks := make([]queue.Op, 0, len(all))
	for _, d := range all {
		if d.Status == 0 {
			acks = append(acks, answer(d, queue.Ack, false))
		}
	}
	_ = m.s.Submit(acks, 0)
}

func (m *metronome) Events([]Event)       {}
func (m *metronome) Changed([]queue.Info) {}

// beat publishes at a rate for a while.
func (m *metronome) beat(b *testing.B, rate int, long time.Duration) {
	m.start = time.Now()
	total := rate * int(long/time.Second)
	m.took = hdrhistogram.New(1, 60_000_000, 3)
	m.answered = make(chan struct{}, total)
	body := make([]byte, 1024)
	for sent := 0; sent < total; time.Sleep(time.Millisecond) {
		due := min(total, int(time.Since(m.start).Seconds()*float64(rate)))
		ops := make([]queue.Op, 0, due-sent)
		for ; sent < due; sent++ {
			p := publish("")
			p.Body = body
			p.Reply = binary.LittleEndian.AppendUint64(nil, uint64(sent)*uint64(time.Second)/uint64(rate))
			ops = append(ops, p)
		}
		must(b, m.s.Submit(ops, 0))
	}
	for range total {
		<-m.answered
	}
}

// BenchmarkCompactionBacklog is how long publishes of 1 KiB wait that come at a
// fixed rate and are acked at once, beside 56 MiB that stay: with compaction,
// which carries those round and round, and without.
func BenchmarkCompactionBacklog(b *testing.B) {
	for _, rate := range []int{10_000, 20_000} {
		for name, slack := range map[string]int64{"none": 1 << 40, "at-work": 56 << 20} {
			b.Run(fmt.Sprintf("rate=%d/compaction=%s", rate, name), func(b *testing.B) {
				m := &metronome{}
				s, drops := openCompacting(b, m, slack)
				m.s = s
				park56(b, s)
				do(b, s, publish("")) // the queue
				do(b, s, pull(1<<30))
				for b.Loop() {
					m.beat(b, rate, 10*time.Second) // the log grows to where it is compacted
					before := drops.Load()
					m.beat(b, rate, 20*time.Second)
					b.ReportMetric(float64(drops.Load()-before), "generations")
				}
				for metric, quantile := range map[string]float64{"p50-ms": 50, "p99-ms": 99, "p99.9-ms": 99.9, "max-ms": 100} {
					b.ReportMetric(float64(m.took.ValueAtQuantile(quantile))/1000, metric)
				}
			})
		}
	}
}

// park56 publishes 56 MiB that stay.
func park56(b *testing.B, s *Store) {
	for range 56 {
		ops := make([]queue.Op, 1024)
		for i := range ops {
			p := publish("")
			p.Queue, p.Delay, p.Body = "parked", time.Hour, make([]byte, 1024)
			ops[i] = p
		}
		must(b, s.Submit(ops, 0))
		do(b, s, &queue.Space{})
	}
}

// BenchmarkPublishBacklog is publishes of 256 B, 1024 outstanding at a time,
// with nothing waiting and with 10 million messages.
func BenchmarkPublishBacklog(b *testing.B) {
	const n, window = 500_000, 1024
	var none float64
	for _, waiting := range []int{0, 10_000_000} {
		b.Run(fmt.Sprintf("waiting=%d", waiting), func(b *testing.B) {
			p := &producer{room: make(chan struct{}, window)}
			s, _ := openBench(b, p)
			flow(b, s, p, waiting)
			b.ResetTimer()
			for b.Loop() {
				flow(b, s, p, n)
			}
			rate := n * float64(b.N) / b.Elapsed().Seconds()
			b.ReportMetric(rate, "msgs/s")
			if waiting == 0 {
				none = rate
			} else if none > 0 {
				b.ReportMetric(rate/none, "of-none")
			}
		})
	}
}

// flow publishes n messages of 256 B and waits until all are answered.
func flow(b *testing.B, s *Store, p *producer, n int) {
	body := make([]byte, 256)
	for range n {
		p.room <- struct{}{}
		op := publish("")
		op.Body = body
		must(b, s.Submit([]queue.Op{op}, 256))
	}
	for range cap(p.room) { // all are answered
		p.room <- struct{}{}
	}
	for range cap(p.room) {
		<-p.room
	}
}

// openCompacting opens a store on the real log, and counts the generations that
// are dropped.
func openCompacting(b *testing.B, speaker Speaker, slack int64) (*Store, *atomic.Int64) {
	log, err := wal.Open(b.TempDir(), wal.Options{})
	must(b, err)
	count := &dropCounter{Log: log}
	cfg := config(speaker)
	cfg.Slack, cfg.Cache = slack, 64<<20
	s, err := Open(count, cfg)
	must(b, err)
	b.Cleanup(func() { must(b, s.Close()) })
	return s, &count.n
}

type dropCounter struct {
	Log
	n atomic.Int64
}

func (c *dropCounter) Drop(first uint64) error {
	c.n.Add(1)
	return c.Log.Drop(first)
}
