package queue

import (
	"fmt"
	"runtime"
	"testing"
	"time"
)

const (
	perCommit = 256
	million   = 1_000_000
)

// driven is a State for a benchmark: commits are ended and thrown away.
type driven struct {
	*State
	out    Out
	now    int64
	commit uint64
	log    []entry // if it is kept
	keep   bool
}

func drive(cfg Config) *driven {
	d := &driven{State: New(cfg), now: epoch}
	d.next()
	d.Found([16]byte{1}, &d.out)
	return d
}

// next ends a commit and begins another.
func (d *driven) next() {
	if d.keep && !d.out.Empty() {
		d.log = append(d.log, entry{d.commit, append([]byte(nil), d.out.Records...)})
	}
	records := d.out.Records[:0]
	d.out.Reset()
	d.out.Records = records
	d.commit++
	d.now += int64(100 * time.Microsecond)
	d.Begin(d.commit, d.now, &d.out)
}

// publish puts n messages into a queue.
func (d *driven) publish(n int, like Publish) {
	for i := range n {
		d.Step(&like, d.now, &d.out)
		if i%perCommit == perCommit-1 {
			d.Match(d.now, &d.out)
			d.next()
		}
	}
	d.Match(d.now, &d.out)
	d.next()
}

func benchConfig() Config {
	return Config{AutoCreate: true, Defaults: Defaults(), Grace: time.Second}
}

var body256 = make([]byte, 256)

func plain() Publish {
	return Publish{Queue: "q", Subject: []byte("orders.new"), Body: body256, MaxAttempts: -1}
}

func BenchmarkPublish(b *testing.B) {
	for _, kind := range []string{"plain", "id", "key", "delayed"} {
		b.Run(kind, func(b *testing.B) {
			cfg := benchConfig()
			cfg.Defaults.DedupeWindow = 10 * time.Millisecond // 100 commits: fewer than there are ids
			d := drive(cfg)
			op := plain()
			ids := make([]string, 1<<16)
			for i := range ids {
				ids[i] = fmt.Sprint("id-", i)
			}
			b.ReportAllocs()
			b.ResetTimer()
			for i := range b.N {
				switch kind {
				case "id":
					op.ID = ids[i%len(ids)]
				case "key":
					op.Key = ids[i%len(ids)]
				case "delayed":
					op.Delay = time.Hour
				}
				d.Step(&op, d.now, &d.out)
				if i%perCommit == perCommit-1 {
					d.Tick(d.now, &d.out)
					d.Match(d.now, &d.out)
					d.next()
				}
				if i%(1<<20) == 1<<20-1 { // not a test of a large queue
					d.Step(&Purge{Name: "q"}, d.now, &d.out)
				}
			}
		})
	}
}

// BenchmarkRound is the life of a message: published, delivered, acked.
func BenchmarkRound(b *testing.B) {
	for _, kind := range []string{"push", "pull"} {
		b.Run(kind, func(b *testing.B) {
			d := drive(benchConfig())
			op := plain()
			d.publish(1, op)
			if kind == "push" {
				d.Step(&Members{Queue: "q", Group: "g", Count: perCommit}, d.now, &d.out)
			}
			answers := make([]Answer, 0, perCommit)
			b.ReportAllocs()
			b.ResetTimer()
			for n := 0; n < b.N; n += perCommit {
				d.Tick(d.now, &d.out)
				for range perCommit {
					d.Step(&op, d.now, &d.out)
				}
				if kind == "pull" {
					d.Step(&Pull{Queue: "q", Consumer: PullConsumer, Inbox: "_INBOX.a.b", Peer: "_INBOX.a", Batch: perCommit, Expires: time.Minute}, d.now, &d.out)
				}
				d.Match(d.now, &d.out)
				answers = answers[:0]
				for _, sp := range d.out.Speech {
					answers = append(answers, Answer{QueueID: sp.QueueID, Seq: sp.Seq, Delivery: sp.Delivery, Verb: Ack})
				}
				d.next()
				for i := range answers {
					d.Step(&answers[i], d.now, &d.out)
				}
			}
		})
	}
}

// BenchmarkTick is a turn of the loop with a million delayed messages, of which
// none is due, or one.
func BenchmarkTick(b *testing.B) {
	for _, due := range []int{0, 1} {
		b.Run(fmt.Sprintf("due=%d", due), func(b *testing.B) {
			d := drive(benchConfig())
			op := plain()
			op.Delay = 1000 * time.Hour
			d.publish(million, op)
			b.ReportAllocs()
			b.ResetTimer()
			for range b.N {
				if due == 1 {
					op.Delay = time.Nanosecond
					d.Step(&op, d.now, &d.out)
					d.now++
				}
				d.Tick(d.now, &d.out)
				d.Next()
				if len(d.out.Records) > 1<<20 {
					d.next()
				}
			}
		})
	}
}

// BenchmarkRecover reads the log of a million messages; B/msg is the memory that
// a State of them needs.
func BenchmarkRecover(b *testing.B) {
	for _, kind := range []string{"plain", "plain one by one", "plain with ids", "delayed", "in flight"} {
		b.Run(kind, func(b *testing.B) {
			cfg := benchConfig()
			cfg.Defaults.MaxInFlight = million
			cfg.Defaults.DedupeWindow = time.Hour
			d := drive(cfg)
			d.keep = true
			op := plain()
			op.Body = body256[:16]
			switch kind {
			case "delayed":
				op.Delay = time.Hour
				d.publish(million, op)
			case "plain one by one":
				for range million {
					d.Step(&op, d.now, &d.out)
					d.next()
				}
			case "plain with ids":
				for i := range million {
					op.ID = fmt.Sprintf("order-%010d", i)
					d.publish(1, op)
				}
			default:
				d.publish(million, op)
			}
			if kind == "in flight" {
				d.Step(&Pull{Queue: "q", Consumer: PullConsumer, Inbox: "in", Peer: "p", Batch: million}, d.now, &d.out)
				for d.Next() <= d.now {
					d.next()
					d.Match(d.now, &d.out)
				}
				d.next()
			}
			log := d.log
			d = nil
			b.ReportAllocs()
			b.ResetTimer()
			var s *State
			for range b.N {
				var err error
				if s, err = recoverState(cfg, log); err != nil {
					b.Fatal(err)
				}
			}
			b.StopTimer()
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/million, "ns/msg")
			b.ReportMetric(heapOf(&s)/million, "B/msg")
		})
	}
}

// heapOf is how much less the heap is without *s, which is then nil.
func heapOf(s **State) float64 {
	var with, without runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&with)
	runtime.KeepAlive(*s)
	*s = nil
	runtime.GC()
	runtime.ReadMemStats(&without)
	return float64(with.HeapAlloc) - float64(without.HeapAlloc)
}

// BenchmarkCarry takes a backlog forward that lies in runs of one.
func BenchmarkCarry(b *testing.B) {
	d := drive(benchConfig())
	d.keep = true
	op := plain()
	const backlog = 200_000
	for range backlog {
		d.Step(&op, d.now, &d.out)
		d.next()
	}
	log := d.log
	d.keep = false
	i := 0
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		if i == backlog {
			b.StopTimer()
			d = drive(benchConfig())
			d.keep = true
			for range backlog {
				d.Step(&op, d.now, &d.out)
				d.next()
			}
			log, i, d.keep = d.log, 0, false
			b.StartTimer()
		}
		carry := &Carry{Through: log[backlog-1].number}
		for ; i < backlog && len(carry.found) < perCommit; i++ {
			for offset, record := range Messages(log[i].data) {
				carry.Add(log[i].number, offset, record)
			}
		}
		d.Step(carry, d.now, &d.out)
		d.next()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/perCommit, "ns/msg")
}

// BenchmarkLook is what people and metrics ask of a queue with a million
// delayed messages.
func BenchmarkLook(b *testing.B) {
	d := drive(benchConfig())
	op := plain()
	op.Delay = time.Hour
	d.publish(million, op)
	b.Run("info", func(b *testing.B) {
		b.ReportAllocs()
		for range b.N {
			if i, _ := d.Info("q"); i.Delayed != million {
				b.Fatal(i)
			}
		}
	})
	b.Run("page of 100", func(b *testing.B) {
		b.ReportAllocs()
		for i := range b.N {
			if page, _ := d.List(List{Queue: "q", From: uint64(i*1000%million + 1), Limit: 100}); len(page) != 100 {
				b.Fatal(len(page))
			}
		}
	})
	b.Run("entry", func(b *testing.B) {
		b.ReportAllocs()
		for i := range b.N {
			if _, err := d.Entry("q", uint64(i%million+1)); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkDeclare declares ten thousand queues with a subject each, as a first
// start does.
func BenchmarkDeclare(b *testing.B) {
	for range b.N {
		d := drive(benchConfig())
		for i := range 10_000 {
			s := Defaults()
			s.Subjects = []string{fmt.Sprintf("app.orders.%d.*", i)}
			d.Step(&Declare{Name: fmt.Sprint("queue-", i), Settings: s, Source: FromFile}, d.now, &d.out)
		}
		if n := len(d.Infos()); n != 10_000 {
			b.Fatal(n, d.out.Replies[0].Err)
		}
	}
}
