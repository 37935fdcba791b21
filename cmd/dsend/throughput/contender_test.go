package throughput

import (
	"context"
	"fmt"
	"log"
	"os"
	"os/signal"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// roleVariable tells a copy of this test binary what to be.
const roleVariable = "THROUGHPUT_ROLE"

// serve is a NATS server with an echo or a stream behind the subject.
func serve(role string) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	opts := &server.Options{Host: "127.0.0.1", Port: server.RANDOM_PORT, NoSigs: true, NoLog: true}
	if role != "echo" {
		opts.JetStream, opts.StoreDir = true, os.Getenv("DIR")
		opts.SyncAlways = role == "jetstream-always"
	}
	s, err := server.NewServer(opts)
	if err != nil {
		log.Fatal(err)
	}
	s.Start()
	if !s.ReadyForConnections(10 * time.Second) {
		log.Fatal("server not ready")
	}
	nc, err := nats.Connect("", nats.InProcessServer(s))
	if err != nil {
		log.Fatal(err)
	}
	if err := answer(ctx, role, nc); err != nil {
		log.Fatal(err)
	}
	fmt.Println(s.ClientURL())
	<-ctx.Done()
	nc.Close()
	s.Shutdown()
}

func answer(ctx context.Context, role string, nc *nats.Conn) error {
	if role == "echo" {
		reply := []byte(`{"stream":"bench","seq":1,"domain":"dsend"}`)
		_, err := nc.Subscribe(subject, func(m *nats.Msg) { _ = m.Respond(reply) })
		if err != nil {
			return err
		}
		return nc.Flush()
	}
	js, err := jetstream.New(nc)
	if err != nil {
		return err
	}
	_, err = js.CreateStream(ctx, jetstream.StreamConfig{
		Name: "bench", Subjects: []string{subject}, Storage: jetstream.FileStorage, Retention: jetstream.WorkQueuePolicy,
	})
	return err
}
