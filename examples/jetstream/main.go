// An ordinary JetStream program, as it would be written for NATS's own JetStream:
// a stream, a consumer, a worker. Dsend serves it unchanged.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

func main() {
	ctx := context.Background()
	nc, err := nats.Connect(os.Getenv("NATS_URL"))
	if err != nil {
		log.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc) // NewWithDomain(nc, "dsend") where the server has a JetStream of its own
	if err != nil {
		log.Fatal(err)
	}
	stream, err := js.CreateOrUpdateStream(ctx, jetstream.StreamConfig{
		Name: "mails", Subjects: []string{"mails.>"}, Retention: jetstream.WorkQueuePolicy,
	})
	if err != nil {
		log.Fatal(err)
	}
	worker, err := stream.CreateOrUpdateConsumer(ctx, jetstream.ConsumerConfig{
		Durable: "senders", AckPolicy: jetstream.AckExplicitPolicy, BackOff: []time.Duration{100 * time.Millisecond}, MaxDeliver: 3,
	})
	if err != nil {
		log.Fatal(err)
	}
	ack, err := js.Publish(ctx, "mails.welcome", []byte("to ann@example.org"))
	if err != nil {
		log.Fatal(err) // not stored, or not known: publish again with the same Nats-Msg-Id
	}
	fmt.Printf("on disk as %s %d\n", ack.Stream, ack.Sequence)
	for {
		m, err := worker.Next(jetstream.FetchMaxWait(5 * time.Second))
		if err != nil {
			log.Fatal(err)
		}
		meta, err := m.Metadata()
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s %s, attempt %d\n", m.Subject(), m.Data(), meta.NumDelivered)
		if meta.NumDelivered == 1 {
			_ = m.Nak() // the mail server was away: again in 100 ms
			continue
		}
		if err := m.DoubleAck(ctx); err != nil {
			log.Fatal(err)
		}
		fmt.Println("done, and that is on disk")
		return
	}
}
