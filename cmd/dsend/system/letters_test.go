package system

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

// deadLetter is a dead letter as the API and the command line show it.
type deadLetter struct {
	DLQ   string `json:"dlq"`
	Seq   uint64 `json:"seq"`
	State string `json:"state"`
	letter
	History []attempt `json:"history"`
	Headers []struct{ Name, Value string }
	Data    []byte `json:"data"`
	More    bool   `json:"more"`
}

// attempt is one of the attempts that a message has behind it.
type attempt struct {
	At      time.Time `json:"at"`
	Ended   time.Time `json:"ended"`
	Worker  string    `json:"worker"`
	Outcome string    `json:"outcome"`
	Error   string    `json:"error"`
}

func (d deadLetter) header() nats.Header { return stored{Headers: d.Headers}.header() }

// outcomes is how the attempts ended, in order.
func (d deadLetter) outcomes() (words []string) {
	for _, a := range d.History {
		words = append(words, a.Outcome)
	}
	return words
}

// letterPage is one page of a listing.
type letterPage struct {
	Letters []deadLetter `json:"letters"`
	Through uint64       `json:"through"`
	Began   time.Time    `json:"began"`
	Next    uint64       `json:"next"`
	More    bool         `json:"more"`
}

// letters lists the dead letters of a queue, with their bodies. between, if not
// nil, is called between two pages.
func (c *client) letters(queue string, between func()) (all []deadLetter, err error) {
	request := args{"queue": queue, "max_data": -1}
	for {
		var page letterPage
		if err := c.api("dlq.ls", request, &page); err != nil {
			return nil, err
		}
		all = append(all, page.Letters...)
		if !page.More {
			return all, nil
		}
		request["from"], request["through"], request["began"] = page.Next, page.Through, page.Began
		if between != nil {
			between()
		}
	}
}

// dead is the only dead letter of a queue.
func (c *client) dead(t testing.TB, queue string) deadLetter {
	t.Helper()
	all, err := c.letters(queue, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(all) != 1 {
		t.Fatalf("%d dead letters of %s, want 1", len(all), queue)
	}
	return all[0]
}

// replayed brings one dead letter back and gives its new number.
func (c *client) replayed(t testing.TB, queue string, seq uint64) uint64 {
	t.Helper()
	var answer struct {
		Replayed []struct {
			NewSeq uint64 `json:"new_seq"`
		}
	}
	request := args{"queue": queue, "filter": args{"first_seq": seq, "last_seq": seq}}
	if err := c.api("dlq.replay", request, &answer); err != nil {
		t.Fatal(err)
	}
	if len(answer.Replayed) != 1 {
		t.Fatalf("%d letters were replayed, want 1", len(answer.Replayed))
	}
	return answer.Replayed[0].NewSeq
}

// json runs a command of dsend with --json, which must succeed, and reads what it
// printed.
func (s *server) json(t testing.TB, document any, arguments ...string) {
	t.Helper()
	r := s.dsend(t, append(arguments, "--json")...)
	if r.code != 0 {
		t.Fatalf("dsend %v: exit code %d: %s", arguments, r.code, r.stderr)
	}
	if err := json.Unmarshal([]byte(r.stdout), document); err != nil {
		t.Fatalf("dsend %v: %v: %s", arguments, err, r.stdout)
	}
}

// events listens to the events of a queue.
func (c *client) events(t testing.TB, queue string) *listener {
	t.Helper()
	sub, err := c.nc.SubscribeSync("dsend.event." + queue + ".>")
	if err != nil {
		t.Fatal(err)
	}
	c.flush(t)
	return &listener{t, sub}
}

// listener hears the events of a queue in order.
type listener struct {
	t   testing.TB
	sub *nats.Subscription
}

// event is something that happened in a queue.
type event struct {
	Type    string        `json:"type"`
	Queue   string        `json:"queue"`
	Seq     uint64        `json:"seq"`
	Attempt uint32        `json:"attempt"`
	Outcome string        `json:"outcome"`
	Delay   time.Duration `json:"delay_ns"`
	Reason  string        `json:"reason"`
	Error   string        `json:"error"`
	Count   int           `json:"count"`
	DLQ     string        `json:"dlq"`
	DLQSeq  uint64        `json:"dlq_seq"`
}

// next waits for the next event of a kind.
func (l *listener) next(kind string) event {
	l.t.Helper()
	for {
		m, err := l.sub.NextMsg(patience)
		if err != nil {
			l.t.Fatalf("event %s: %v", kind, err)
		}
		var e event
		if err := json.Unmarshal(m.Data, &e); err != nil {
			l.t.Fatalf("event %q: %v", m.Data, err)
		}
		if want := "dsend.event." + e.Queue + "." + kind; m.Subject == want {
			return e
		}
	}
}

// settings is a configuration of one queue: its settings are lines of YAML.
func settings(queue string, lines ...string) string {
	text := fmt.Sprintf("queues:\n- name: %s\n", queue)
	for _, line := range lines {
		text += "  " + line + "\n"
	}
	return text
}
