package bridge

import (
	"testing"
	"time"

	"dsend/durable/queue"
)

func TestReadAnswer(t *testing.T) {
	service := header("Nats-Service-Error-Code: 503", "Nats-Service-Error: too busy")
	for _, c := range []struct {
		name   string
		pushed bool
		header []byte
		body   string
		want   queue.Answer
	}{
		{"empty", false, nil, "", queue.Answer{Verb: queue.Ack}},
		{"+ACK", false, nil, "+ACK", queue.Answer{Verb: queue.Ack}},
		{"+OK", false, nil, "+OK", queue.Answer{Verb: queue.Ack}},
		{"nak", false, nil, "-NAK", queue.Answer{Verb: queue.Nak}},
		{"nak of nats.go", false, nil, `-NAK {"delay": 1000000000}`, queue.Answer{Verb: queue.Nak, Delay: time.Second}},
		{"nak of nats.js", false, nil, `-NAK {"delay":500000000}`, queue.Answer{Verb: queue.Nak, Delay: 500 * time.Millisecond}},
		{"nak for a duration", false, nil, "-NAK 10s", queue.Answer{Verb: queue.Nak, Delay: 10 * time.Second}},
		{"nak with a text", false, nil, `-NAK {"error":"no stock"}`, queue.Answer{Verb: queue.Nak, Error: "no stock"}},
		{"given back", false, nil, `-NAK {"count":false}`, queue.Answer{Verb: queue.Nak, Uncounted: true}},
		{"counted", false, nil, `-NAK {"count":true}`, queue.Answer{Verb: queue.Nak}},
		{"nak with a bad delay", false, nil, "-NAK tomorrow", queue.Answer{Verb: queue.Invalid}},
		{"nak with bad JSON", false, nil, `-NAK {"delay":"1s"}`, queue.Answer{Verb: queue.Invalid}},
		{"nak with a delay above 64 bits", false, nil, `-NAK {"delay":99999999999999999999}`, queue.Answer{Verb: queue.Invalid}},
		{"in progress", false, nil, "+WPI", queue.Answer{Verb: queue.InProgress}},
		{"term", false, nil, "+TERM", queue.Answer{Verb: queue.Term}},
		{"term with a reason", false, nil, "+TERM no such customer", queue.Answer{Verb: queue.Term, Error: "no such customer"}},
		{"anything else of a pull", false, nil, "done", queue.Answer{Verb: queue.Invalid}},
		{"an error text of a pull", false, nil, "-ERR no", queue.Answer{Verb: queue.Invalid}},
		{"a service error of a pull", false, service, "", queue.Answer{Verb: queue.Ack}},
		{"anything else of a push", true, nil, "done", queue.Answer{Verb: queue.Ack}},
		{"a service's answer that looks like an ack's beginning", true, nil, "+ACKNOWLEDGED", queue.Answer{Verb: queue.Ack}},
		{"a service error of a push", true, service, "body", queue.Answer{Verb: queue.Nak, Error: "503 too busy"}},
		{"an error text of a push", true, nil, "-ERR no stock", queue.Answer{Verb: queue.Nak, Error: "no stock"}},
		{"a nak text of a push", true, nil, "-NAK no stock", queue.Answer{Verb: queue.Nak, Error: "no stock"}},
		{"a nak duration of a push", true, nil, "-NAK 3s", queue.Answer{Verb: queue.Nak, Delay: 3 * time.Second}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var a queue.Answer
			if _, more := readAnswer(&a, c.pushed, c.header, []byte(c.body)); more {
				t.Error("asks for more")
			}
			if a.Verb != c.want.Verb || a.Delay != c.want.Delay || a.Error != c.want.Error || a.Uncounted != c.want.Uncounted {
				t.Errorf("got %+v, want %+v", a, c.want)
			}
		})
	}
}

func TestReadNext(t *testing.T) {
	var a queue.Answer
	next, more := readAnswer(&a, false, nil, []byte(`+NXT {"batch":3}`))
	if !more || a.Verb != queue.Ack || string(next) != ` {"batch":3}` {
		t.Errorf("more %t, %+v, next %q", more, a, next)
	}
}
