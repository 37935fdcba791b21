// Hold takes one message by nats.go and holds it: hold new|old. It says held, and
// acks when it is told to.
package main

import (
	"bufio"
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const patience = time.Minute

func main() {
	nc, err := nats.Connect(os.Getenv("NATS_URL"), nats.ReconnectWait(50*time.Millisecond), nats.MaxReconnects(-1))
	if err != nil {
		log.Fatal(err)
	}
	take := takeNew
	if os.Args[1] == "old" {
		take = takeOld
	}
	ack, err := take(nc)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("held")
	bufio.NewScanner(os.Stdin).Scan()
	if err := ack(); err != nil {
		log.Fatal(err)
	}
	fmt.Println("acked")
}

func takeNew(nc *nats.Conn) (ack func() error, err error) {
	js, err := jetstream.New(nc)
	if err != nil {
		return nil, err
	}
	c, err := js.Consumer(context.Background(), "orders", "w")
	if err != nil {
		return nil, err
	}
	m, err := c.Next(jetstream.FetchMaxWait(patience))
	if err != nil {
		return nil, err
	}
	return func() error { return m.DoubleAck(context.Background()) }, nil
}

func takeOld(nc *nats.Conn) (ack func() error, err error) {
	js, err := nc.JetStream()
	if err != nil {
		return nil, err
	}
	sub, err := js.PullSubscribe("", "", nats.Bind("orders", "w"))
	if err != nil {
		return nil, err
	}
	msgs, err := sub.Fetch(1, nats.MaxWait(patience))
	if err != nil {
		return nil, err
	}
	return func() error { return msgs[0].AckSync() }, nil
}
