package system

import (
	"fmt"
	"net"
	"net/url"
	"strings"
	"testing"
)

// A client that sends a header block no client should send is told so, or
// ignored; everybody else goes on.
func TestMalformedHeaderBlocks(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	c := s.connect(t)
	worker := make(chan *delivery, 16)
	c.work(t, "orders", "w", func(d *delivery) { worker <- d })
	c.put(t, plain("orders", "before"))
	handed := next(t, "a delivery", worker)

	raw := dialRaw(t, s.url())
	for _, block := range []string{
		"NATS/1.0\r\nA: b\r\n", "NATS/1.0", "ABCDE", "NATS/1.0\r\nA: b\nDsend-Attempt: 99\r\n\r\n", "NATS/1.0 404 No Messages\r\n\r\n",
	} {
		raw.publish("dsend.publish.orders", raw.inbox, block)
		if got := raw.next(); !strings.Contains(got, "malformed header block") {
			t.Errorf("%q is answered %q", block, got)
		}
		raw.publish(handed.Reply, "", block) // as the answer of a push worker
	}
	c.put(t, plain("orders", "after"))
	if got := next(t, "a delivery", worker); string(got.Data) != "after" || got.Header.Get("Dsend-Attempt") != "1" {
		t.Errorf("then %q came, attempt %s", got.Data, got.Header.Get("Dsend-Attempt"))
	}
}

// rawClient speaks the protocol by hand.
type rawClient struct {
	t     testing.TB
	conn  net.Conn
	inbox string
}

func dialRaw(t testing.TB, server string) *rawClient {
	u, err := url.Parse(server)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", u.Host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	r := &rawClient{t, conn, "raw.inbox"}
	r.next() // INFO
	r.write("CONNECT {\"verbose\":false,\"headers\":true}\r\nSUB raw.inbox 1\r\n")
	return r
}

func (r *rawClient) write(text string) {
	if _, err := r.conn.Write([]byte(text)); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rawClient) publish(subject, reply, block string) {
	r.write(fmt.Sprintf("HPUB %s %s %d %d\r\n%s\r\n", subject, reply, len(block), len(block), block))
}

// next is what the server says next.
func (r *rawClient) next() string {
	buf := make([]byte, 64<<10)
	n, err := r.conn.Read(buf)
	if err != nil {
		r.t.Fatal(err)
	}
	return string(buf[:n])
}
