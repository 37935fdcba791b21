package system

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

// client is a NATS connection. Its methods that return errors may be called from
// any goroutine; those that take a test fail it.
type client struct {
	nc  *nats.Conn
	ctx context.Context // ends what waits for an answer
}

// until is the same client, which waits for nothing any longer when ctx ends.
func (c *client) until(ctx context.Context) *client { return &client{c.nc, ctx} }

// request sends a request and waits for the answer.
func (c *client) request(m *nats.Msg) (*nats.Msg, error) {
	ctx, cancel := context.WithTimeout(c.ctx, patience)
	defer cancel()
	return c.nc.RequestMsgWithContext(ctx, m)
}

// requestTo is request without headers.
func (c *client) requestTo(subject string, body []byte) (*nats.Msg, error) {
	return c.request(&nats.Msg{Subject: subject, Data: body})
}

// clients numbers the clients of this test binary. Each has inboxes with a prefix
// of its own, so that Dsend takes it for a process of its own.
var clients atomic.Int64

// connect makes a client that comes back by itself when the server does. What it
// sends while the server is away fails at once.
func (s *server) connect(t testing.TB, more ...nats.Option) *client {
	t.Helper()
	return connectTo(t, s.url(), more...)
}

func connectTo(t testing.TB, url string, more ...nats.Option) *client {
	t.Helper()
	options := append([]nats.Option{
		nats.CustomInboxPrefix(fmt.Sprintf("_INBOX.client%d", clients.Add(1))),
		nats.MaxReconnects(-1), nats.ReconnectWait(10 * time.Millisecond), nats.ReconnectJitter(10*time.Millisecond, 0),
		nats.ReconnectBufSize(-1), nats.Timeout(patience), nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}),
	}, more...)
	nc, err := nats.Connect(url, options...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	c := &client{nc, context.Background()}
	c.introduce()
	return c
}

// introduce makes the inbox that stands for the process, as any client library
// does with its first request. Nobody answers.
func (c *client) introduce() { _, _ = c.requestTo("nobody.is.there", nil) }

// back waits until the client is connected again.
func (c *client) back(t testing.TB) {
	t.Helper()
	eventually(t, "client reconnects", func() error { return equal(c.nc.Status(), nats.CONNECTED) })
	if err := c.nc.FlushTimeout(patience); err != nil {
		t.Fatal(err)
	}
}

// flush waits until the server has what was sent.
func (c *client) flush(t testing.TB) {
	t.Helper()
	if err := c.nc.FlushTimeout(patience); err != nil {
		t.Fatal(err)
	}
}

// out is a message as a producer sends it.
type out struct {
	queue   string
	subject string // empty is dsend.publish.<queue>
	header  nats.Header
	body    []byte
}

func (o out) msg() *nats.Msg {
	m := nats.NewMsg(o.subject)
	if o.subject == "" {
		m.Subject = "dsend.publish." + o.queue
	}
	for key, values := range o.header {
		m.Header[key] = values
	}
	m.Data = o.body
	return m
}

// plain is a message without headers.
func plain(queue, body string) out { return out{queue: queue, body: []byte(body)} }

// with adds a header.
func (o out) with(key, value string) out {
	header := nats.Header{}
	for k, v := range o.header {
		header[k] = v
	}
	header[key] = append(header[key], value)
	o.header = header
	return o
}

// pubAck is the answer to a publish.
type pubAck struct {
	Error     *refusal `json:"error"`
	Stream    string   `json:"stream"`
	Seq       uint64   `json:"seq"`
	Duplicate bool     `json:"duplicate"`
	Domain    string   `json:"domain"`
}

// refusal is the error that a publish was answered with.
type refusal struct {
	Code        int    `json:"code"`
	ErrCode     int    `json:"err_code"`
	Description string `json:"description"`
}

func (r *refusal) Error() string { return fmt.Sprintf("refused (%d): %s", r.Code, r.Description) }

func readPubAck(m *nats.Msg) (ack pubAck, err error) {
	if err := json.Unmarshal(m.Data, &ack); err != nil {
		return ack, fmt.Errorf("answer to a publish: %w: %q %v", err, m.Data, m.Header)
	}
	switch {
	case ack.Error != nil:
		return ack, ack.Error
	case ack.Seq == 0 || ack.Domain != "dsend":
		return ack, fmt.Errorf("answer to a publish: %s", m.Data)
	}
	return ack, nil
}

// publish sends a message and waits for the answer. A *refusal says that the
// message was not taken; after any other error that is not known.
func (c *client) publish(o out) (pubAck, error) {
	m, err := c.request(o.msg())
	if err != nil {
		return pubAck{}, err
	}
	return readPubAck(m)
}

// put publishes a message that must be taken, and gives its sequence.
func (c *client) put(t testing.TB, o out) uint64 {
	t.Helper()
	ack, err := c.publish(o)
	if err != nil {
		t.Fatalf("publish to %s: %v", o.queue, err)
	}
	if ack.Duplicate {
		t.Fatalf("publish to %s: a duplicate of %d", o.queue, ack.Seq)
	}
	return ack.Seq
}

// published is the answer to one of many publishes.
type published struct {
	ack  pubAck
	err  error
	took time.Duration
}

// publishAll sends messages all at once and waits for the answers. Those that did
// not come have an error.
func (c *client) publishAll(outs []out) ([]published, error) {
	answers := make([]published, len(outs))
	for i := range answers {
		answers[i].err = nats.ErrTimeout
	}
	inbox := c.nc.NewInbox()
	sub, err := c.nc.SubscribeSync(inbox + ".*")
	if err != nil {
		return answers, err
	}
	defer sub.Unsubscribe()
	if err := sub.SetPendingLimits(-1, -1); err != nil {
		return answers, err
	}
	begin := time.Now()
	for i, o := range outs {
		m := o.msg()
		m.Reply = inbox + "." + strconv.Itoa(i)
		if err := c.nc.PublishMsg(m); err != nil {
			return answers, err
		}
	}
	ctx, cancel := context.WithTimeout(c.ctx, patience)
	defer cancel()
	for range outs {
		m, err := sub.NextMsgWithContext(ctx)
		if err != nil {
			return answers, err
		}
		i, err := strconv.Atoi(m.Subject[len(inbox)+1:])
		if err != nil {
			return answers, err
		}
		answers[i].ack, answers[i].err = readPubAck(m)
		answers[i].took = time.Since(begin)
	}
	return answers, nil
}

// putAll publishes messages at once that must all be taken, and gives their
// sequences.
func (c *client) putAll(t testing.TB, outs []out) []uint64 {
	t.Helper()
	answers, err := c.publishAll(outs)
	if err != nil {
		t.Fatal(err)
	}
	seqs := make([]uint64, len(outs))
	for i, a := range answers {
		if a.err != nil {
			t.Fatalf("publish %d of %d to %s: %v", i+1, len(outs), outs[i].queue, a.err)
		}
		seqs[i] = a.ack.Seq
	}
	return seqs
}

// putMany publishes n messages with the bodies prefix1 to prefixN.
func (c *client) putMany(t testing.TB, queue, prefix string, n int) []uint64 {
	t.Helper()
	outs := make([]out, n)
	for i := range outs {
		outs[i] = plain(queue, prefix+strconv.Itoa(i+1))
	}
	return c.putAll(t, outs)
}
