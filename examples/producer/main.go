// A producer: it publishes orders and goes on only when each is on disk.
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
	nc, err := nats.Connect(os.Getenv("NATS_URL"))
	if err != nil {
		log.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc) // a publish is answered as JetStream would
	if err != nil {
		log.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	for i := 1; i <= 3; i++ {
		body := fmt.Sprintf(`{"order":%d}`, i)
		// The id makes it safe to publish again after an error: it is stored once.
		ack, err := js.Publish(ctx, "dsend.publish.orders", []byte(body), jetstream.WithMsgID(fmt.Sprintf("order-%d", i)))
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s is on disk as %s %d, again: %t\n", body, ack.Stream, ack.Sequence, ack.Duplicate)
	}
}
