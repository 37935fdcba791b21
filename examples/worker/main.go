// A pull worker: it asks for messages, works, and says how it went. It ends
// when the queue has been empty for a second.
package main

import (
	"fmt"
	"log"
	"os"
	"time"

	"github.com/nats-io/nats.go"
)

func main() {
	nc, err := nats.Connect(os.Getenv("NATS_URL"))
	if err != nil {
		log.Fatal(err)
	}
	defer nc.Close()
	for {
		// One message, and up to a second of patience (in ns, as JetStream has it).
		m, err := nc.Request("dsend.pull.orders", []byte(`{"batch":1,"expires":1000000000}`), 5*time.Second)
		if err != nil {
			log.Fatal(err)
		}
		if status := m.Header.Get("Status"); status != "" { // 404, 408: nothing came
			fmt.Println("nothing more:", status, m.Header.Get("Description"))
			return
		}
		fmt.Printf("%s, attempt %s\n", m.Data, m.Header.Get("Dsend-Attempt"))
		// As a request, the answer is confirmed when it is on disk. m.Nak() would
		// ask for another attempt, m.Term() for none.
		done, err := nc.Request(m.Reply, []byte("+ACK"), 5*time.Second)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("done:", done.Header.Get("Dsend-Result"))
	}
}
