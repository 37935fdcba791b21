package system

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

// pull is JetStream's request for messages.
type pull struct {
	Batch     int           `json:"batch,omitempty"`
	Expires   time.Duration `json:"expires,omitempty"`
	NoWait    bool          `json:"no_wait,omitempty"`
	MaxBytes  int           `json:"max_bytes,omitempty"`
	Heartbeat time.Duration `json:"idle_heartbeat,omitempty"`
	NoHeaders bool          `json:"no_headers,omitempty"`
}

// pulled is all that a pull was answered with.
type pulled struct {
	msgs   []*delivery
	status string      // the final one, such as "404 No Messages"; empty if the batch was full
	header nats.Header // of the status
	beats  int         // heartbeats
	took   time.Duration
}

// pull asks for messages and waits for the end of the request.
func (c *client) pull(queue string, r pull) (p pulled, err error) {
	ctx, cancel := context.WithTimeout(c.ctx, r.Expires+patience)
	defer cancel()
	body, err := json.Marshal(r)
	if err != nil {
		return p, err
	}
	inbox := c.nc.NewInbox()
	sub, err := c.nc.SubscribeSync(inbox)
	if err != nil {
		return p, err
	}
	defer sub.Unsubscribe()
	if err := sub.SetPendingLimits(-1, -1); err != nil {
		return p, err
	}
	begin := time.Now()
	if err := c.nc.PublishRequest("dsend.pull."+queue, inbox, body); err != nil {
		return p, err
	}
	for p.status == "" && len(p.msgs) < max(r.Batch, 1) {
		m, err := sub.NextMsgWithContext(ctx)
		if err != nil {
			return p, err
		}
		if err := p.take(c, m); err != nil {
			return p, err
		}
	}
	p.took = time.Since(begin)
	return p, nil
}

// take reads one message of an inbox: a delivery, a heartbeat or the end.
func (p *pulled) take(c *client, m *nats.Msg) error {
	switch status := m.Header.Get("Status"); {
	case status == "":
		d, err := c.delivered(m)
		p.msgs = append(p.msgs, d)
		return err
	case status == "100":
		p.beats++
	default:
		p.status, p.header = strings.TrimSpace(status+" "+m.Header.Get("Description")), m.Header
	}
	return nil
}

// take pulls exactly n messages, however many requests that needs.
func (c *client) take(t testing.TB, queue string, n int) []*delivery {
	t.Helper()
	var msgs []*delivery
	for begin := time.Now(); len(msgs) < n; {
		if time.Since(begin) > patience {
			t.Fatalf("%d messages of %s came, want %d", len(msgs), queue, n)
		}
		p, err := c.pull(queue, pull{Batch: n - len(msgs), Expires: 5 * time.Second})
		if err != nil {
			t.Fatalf("pull from %s: %v", queue, err)
		}
		msgs = append(msgs, p.msgs...)
	}
	return msgs
}

// one pulls one message.
func (c *client) one(t testing.TB, queue string) *delivery {
	t.Helper()
	return c.take(t, queue, 1)[0]
}

// none checks that nothing of a queue is ready.
func (c *client) none(t testing.TB, queue string) {
	t.Helper()
	p, err := c.pull(queue, pull{Batch: 1, NoWait: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(p.msgs) > 0 || p.status != "404 No Messages" {
		t.Fatalf("pull from %s, where nothing should be: %v, status %q", queue, p.msgs, p.status)
	}
}

// delivery is a message as a worker got it.
type delivery struct {
	*nats.Msg
	c       *client
	at      time.Time // when it came
	queue   string
	attempt uint64
	seq     uint64
	number  uint64 // of the delivery
}

// delivered reads the facts of a delivery.
func (c *client) delivered(m *nats.Msg) (*delivery, error) {
	d := &delivery{Msg: m, c: c, at: time.Now()}
	parts := strings.Split(m.Reply, ".")
	if len(parts) != 12 || parts[0] != "$JS" || parts[1] != "ACK" || parts[2] != "dsend" {
		return d, fmt.Errorf("a delivery with the reply subject %q", m.Reply)
	}
	d.queue = parts[4]
	var errs [3]error
	d.attempt, errs[0] = strconv.ParseUint(parts[6], 10, 64)
	d.seq, errs[1] = strconv.ParseUint(parts[7], 10, 64)
	d.number, errs[2] = strconv.ParseUint(parts[8], 10, 64)
	if said := m.Header.Get("Dsend-Attempt"); said != "" && said != parts[6] {
		return d, fmt.Errorf("Dsend-Attempt is %s, the reply subject says %s", said, parts[6])
	}
	return d, errors.Join(errs[:]...)
}

func (d *delivery) String() string {
	return fmt.Sprintf("%s/%d attempt %d %.30q", d.queue, d.seq, d.attempt, d.Data)
}

// deadline is until when the worker has it.
func (d *delivery) deadline() time.Time {
	at, err := time.Parse(time.RFC3339Nano, d.Header.Get("Dsend-Deadline"))
	if err != nil {
		return time.Time{}
	}
	return at
}

// The answers of a worker.
const (
	ack        = "+ACK"
	nak        = "-NAK"
	inProgress = "+WPI"
	term       = "+TERM"
)

// nakFor asks for a retry after exactly d.
func nakFor(d time.Duration) string { return fmt.Sprintf(`-NAK {"delay":%d}`, d) }

// say answers and does not wait.
func (d *delivery) say(answer string) error { return d.c.nc.Publish(d.Reply, []byte(answer)) }

// ask answers, waits, and gives the result: ok, late, stale, gone or invalid.
func (d *delivery) ask(answer string) (string, error) {
	m, err := d.c.requestTo(d.Reply, []byte(answer))
	if err != nil {
		return "", err
	}
	result := m.Header.Get("Dsend-Result")
	if !slices.Contains([]string{"ok", "late", "stale", "gone", "invalid"}, result) || len(m.Data) > 0 {
		return "", fmt.Errorf("answer to an answer: %q %v", m.Data, m.Header)
	}
	return result, nil
}

// must answers and checks the result.
func (d *delivery) must(t testing.TB, answer, want string) {
	t.Helper()
	if !d.check(t, answer, want) {
		t.FailNow()
	}
}

// check is must for any goroutine: it does not end the test.
func (d *delivery) check(t testing.TB, answer, want string) bool {
	t.Helper()
	got, err := d.ask(answer)
	if err != nil || got != want {
		t.Errorf("%v: %s: the result is %q (%v), want %q", d, answer, got, err, want)
	}
	return err == nil && got == want
}

// mustAll answers many deliveries side by side and checks the results.
func mustAll(t testing.TB, msgs []*delivery, answer, want string) {
	t.Helper()
	results := make(chan error, len(msgs))
	for _, d := range msgs {
		go func() {
			got, err := d.ask(answer)
			if err == nil {
				err = equal(got, want)
			}
			results <- err
		}()
	}
	for range msgs {
		if err := <-results; err != nil {
			t.Fatalf("%s: %v", answer, err)
		}
	}
}

// bodies are the bodies of deliveries, in order.
func bodies(msgs []*delivery) (all []string) {
	for _, d := range msgs {
		all = append(all, string(d.Data))
	}
	return all
}
