package durable_test

import (
	"context"
	"fmt"
	"os"

	"dsend/durable"
	"dsend/durable/queue"
	"dsend/durable/wal"
)

// printer says what is durable.
type printer struct{ s *durable.Store }

func (p *printer) Replies([]queue.Reply)  {}
func (p *printer) Events([]durable.Event) {}
func (p *printer) Changed([]queue.Info)   {}

func (p *printer) Speak(all []durable.Spoken) {
	for _, d := range all {
		fmt.Printf("attempt %d of message %d: %s\n", d.Attempt, d.Seq, d.Message.Body)
		ack := &queue.Answer{QueueID: d.QueueID, Seq: d.Seq, Delivery: d.Delivery, Verb: queue.Ack}
		_ = p.s.Submit([]queue.Op{ack}, 0)
	}
}

// A store in a folder: publish, deliver, ack.
func ExampleOpen() {
	dir, err := os.MkdirTemp("", "dsend")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	log, err := wal.Open(dir, wal.Options{})
	if err != nil {
		panic(err)
	}
	p := &printer{}
	p.s, err = durable.Open(log, durable.Config{
		Queue:   queue.Config{AutoCreate: true, Defaults: queue.Defaults()},
		Speaker: p,
	})
	if err != nil {
		panic(err)
	}
	ctx := context.Background()
	r, err := p.s.Do(ctx, &queue.Publish{Queue: "orders", Subject: []byte("orders.new"), Body: []byte("a cup"), MaxAttempts: -1})
	if err != nil || r.Err != nil {
		panic(fmt.Sprint(err, r.Err))
	}
	fmt.Printf("message %d is on disk\n", r.Seq)
	if _, err := p.s.Do(ctx, &queue.Pull{Queue: "orders", Inbox: "_INBOX.1", Batch: 1}); err != nil {
		panic(err)
	}
	if err := p.s.Close(); err != nil {
		panic(err)
	}
	// Output:
	// message 1 is on disk
	// attempt 1 of message 1: a cup
}
