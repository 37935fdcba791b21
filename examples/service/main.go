// An ordinary NATS micro service, as it may exist already. That its endpoint is
// the push subject of a queue (dsend.yaml beside this file) makes it a durable
// worker: its reply is the ack, its error the nak. Not a line of it knows Dsend.
package main

import (
	"fmt"
	"log"
	"os"
	"os/signal"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
)

func main() {
	nc, err := nats.Connect(os.Getenv("NATS_URL"))
	if err != nil {
		log.Fatal(err)
	}
	defer nc.Close()
	service, err := micro.AddService(nc, micro.Config{Name: "mailer", Version: "1.0.0"})
	if err != nil {
		log.Fatal(err)
	}
	tries := map[string]int{}
	err = service.AddEndpoint("send", micro.HandlerFunc(func(r micro.Request) {
		to := string(r.Data())
		if tries[to]++; tries[to] == 1 {
			fmt.Println("cannot reach", to)
			_ = r.Error("503", "mail server is busy", nil) // will be tried again, later
			return
		}
		fmt.Println("sent to", to)
		_ = r.Respond([]byte("ok"))
	}), micro.WithEndpointSubject("mail.send"))
	if err != nil {
		log.Fatal(err)
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, os.Interrupt)
	<-stop
}
