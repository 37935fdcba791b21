package durable

import (
	"fmt"
	"testing"
	"time"

	"dsend/durable/queue"
	"dsend/durable/wal"
)

// counter is an Observer, and counts the syncs of a log.
type counter struct {
	Log
	commits, syncs int
}

func (c *counter) Commit(int, int, time.Duration) { c.commits++ }

func (c *counter) Sync() error {
	c.syncs++
	return c.Log.Sync()
}

// producer is a Speaker that lets a publish go for each that is answered.
type producer struct{ room chan struct{} }

func (p *producer) Replies(all []queue.Reply) {
	for range all {
		<-p.room
	}
}
func (p *producer) Speak([]Spoken)       {}
func (p *producer) Events([]Event)       {}
func (p *producer) Changed([]queue.Info) {}

func openBench(b *testing.B, speaker Speaker) (*Store, *counter) {
	log, err := wal.Open(b.TempDir(), wal.Options{})
	must(b, err)
	count := &counter{Log: log}
	cfg := config(speaker)
	cfg.Observer, cfg.Cache = count, 64<<20
	s, err := Open(count, cfg)
	must(b, err)
	b.Cleanup(func() { must(b, s.Close()) })
	return s, count
}

func (c *counter) report(b *testing.B) {
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "msgs/s")
	b.ReportMetric(float64(c.commits)/float64(b.N), "commits/op")
	b.ReportMetric(float64(c.syncs)/float64(b.N), "syncs/op")
}

// BenchmarkPublish is publishes of 256 B, so many of them outstanding at a time,
// to the real log.
func BenchmarkPublish(b *testing.B) {
	for _, n := range []int{1, 64, 1024} {
		b.Run(fmt.Sprintf("outstanding=%d", n), func(b *testing.B) {
			p := &producer{room: make(chan struct{}, n)}
			s, count := openBench(b, p)
			body := make([]byte, 256)
			b.ReportAllocs()
			for b.Loop() {
				p.room <- struct{}{}
				op := publish("")
				op.Body = body
				must(b, s.Submit([]queue.Op{op}, 256))
			}
			for range n { // all are answered
				p.room <- struct{}{}
			}
			count.report(b)
		})
	}
}

// worker pulls without end, and acks what it gets.
type puller struct {
	producer
	s *Store
}

func (p *puller) Speak(all []Spoken) {
	ops := make([]queue.Op, 0, len(all))
	for _, d := range all {
		if d.Status == 0 {
			ops = append(ops, answer(d, queue.Ack, false))
			<-p.room
		}
	}
	_ = p.s.Submit(ops, 0)
}

func (p *puller) Replies([]queue.Reply) {}

// BenchmarkPublishDeliverAck is the whole life of messages of 256 B, so many of
// them at a time.
func BenchmarkPublishDeliverAck(b *testing.B) {
	for _, n := range []int{1, 64, 1024} {
		b.Run(fmt.Sprintf("outstanding=%d", n), func(b *testing.B) {
			p := &puller{producer: producer{room: make(chan struct{}, n)}}
			s, count := openBench(b, p)
			p.s = s
			do(b, s, publish(""))
			do(b, s, &queue.Purge{Name: "q"})
			do(b, s, pull(1<<30))
			body := make([]byte, 256)
			b.ReportAllocs()
			for b.Loop() {
				p.room <- struct{}{}
				op := publish("")
				op.Body = body
				must(b, s.Submit([]queue.Op{op}, 256))
			}
			for range n {
				p.room <- struct{}{}
			}
			count.report(b)
		})
	}
}

// BenchmarkBacklog is deliveries of messages that only the log has.
func BenchmarkBacklog(b *testing.B) {
	const n = 100_000
	p := &puller{producer: producer{room: make(chan struct{}, n)}}
	s, _ := openBench(b, p)
	p.s, s.cache.limit = s, 0
	b.ReportAllocs()
	for b.Loop() {
		b.StopTimer()
		ops := make([]queue.Op, n)
		for i := range ops {
			op := publish("")
			op.Body = make([]byte, 256)
			ops[i] = op
			p.room <- struct{}{}
		}
		must(b, s.Submit(ops, 0))
		do(b, s, &queue.Space{})
		b.StartTimer()
		do(b, s, pull(n))
		for range n {
			p.room <- struct{}{}
		}
		for range n {
			<-p.room
		}
	}
	b.ReportMetric(float64(b.N)*n/b.Elapsed().Seconds(), "msgs/s")
}
