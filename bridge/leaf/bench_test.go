package leaf

import (
	"bytes"
	"fmt"
	"log/slog"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nuid"
)

// BenchmarkParse: the parser alone, on what a busy server sends: 128 KiB reads of small requests.
func BenchmarkParse(b *testing.B) {
	for _, size := range []int{16, 256, 4096} {
		b.Run(strconv.Itoa(size)+"B", func(b *testing.B) {
			var batch Batch
			hdr := []byte("NATS/1.0\r\nNats-Msg-Id: 0123456789\r\n\r\n")
			for i := 0; batch.Len() < readSize; i++ {
				h := hdr
				if i%2 == 0 {
					h = nil
				}
				_ = batch.Publish([]byte("dsend.publish.orders"), []byte("_INBOX.0123456789abcdefghijkl.01234567"), h, make([]byte, size))
			}
			b.SetBytes(int64(batch.Len()))
			b.ReportAllocs()
			var p parser
			for b.Loop() {
				for rest := batch.buf; len(rest) > 0; {
					o, n, err := p.next(rest)
					if o != opMsg || err != nil {
						b.Fatal(o, err)
					}
					rest = rest[n:]
				}
			}
			b.ReportMetric(float64(batch.Count())*float64(b.N)/b.Elapsed().Seconds(), "msgs/s")
		})
	}
}

func BenchmarkBatch(b *testing.B) {
	var batch Batch
	inbox, reply, payload := "_INBOX.0123456789abcdefghijkl.01234567", []byte(ackReply+"@orders.new"), make([]byte, 100)
	b.ReportAllocs()
	for b.Loop() {
		if batch.Len() > 60000 {
			batch.Reset()
		}
		_ = batch.PublishTo("workers", []byte(inbox), reply, oneHeader, payload)
	}
}

// BenchmarkInject: deliveries from the leaf to a queue group's member, through a real server, counted at the client.
func BenchmarkInject(b *testing.B) {
	for _, perBatch := range []int{1, 100} {
		b.Run(fmt.Sprintf("batch=%d", perBatch), func(b *testing.B) {
			s := runServer(b, nil)
			c, r := start(b, leafAddr(b, s), nil)
			nc := client(b, s)
			var count atomic.Int64
			done := make(chan struct{}, 1)
			sub, err := nc.QueueSubscribe("work.orders", "workers", func(*nats.Msg) {
				if count.Add(-1) == 0 {
					done <- struct{}{}
				}
			})
			ok(b, err)
			ok(b, sub.SetPendingLimits(-1, -1))
			r.waitEvent(b, Interest{"work.orders", "workers", 1})
			batch, reply, payload := c.NewBatch(), []byte(ackReply+"@orders.new"), make([]byte, 100)
			b.ReportAllocs()
			b.ResetTimer()
			count.Store(int64(b.N))
			for i := range b.N {
				ok(b, batch.PublishTo("workers", []byte("work.orders"), reply, nil, payload))
				if batch.Count() == perBatch || i == b.N-1 {
					ok(b, c.Send(batch))
				}
			}
			<-done
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "msgs/s")
		})
	}
}

// BenchmarkReceive: a client publishes with a reply as fast as it can; counted at the leaf.
func BenchmarkReceive(b *testing.B) {
	s := runServer(b, nil)
	h := &counter{done: make(chan struct{}, 1)}
	c, err := New(Options{Addr: leafAddr(b, s), Handler: h, Logger: slog.New(slog.DiscardHandler)})
	ok(b, err)
	ok(b, c.Subscribe("dsend.publish.>"))
	ok(b, c.Start(b.Context()))
	b.Cleanup(func() { c.Close() })
	nc := client(b, s)
	payload := bytes.Repeat([]byte("x"), 256)
	b.ReportAllocs()
	b.ResetTimer()
	h.left.Store(int64(b.N))
	for range b.N {
		ok(b, nc.PublishRequest("dsend.publish.orders", "_INBOX.0123456789abcdefghijkl.01234567", payload))
	}
	ok(b, nc.Flush())
	<-h.done
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "msgs/s")
	b.ReportMetric(float64(h.msgs)/float64(max(1, h.batches)), "msgs/batch")
}

type counter struct {
	nothing
	left          atomic.Int64
	msgs, batches int
	done          chan struct{}
}

func (h *counter) Messages(batch []Msg) {
	h.msgs += len(batch)
	h.batches++
	if n := h.left.Add(-int64(len(batch))); n == 0 {
		h.done <- struct{}{}
	}
}

// BenchmarkRoundTrip: a request from a client, answered by the leaf, one at a time.
func BenchmarkRoundTrip(b *testing.B) {
	s := runServer(b, nil)
	h := &echo{}
	c, err := New(Options{Addr: leafAddr(b, s), Handler: h, Logger: slog.New(slog.DiscardHandler)})
	ok(b, err)
	h.c, h.b = c, c.NewBatch()
	ok(b, c.Subscribe("ask"))
	ok(b, c.Start(b.Context()))
	b.Cleanup(func() { c.Close() })
	nc := client(b, s)
	for b.Loop() {
		if _, err := nc.Request("ask", nil, patience); err != nil {
			b.Fatal(err)
		}
	}
}

type echo struct {
	nothing
	c *Conn
	b *Batch
}

func (h *echo) Messages(batch []Msg) {
	for _, m := range batch {
		_ = h.b.Publish(m.Reply, nil, nil, nil)
	}
	_ = h.c.Send(h.b)
}

// BenchmarkTable: one inbox comes and goes, beside 10,000 others, with watches.
func BenchmarkTable(b *testing.B) {
	var tab Table
	for range 10000 {
		tab.Apply(Interest{"_INBOX." + nuid.Next(), "", 1})
	}
	mux := "_INBOX." + nuid.Next() + ".*"
	tab.Apply(Interest{mux, "", 1})
	tab.Watch(PeerOf(mux))
	tab.Watch("dsend.work.orders")
	inbox := "_INBOX." + nuid.Next()
	b.Run("come and go", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			tab.Apply(Interest{inbox, "", 1})
			tab.Apply(Interest{inbox, "", 0})
		}
	})
	reply := mux[:len(mux)-1] + "01234567"
	b.Run("HasInbox", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if !tab.HasInbox(reply) {
				b.Fatal("not there")
			}
		}
	})
	b.Run("Peer", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if tab.Peer(PeerOf(reply)) == 0 {
				b.Fatal("not there")
			}
		}
	})
}
