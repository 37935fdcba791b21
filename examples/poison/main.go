// A poison message's way: it fails every attempt, dies, is looked at in the
// dead-letter queue, replayed when the worker is mended, and done.
package main

import (
	"encoding/json"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/nats-io/nats.go"
)

const patience = 10 * time.Second

func main() {
	nc, err := nats.Connect(os.Getenv("NATS_URL"))
	if err != nil {
		log.Fatal(err)
	}
	defer nc.Close()

	// Two attempts for this message, whatever its queue says.
	poison := nats.NewMsg("dsend.publish.parcels")
	poison.Header.Set("Dsend-Max-Attempts", "2")
	poison.Data = []byte("weight: -1")
	fmt.Printf("published: %s\n", request(nc, poison).Data)

	for range 2 {
		m := pull(nc)
		fmt.Printf("attempt %s fails\n", m.Header.Get("Dsend-Attempt"))
		answer(nc, m, `-NAK {"delay":50000000,"error":"weight must be positive"}`)
	}

	// Dead: the whole message is in parcels-dlq, with what happened to it.
	show := nats.NewMsg("dsend.api.dlq.ls")
	show.Data = []byte(`{"queue":"parcels"}`)
	var letters struct {
		Letters []struct {
			Seq    uint64 `json:"seq"`
			Reason string `json:"reason"`
			Error  string `json:"error"`
		} `json:"letters"`
	}
	if err := json.Unmarshal(request(nc, show).Data, &letters); err != nil {
		log.Fatal(err)
	}
	letter := letters.Letters[0]
	fmt.Printf("dead: %s, %q\n", letter.Reason, letter.Error)

	replay := nats.NewMsg("dsend.api.dlq.replay")
	replay.Data = fmt.Appendf(nil, `{"queue":"parcels","filter":{"first_seq":%d,"last_seq":%d}}`, letter.Seq, letter.Seq)
	request(nc, replay)

	m := pull(nc)
	fmt.Printf("replayed: %s, attempt %s\n", m.Data, m.Header.Get("Dsend-Attempt"))
	answer(nc, m, "+ACK")
	fmt.Println("done")
}

func request(nc *nats.Conn, m *nats.Msg) *nats.Msg {
	r, err := nc.RequestMsg(m, patience)
	if err != nil {
		log.Fatalf("%s: %v", m.Subject, err)
	}
	if code := r.Header.Get("Nats-Service-Error-Code"); code != "" {
		log.Fatalf("%s: %s %s", m.Subject, code, r.Header.Get("Nats-Service-Error"))
	}
	return r
}

func pull(nc *nats.Conn) *nats.Msg {
	m, err := nc.Request("dsend.pull.parcels", []byte(`{"batch":1,"expires":5000000000}`), patience)
	if err != nil {
		log.Fatal(err)
	}
	return m
}

func answer(nc *nats.Conn, m *nats.Msg, verb string) {
	if _, err := nc.Request(m.Reply, []byte(verb), patience); err != nil {
		log.Fatal(err)
	}
}
