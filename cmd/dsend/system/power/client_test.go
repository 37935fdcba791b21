//go:build linux

package power

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go"
)

// client is a connection to a server.
type client struct {
	nc  *nats.Conn
	ctx context.Context // ends with the server
}

// errSilent: the server did not answer, although it is there.
var errSilent = errors.New("no answer")

// request sends a request and waits for the answer.
func (c *client) request(m *nats.Msg) (*nats.Msg, error) {
	ctx, cancel := context.WithTimeout(c.ctx, silence)
	defer cancel()
	answer, err := c.nc.RequestMsgWithContext(ctx, m)
	if errors.Is(err, context.DeadlineExceeded) {
		return nil, fmt.Errorf("%w to a request on %s", errSilent, m.Subject)
	}
	return answer, err
}

// args is a JSON object.
type args = map[string]any

// refused is an answer that says no.
type refused struct{ text string }

func (r *refused) Error() string { return r.text }

// api asks an endpoint of the micro service. answer may be nil.
func (c *client) api(endpoint string, request, answer any) error {
	body, err := json.Marshal(request)
	if err != nil {
		return err
	}
	m, err := c.request(&nats.Msg{Subject: "dsend.api." + endpoint, Data: body})
	if err != nil {
		return err
	}
	if code := m.Header.Get("Nats-Service-Error-Code"); code != "" {
		return &refused{endpoint + ": " + m.Header.Get("Nats-Service-Error")}
	}
	if answer == nil {
		return nil
	}
	return json.Unmarshal(m.Data, answer)
}

// pubAck is the answer to a publish.
type pubAck struct {
	Seq       uint64 `json:"seq"`
	Duplicate bool   `json:"duplicate"`
	Error     *struct {
		Description string `json:"description"`
	} `json:"error"`
}

// publish sends a message and waits for the answer.
func (c *client) publish(m *nats.Msg) (ack pubAck, err error) {
	answer, err := c.request(m)
	if err != nil {
		return ack, err
	}
	if err := json.Unmarshal(answer.Data, &ack); err != nil {
		return ack, fmt.Errorf("%q: %w", answer.Data, err)
	}
	if ack.Error != nil {
		return ack, &refused{ack.Error.Description}
	}
	return ack, nil
}

// queues are the names of all queues.
func (c *client) queues() (names []string, err error) {
	for more := true; more; {
		var page struct {
			Queues []struct{ Name string }
			More   bool
		}
		after := ""
		if len(names) > 0 {
			after = names[len(names)-1]
		}
		if err := c.api("queue.ls", args{"after": after}, &page); err != nil {
			return nil, err
		}
		for _, q := range page.Queues {
			names = append(names, q.Name)
		}
		more = page.More
	}
	return names, nil
}

// peek is all messages of a queue, with the beginning of their bodies at least.
func (c *client) peek(queue string) (all []stored, err error) {
	for from, more := uint64(0), true; more; {
		var page struct {
			Messages []stored
			Next     uint64
			More     bool
		}
		if err := c.api("queue.peek", args{"queue": queue, "from": from, "max_data": 30_000}, &page); err != nil {
			return nil, err
		}
		all, from, more = append(all, page.Messages...), page.Next, page.More
	}
	return all, nil
}

// pull asks for messages that are ready.
func (c *client) pull(queue string, batch int) (all []*nats.Msg, err error) {
	ctx, cancel := context.WithTimeout(c.ctx, silence)
	defer cancel()
	inbox := c.nc.NewInbox()
	sub, err := c.nc.SubscribeSync(inbox)
	if err != nil {
		return nil, err
	}
	defer func() { _ = sub.Unsubscribe() }()
	body := fmt.Sprintf(`{"batch":%d,"no_wait":true}`, batch)
	if err := c.nc.PublishRequest("dsend.pull."+queue, inbox, []byte(body)); err != nil {
		return nil, err
	}
	for len(all) < batch {
		m, err := sub.NextMsgWithContext(ctx)
		if errors.Is(err, context.DeadlineExceeded) {
			return all, fmt.Errorf("%w to a pull from %s", errSilent, queue)
		}
		if err != nil {
			return all, err
		}
		if m.Header.Get("Status") != "" {
			return all, nil
		}
		all = append(all, m)
	}
	return all, nil
}

// settle answers a delivery and gives the result.
func (c *client) settle(d *nats.Msg, answer string) (string, error) {
	m, err := c.request(&nats.Msg{Subject: d.Reply, Data: []byte(answer)})
	if err != nil {
		return "", err
	}
	return m.Header.Get("Dsend-Result"), nil
}

// attemptOf and seqOf read the reply subject of a delivery.
func attemptOf(d *nats.Msg) (attempt uint32, seq uint64, err error) {
	parts := strings.Split(d.Reply, ".")
	if len(parts) != 12 {
		return 0, 0, fmt.Errorf("a delivery with the reply subject %q", d.Reply)
	}
	_, err = fmt.Sscan(parts[6]+" "+parts[7], &attempt, &seq)
	return attempt, seq, err
}
