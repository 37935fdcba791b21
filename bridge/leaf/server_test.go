package leaf

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"log/slog"
	"math/big"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
)

// What a client publishes arrives, byte for byte.
func TestReceive(t *testing.T) {
	s := runServer(t, nil)
	c, r := start(t, leafAddr(t, s), nil, "orders.>", "other")
	nc := client(t, s)
	if c.MaxPayload() != 1<<20 || c.Server().Account != "$G" || c.Server().Name == "" {
		t.Errorf("%d, %+v", c.MaxPayload(), c.Server())
	}
	big := bytes.Repeat([]byte("0123456789abcdef"), 1<<16)
	hdr := nats.Header{"A": {"1", "2"}}
	ok(t, nc.Publish("orders.plain", []byte("x")))
	ok(t, nc.Publish("orders.empty", nil))
	ok(t, nc.PublishRequest("orders.reply", "_INBOX.x", []byte("\r\nPING\r\n")))
	ok(t, nc.PublishMsg(&nats.Msg{Subject: "orders.header", Reply: "_INBOX.y", Header: hdr, Data: []byte("z")}))
	ok(t, nc.PublishMsg(&nats.Msg{Subject: "orders.onlyheader", Header: hdr}))
	ok(t, nc.Publish("orders.big", big))
	ok(t, nc.Publish("nobody", []byte("x")))
	ok(t, nc.Publish("other", []byte("last")))
	block := "NATS/1.0\r\nA: 1\r\nA: 2\r\n\r\n"
	want := []got{
		{"orders.plain", "", "", "x"}, {"orders.empty", "", "", ""}, {"orders.reply", "_INBOX.x", "", "\r\nPING\r\n"},
		{"orders.header", "_INBOX.y", block, "z"}, {"orders.onlyheader", "", block, ""}, {"orders.big", "", "", string(big)}, {"other", "", "", "last"},
	}
	r.wait(t, "the last message", func() bool { return len(r.msgs) >= len(want) })
	if !slices.Equal(r.msgs, want) {
		t.Errorf("%.300q", fmt.Sprint(r.msgs))
	}
}

const (
	ackReply = "$JS.ACK.dsend.Abcd1234.orders.workers.2.77.80.1700000000000000000.5.t0ken" // 12 tokens
	original = "orders.new@shop"                                                           // an @ of its own must not matter
)

// checkDelivery: the client sees the original subject and JetStream's reply, can read it, and its synchronous ack is answered by the leaf.
func checkDelivery(t *testing.T, m *nats.Msg, err error) {
	t.Helper()
	ok(t, err)
	if m.Subject != original || m.Reply != ackReply || string(m.Data) != "work" || m.Header.Get("K") != "v" {
		t.Errorf("%+v", m)
	}
	md, err := m.Metadata()
	ok(t, err)
	if md.Domain != "dsend" || md.Stream != "orders" || md.Consumer != "workers" || md.NumDelivered != 2 || md.Sequence.Stream != 77 || md.NumPending != 5 {
		t.Errorf("%+v", md)
	}
	ok(t, m.AckSync(nats.AckWait(patience)))
}

// answering starts a leaf that answers every ack with an empty message.
func answering(t *testing.T, addr string) (*Conn, *recorder) {
	var c *Conn
	r := newRecorder()
	r.answer(func(batch []Msg) {
		b := c.NewBatch()
		for _, m := range batch {
			if len(m.Reply) > 0 && string(m.Payload) == "+ACK" {
				ok(t, b.Publish(m.Reply, nil, nil, nil))
			}
		}
		ok(t, c.Send(b))
	})
	c, err := New(Options{Addr: addr, Handler: r, Logger: slog.New(slog.DiscardHandler)})
	ok(t, err)
	ok(t, c.Subscribe("$JS.ACK.dsend.>"))
	ok(t, c.Start(t.Context()))
	t.Cleanup(func() { c.Close() })
	return c, r
}

var oneHeader = []byte("NATS/1.0\r\nK: v\r\n\r\n")

// The @ of the reply: server/client.go:4406 (jsAckDeliverIdx) finds it, 5519-5526 splits it, for plain and queue subscriptions.
func TestDeliverToInbox(t *testing.T) {
	s := runServer(t, nil)
	c, r := answering(t, leafAddr(t, s))
	nc := client(t, s)
	inbox := nats.NewInbox()
	sub, err := nc.SubscribeSync(inbox)
	ok(t, err)
	r.waitEvent(t, Interest{inbox, "", 1})
	send(t, c, func(b *Batch) error {
		return b.Publish([]byte(inbox), []byte(ackReply+"@"+original), oneHeader, []byte("work"))
	})
	m, err := sub.NextMsg(patience)
	checkDelivery(t, m, err)
	r.wait(t, "the ack", func() bool { return len(r.msgs) == 1 && r.msgs[0].subject == ackReply && r.msgs[0].payload == "+ACK" })
}

func TestDeliverToMux(t *testing.T) {
	s := runServer(t, nil)
	c, r := start(t, leafAddr(t, s), nil, "ask")
	r.answer(func(batch []Msg) {
		send(t, c, func(b *Batch) error {
			return b.Publish(batch[0].Reply, []byte(ackReply+"@"+original), nil, []byte("answer"))
		})
	})
	nc := client(t, s)
	m, err := nc.Request("ask", nil, patience)
	ok(t, err)
	if m.Subject != original || m.Reply != ackReply || string(m.Data) != "answer" {
		t.Errorf("%+v", m)
	}
}

// One message, one group, one member of it; whoever listens without a group sees it, too; other groups do not.
func TestDeliverToOneGroup(t *testing.T) {
	s := runServer(t, nil)
	c, r := answering(t, leafAddr(t, s))
	closed := make(chan struct{})
	nc := client(t, s, nats.ClosedHandler(func(*nats.Conn) { close(closed) }))
	work := make(chan *nats.Msg, 1000)
	var others, watched atomic.Int32
	for range 3 {
		_, err := nc.ChanQueueSubscribe("work.orders", "workers", work)
		ok(t, err)
	}
	_, err := nc.QueueSubscribe("work.*", "others", func(*nats.Msg) { others.Add(1) })
	ok(t, err)
	_, err = nc.Subscribe("work.>", func(*nats.Msg) { watched.Add(1) })
	ok(t, err)
	r.waitEvent(t, Interest{"work.orders", "workers", 3})
	r.waitEvent(t, Interest{"work.*", "others", 1})
	const n = 100
	b := c.NewBatch()
	for range n {
		ok(t, b.PublishTo("workers", []byte("work.orders"), []byte(ackReply+"@"+original), oneHeader, []byte("work")))
	}
	ok(t, b.PublishTo("nobody", []byte("work.orders"), nil, nil, []byte("for nobody")))
	ok(t, b.PublishTo("workers", []byte("work.orders"), nil, nil, []byte("no reply")))
	ok(t, c.Send(b))
	subs := map[*nats.Subscription]int{}
	for range n {
		m := next(t, work)
		subs[m.Sub]++
		checkDelivery(t, m, nil)
	}
	if m := next(t, work); string(m.Data) != "no reply" || m.Reply != "" || m.Subject != "work.orders" {
		t.Errorf("%+v", m)
	}
	ok(t, c.Flush(t.Context()))
	ok(t, nc.Flush())
	if len(work) != 0 || others.Load() != 0 || len(subs) != 3 {
		t.Errorf("%d more for the workers, %d for the others, %d workers", len(work), others.Load(), len(subs))
	}
	ok(t, nc.Drain())
	<-closed
	if watched.Load() != n+2 {
		t.Errorf("the plain subscriber saw %d", watched.Load())
	}
}

func next(t *testing.T, ch chan *nats.Msg) *nats.Msg {
	t.Helper()
	select {
	case m := <-ch:
		return m
	case <-time.After(patience):
		t.Fatal("no message")
		return nil
	}
}

// Publish, in contrast, reaches no queue group at all.
func TestPublishIsNotForGroups(t *testing.T) {
	s := runServer(t, nil)
	c, r := start(t, leafAddr(t, s), nil)
	nc := client(t, s)
	plain, err := nc.SubscribeSync("x")
	ok(t, err)
	group, err := nc.QueueSubscribeSync("x", "g")
	ok(t, err)
	r.waitEvent(t, Interest{"x", "g", 1})
	send(t, c, func(b *Batch) error { return b.Publish([]byte("x"), nil, nil, []byte("1")) })
	send(t, c, func(b *Batch) error { return b.PublishTo("g", []byte("x"), nil, nil, []byte("2")) })
	m, err := group.NextMsg(patience)
	if err != nil || string(m.Data) != "2" {
		t.Errorf("%v, %v", m, err)
	}
	for _, want := range []string{"1", "2"} {
		if m, err := plain.NextMsg(patience); err != nil || string(m.Data) != want {
			t.Errorf("%v, %v", m, err)
		}
	}
}

func TestInterest(t *testing.T) {
	s := runServer(t, nil)
	nc := client(t, s)
	before, err := nc.Subscribe("early.*", func(*nats.Msg) {})
	ok(t, err)
	ok(t, nc.Flush())
	_, r := start(t, leafAddr(t, s), nil, "mine")
	r.mu.Lock()
	if i := slices.Index(r.story, "connected"); i < 0 || !slices.Contains(r.story[:i], "early.*  1") {
		t.Errorf("not known when connected: %q", r.story)
	}
	for _, e := range r.events {
		if strings.HasPrefix(e.Subject, "$LDS.") || e.Subject == "mine" {
			t.Errorf("this is nobody's interest: %+v", e)
		}
	}
	r.mu.Unlock()

	a, b := client(t, s), client(t, s)
	q1, err := a.QueueSubscribe("work", "g", func(*nats.Msg) {})
	ok(t, err)
	r.waitEvent(t, Interest{"work", "g", 1})
	_, err = b.QueueSubscribe("work", "g", func(*nats.Msg) {})
	ok(t, err)
	_, err = b.QueueSubscribe("work", "h", func(*nats.Msg) {})
	ok(t, err)
	_, err = b.Subscribe("work", func(*nats.Msg) {})
	ok(t, err)
	_, err = b.Subscribe("in.>", func(*nats.Msg) {})
	ok(t, err)
	for _, e := range []Interest{{"work", "g", 2}, {"work", "h", 1}, {"work", "", 1}, {"in.>", "", 1}} {
		r.waitEvent(t, e)
	}
	forget := func() { r.note(func() { r.events = nil }) }
	forget()
	ok(t, q1.Unsubscribe())
	r.waitEvent(t, Interest{"work", "g", 1})
	forget()
	b.Close()
	for _, e := range []Interest{{"work", "g", 0}, {"work", "h", 0}, {"work", "", 0}, {"in.>", "", 0}} {
		r.waitEvent(t, e)
	}
	ok(t, before.Unsubscribe())
	r.waitEvent(t, Interest{"early.*", "", 0})
}

// A client that subscribes to its inbox and then asks is known as a listener before its question arrives.
func TestInterestAndMessagesInOrder(t *testing.T) {
	s := runServer(t, nil)
	_, r := start(t, leafAddr(t, s), nil, "ask.*")
	nc := client(t, s)
	const n = 500
	for i := range n {
		inbox := fmt.Sprintf("_INBOX.%d", i)
		sub, err := nc.SubscribeSync(inbox)
		ok(t, err)
		ok(t, nc.PublishRequest(fmt.Sprintf("ask.%d", i), inbox, nil))
		ok(t, sub.Unsubscribe())
	}
	r.wait(t, "the last one's end", func() bool {
		return len(r.story) > 0 && r.story[len(r.story)-1] == fmt.Sprintf("_INBOX.%d  0", n-1)
	})
	var want []string
	for i := range n {
		want = append(want, fmt.Sprintf("_INBOX.%d  1", i), fmt.Sprintf("msg ask.%d", i), fmt.Sprintf("_INBOX.%d  0", i))
	}
	i := slices.Index(r.story, want[0])
	if !slices.Equal(r.story[i:], want) {
		t.Errorf("%q", r.story[i:min(len(r.story), i+30)])
	}
}

func TestUnsubscribe(t *testing.T) {
	s := runServer(t, nil)
	c, r := start(t, leafAddr(t, s), nil, "a")
	ok(t, c.Subscribe("b"))
	ok(t, c.Subscribe("b"))
	c.Unsubscribe("a")
	c.Unsubscribe("never")
	ok(t, c.Flush(t.Context()))
	nc := client(t, s)
	ok(t, nc.Publish("a", nil))
	ok(t, nc.Publish("b", nil))
	r.wait(t, "b", func() bool { return len(r.msgs) > 0 })
	if r.msgs[0].subject != "b" {
		t.Errorf("%v", r.msgs)
	}
	for _, bad := range []string{"", "a b", "a..b", ".a", "a.", ">.a", "a\r\nPING"} {
		if err := c.Subscribe(bad); !errors.Is(err, ErrSubject) {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// The server restarts on the same port: all interest is void and told anew, the subscriptions are there again.
func TestReconnect(t *testing.T) {
	s := runServer(t, nil)
	port, leafport := s.Addr().(*net.TCPAddr).Port, leafPort(t, s)
	c, r := start(t, leafAddr(t, s), nil, "orders")
	nc := client(t, s, nats.ReconnectWait(time.Millisecond), nats.MaxReconnects(-1))
	_, err := nc.Subscribe("old", func(*nats.Msg) {})
	ok(t, err)
	r.waitEvent(t, Interest{"old", "", 1})
	stopServer(s)
	r.wait(t, "the end of the connection", func() bool { return len(r.downs) == 1 && len(r.events) == 0 })
	b := c.NewBatch()
	ok(t, b.Publish([]byte("x"), nil, nil, nil))
	if err := c.Send(b); !errors.Is(err, ErrDisconnected) || b.Count() != 1 {
		t.Errorf("sent while down: %v, %d", err, b.Count())
	}
	if err := c.Flush(t.Context()); !errors.Is(err, ErrDisconnected) {
		t.Errorf("flushed while down: %v", err)
	}
	ok(t, c.Subscribe("more"))
	c.Unsubscribe("nothing")
	s = runServer(t, func(o *server.Options) { o.Port, o.LeafNode.Port = port, leafport })
	r.wait(t, "the second connection", func() bool { return r.ups == 2 })
	r.waitEvent(t, Interest{"old", "", 1})
	ok(t, c.Flush(t.Context()))
	nc2 := client(t, s)
	ok(t, nc2.Publish("orders", []byte("again")))
	ok(t, nc2.Publish("more", []byte("new")))
	r.wait(t, "both messages", func() bool { return len(r.msgs) == 2 })
	ok(t, c.Close())
	if err := c.Send(b); !errors.Is(err, ErrClosed) {
		t.Errorf("sent after Close: %v", err)
	}
	if last := r.downs[len(r.downs)-1]; !errors.Is(last, ErrClosed) {
		t.Errorf("the end: %v", last)
	}
	ok(t, c.Close())
	if err := c.Start(t.Context()); !errors.Is(err, ErrClosed) {
		t.Errorf("started after Close: %v", err)
	}
}

// Of several addresses those that answer are used, at the start and when a server goes.
func TestSeveralAddresses(t *testing.T) {
	one, two := runServer(t, nil), runServer(t, nil)
	c, r := start(t, "127.0.0.1:1,"+leafAddr(t, one)+","+leafAddr(t, two), nil, "a")
	if got := c.Server().ID; got != one.ID() {
		t.Errorf("connected to %s, not to %s, the first that is there", got, one.ID())
	}
	stopServer(one)
	r.wait(t, "the second server", func() bool { return r.ups == 2 })
	ok(t, c.Flush(t.Context()))
	if got := c.Server().ID; got != two.ID() {
		t.Errorf("connected to %s, not to %s", got, two.ID())
	}
	nc := client(t, two)
	ok(t, nc.Publish("a", []byte("x")))
	r.wait(t, "a message by the second server", func() bool { return len(r.msgs) == 1 })
}

func TestCloseDrains(t *testing.T) {
	s := runServer(t, nil)
	c, r := start(t, leafAddr(t, s), nil, "noise")
	nc := client(t, s)
	const n = 20000
	var wg sync.WaitGroup
	wg.Add(n)
	_, err := nc.Subscribe("drain", func(*nats.Msg) { wg.Done() })
	ok(t, err)
	r.waitEvent(t, Interest{"drain", "", 1})
	b := c.NewBatch()
	for range n {
		ok(t, b.Publish([]byte("drain"), nil, nil, make([]byte, 200)))
	}
	for range 1000 { // unread bytes at the end would make the kernel reset the connection and throw ours away
		ok(t, nc.Publish("noise", make([]byte, 200)))
	}
	ok(t, c.Send(b))
	ok(t, c.Close())
	wg.Wait()
}

func TestFirstAttemptFails(t *testing.T) {
	s := runServer(t, func(o *server.Options) { o.LeafNode.Username, o.LeafNode.Password = "dsend", "s3cret" })
	var log lockedBuffer
	try := func(change func(*Options)) (*Conn, error) {
		o := Options{Addr: leafAddr(t, s), Handler: newRecorder(), Logger: slog.New(slog.NewTextHandler(&log, nil)), ReconnectMin: time.Millisecond}
		change(&o)
		c, err := New(o)
		ok(t, err)
		t.Cleanup(func() { c.Close() })
		return c, c.Start(t.Context())
	}
	_, err := try(func(o *Options) { o.User, o.Password = "dsend", "wr0ng" })
	var said ServerError
	if !errors.As(err, &said) || !strings.Contains(err.Error(), "Authorization Violation") || !strings.HasPrefix(err.Error(), leafAddr(t, s)+": ") {
		t.Errorf("wrong password: %v", err)
	}
	_, err = try(func(o *Options) { o.Addr = strings.TrimPrefix(s.ClientURL(), "nats://") })
	if !errors.Is(err, ErrProtocol) || !strings.Contains(err.Error(), "not a leafnode port") {
		t.Errorf("wrong port: %v", err)
	}
	_, err = try(func(o *Options) { o.Addr = "127.0.0.1:1" })
	if !errors.Is(err, ErrUnreachable) || !strings.Contains(err.Error(), "refused") {
		t.Errorf("nobody there: %v", err)
	}
	// What a server says is told, also if the next one is away.
	_, err = try(func(o *Options) { o.User, o.Addr = "nobody", leafAddr(t, s)+",127.0.0.1:1" })
	if !errors.As(err, &said) || errors.Is(err, ErrUnreachable) {
		t.Errorf("one refuses, one is away: %v", err)
	}
	u := url.URL{Scheme: "nats-leaf", User: url.UserPassword("dsend", "s3cret"), Host: leafAddr(t, s)}
	c, err := try(func(o *Options) { o.Addr = u.String() })
	ok(t, err)
	if err := c.Start(t.Context()); err == nil || errors.Is(err, ErrClosed) {
		t.Errorf("started twice: %v", err)
	}
	ok(t, c.Close())
	if strings.Contains(log.String(), "s3cret") || strings.Contains(log.String(), "wr0ng") || log.String() == "" {
		t.Errorf("the log: %s", log.String())
	}
}

func TestStartIsBoundByContext(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ok(t, err)
	defer l.Close()
	c, err := New(Options{Addr: l.Addr().String(), Handler: newRecorder(), Logger: slog.New(slog.DiscardHandler)})
	ok(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		conn, err := l.Accept()
		if err == nil {
			defer conn.Close()
			cancel() // it said nothing yet
		}
	}()
	if err := c.Start(ctx); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	ok(t, c.Close())
}

func TestToken(t *testing.T) {
	s := runServer(t, func(o *server.Options) { o.Authorization = "t0k" })
	c, _ := start(t, leafAddr(t, s), func(o *Options) { o.Token = "t0k" })
	ok(t, c.Flush(t.Context()))
}

func TestSign(t *testing.T) {
	kp, err := nkeys.CreateUser()
	ok(t, err)
	pub, err := kp.PublicKey()
	ok(t, err)
	s := runServer(t, func(o *server.Options) { o.LeafNode.Nkey = pub })
	c, _ := start(t, leafAddr(t, s), func(o *Options) {
		o.Sign = func(nonce []byte) (jwt, nkey string, signature []byte, err error) {
			sig, err := kp.Sign(nonce)
			return "", pub, sig, err
		}
	})
	ok(t, c.Flush(t.Context()))
	bad, err := New(Options{Addr: leafAddr(t, s), Handler: newRecorder(), Sign: func([]byte) (string, string, []byte, error) { return "", "", nil, errors.New("no key") }})
	ok(t, err)
	if err := bad.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "no key") {
		t.Error(err)
	}
}

func certificate(t *testing.T) (tls.Certificate, *x509.CertPool) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	ok(t, err)
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "127.0.0.1"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, key.Public(), key)
	ok(t, err)
	leaf, err := x509.ParseCertificate(der)
	ok(t, err)
	pool := x509.NewCertPool()
	pool.AddCert(leaf)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, pool
}

func TestTLS(t *testing.T) {
	cert, pool := certificate(t)
	for _, first := range []bool{false, true} {
		s := runServer(t, func(o *server.Options) {
			o.LeafNode.TLSConfig = &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}
			o.LeafNode.TLSTimeout, o.LeafNode.TLSHandshakeFirst = 5, first
		})
		c, r := start(t, leafAddr(t, s), func(o *Options) { o.TLS, o.TLSFirst = &tls.Config{RootCAs: pool}, first }, "a")
		nc := client(t, s)
		ok(t, nc.Publish("a", bytes.Repeat([]byte("x"), 300000)))
		r.wait(t, "a", func() bool { return len(r.msgs) == 1 && len(r.msgs[0].payload) == 300000 })
		ok(t, c.Close())
		if first {
			continue
		}
		c, err := New(Options{Addr: leafAddr(t, s), Handler: newRecorder()})
		ok(t, err)
		var unknown x509.UnknownAuthorityError
		if err := c.Start(t.Context()); !errors.As(err, &unknown) {
			t.Errorf("TLS required, nothing configured, unknown authority: %v", err)
		}
	}
	s := runServer(t, nil)
	c, err := New(Options{Addr: leafAddr(t, s), Handler: newRecorder(), TLS: &tls.Config{RootCAs: pool}, User: "u", Password: "p"})
	ok(t, err)
	if err := c.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "TLS is configured") {
		t.Errorf("not offered: %v", err)
	}
}

// Somebody else's server with a user that may not do everything: one forbidden message must not cost the connection.
func TestPermissions(t *testing.T) {
	s := runServer(t, func(o *server.Options) {
		acc := server.NewAccount("APP")
		o.Accounts = []*server.Account{acc}
		o.Users = []*server.User{
			{Username: "app", Password: "p", Account: acc},
			{Username: "leaf", Password: "p", Account: acc, Permissions: &server.Permissions{
				Publish:   &server.SubjectPermission{Allow: []string{"_INBOX.>", "ok.*"}, Deny: []string{"ok.no"}},
				Subscribe: &server.SubjectPermission{Allow: []string{"orders.>", "$JS.ACK.>"}},
			}},
		}
	})
	c, r := start(t, leafAddr(t, s), func(o *Options) { o.User, o.Password = "leaf", "p" }, "orders.>")
	if c.Server().Account != "APP" {
		t.Errorf("%+v", c.Server())
	}
	b := c.NewBatch()
	for subject, want := range map[string]error{"_INBOX.a": nil, "ok.a": nil, "ok.no": ErrDenied, "secret": ErrDenied} {
		if err := b.Publish([]byte(subject), nil, nil, nil); !errors.Is(err, want) {
			t.Errorf("%s: %v", subject, err)
		}
	}
	ok(t, c.Send(b))
	ok(t, c.Flush(t.Context()))
	nc := client(t, s, nats.UserInfo("app", "p"))
	ok(t, nc.Publish("orders.a", nil))
	r.wait(t, "a message", func() bool { return len(r.msgs) == 1 })
	// That the server would have closed the connection is the reason for ErrDenied:
	forced := &Batch{}
	ok(t, forced.Publish([]byte("secret"), nil, nil, nil))
	ok(t, c.Send(forced))
	r.wait(t, "the server's anger", func() bool { return len(r.downs) == 1 })
	var said ServerError
	if !errors.As(r.downs[0], &said) || !strings.Contains(string(said), "Permissions Violation for Publish") {
		t.Errorf("%v", r.downs[0])
	}
	r.wait(t, "the connection to be back", func() bool { return r.ups == 2 })
	ok(t, c.Subscribe("forbidden"))
	r.wait(t, "the server's anger about the subscription", func() bool {
		return len(r.downs) >= 2 && errors.As(r.downs[1], &said) && strings.Contains(string(said), "Permissions Violation for Subscription")
	})
}

// A message over max_payload would cost the connection, too.
func TestTooLarge(t *testing.T) {
	s := runServer(t, func(o *server.Options) { o.MaxPayload = 1000 })
	c, r := start(t, leafAddr(t, s), nil)
	b := c.NewBatch()
	if err := b.Publish([]byte("a"), nil, nil, make([]byte, 1001)); !errors.Is(err, ErrTooLarge) {
		t.Error(err)
	}
	forced := &Batch{}
	ok(t, forced.Publish([]byte("a"), nil, nil, make([]byte, 1001)))
	ok(t, c.Send(forced))
	r.wait(t, "the reconnect", func() bool { return r.ups == 2 })
}

func TestBigMessages(t *testing.T) {
	s := runServer(t, func(o *server.Options) { o.MaxPayload = 8 << 20 })
	c, r := start(t, leafAddr(t, s), nil, "big")
	nc := client(t, s)
	sub, err := nc.SubscribeSync("back")
	ok(t, err)
	r.waitEvent(t, Interest{"back", "", 1})
	big := make([]byte, 8<<20)
	_, _ = rand.Read(big)
	for i := range 3 {
		ok(t, nc.Publish("big", big[i:]))
		ok(t, nc.Publish("big", []byte("small")))
		send(t, c, func(b *Batch) error { return b.Publish([]byte("back"), nil, nil, big[i:]) })
		m, err := sub.NextMsg(patience)
		ok(t, err)
		if !bytes.Equal(m.Data, big[i:]) {
			t.Error("not what was sent")
		}
	}
	r.wait(t, "all", func() bool { return len(r.msgs) == 6 })
	for i, m := range r.msgs {
		if i%2 == 0 && m.payload != string(big[i/2:]) || i%2 == 1 && m.payload != "small" {
			t.Errorf("message %d is not what was sent", i)
		}
	}
}

// A handler that takes its time loses nothing: the server keeps what it cannot send, even beyond its max_pending.
func TestSlowHandler(t *testing.T) {
	s := runServer(t, func(o *server.Options) { o.MaxPending = 1 << 20 })
	c, r := start(t, leafAddr(t, s), nil, "a")
	gate := make(chan struct{})
	r.answer(func([]Msg) { <-gate })
	nc := client(t, s)
	const n = 5000
	for range n {
		ok(t, nc.Publish("a", make([]byte, 2000)))
	}
	ok(t, nc.Flush())
	close(gate)
	r.wait(t, "all", func() bool { return len(r.msgs) == n })
	ok(t, c.Flush(t.Context()))
	r.wait(t, "no end of the connection", func() bool { return len(r.downs) == 0 })
}

// The server's own JetStream does not disturb, and is not disturbed.
func TestBesideJetStream(t *testing.T) {
	s := runServer(t, func(o *server.Options) { o.JetStream, o.StoreDir, o.JetStreamDomain = true, t.TempDir(), "hub" })
	c, r := answering(t, leafAddr(t, s))
	nc := client(t, s)
	inbox := nats.NewInbox()
	sub, err := nc.SubscribeSync(inbox)
	ok(t, err)
	r.waitEvent(t, Interest{inbox, "", 1})
	send(t, c, func(b *Batch) error {
		return b.Publish([]byte(inbox), []byte(ackReply+"@"+original), oneHeader, []byte("work"))
	})
	m, err := sub.NextMsg(patience)
	checkDelivery(t, m, err)
	js, err := nc.JetStream()
	ok(t, err)
	_, err = js.AddStream(&nats.StreamConfig{Name: "S", Subjects: []string{"s"}, Storage: nats.MemoryStorage})
	ok(t, err)
	_, err = js.Publish("s", []byte("theirs"))
	ok(t, err)
	theirs, err := js.SubscribeSync("s")
	ok(t, err)
	m, err = theirs.NextMsg(patience)
	ok(t, err)
	ok(t, m.AckSync())
	ok(t, c.Flush(t.Context()))
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.msgs) != 1 {
		t.Errorf("we saw acks of theirs: %v", r.msgs)
	}
}

// Deliveries cross a cluster: the worker is connected to another server than the leaf.
func TestCluster(t *testing.T) {
	hub := runServer(t, func(o *server.Options) {
		o.ServerName, o.Cluster = "A", server.ClusterOpts{Name: "C", Host: "127.0.0.1", Port: -1}
	})
	far := runServer(t, func(o *server.Options) {
		o.ServerName, o.Cluster = "B", server.ClusterOpts{Name: "C", Host: "127.0.0.1", Port: -1}
		o.Routes = server.RoutesFromStr("nats://" + hub.ClusterAddr().String())
	})
	c, r := answering(t, leafAddr(t, hub))
	ok(t, c.Subscribe("orders"))
	ok(t, c.Flush(t.Context()))
	nc := client(t, far)
	worker, err := nc.QueueSubscribeSync("work", "workers")
	ok(t, err)
	inbox := nats.NewInbox()
	sub, err := nc.SubscribeSync(inbox)
	ok(t, err)
	r.waitEvent(t, Interest{"work", "workers", 1})
	r.waitEvent(t, Interest{inbox, "", 1})
	reply := []byte(ackReply + "@" + original)
	send(t, c, func(b *Batch) error { return b.PublishTo("workers", []byte("work"), reply, oneHeader, []byte("work")) })
	send(t, c, func(b *Batch) error { return b.Publish([]byte(inbox), reply, oneHeader, []byte("work")) })
	m, err := worker.NextMsg(patience)
	checkDelivery(t, m, err)
	m, err = sub.NextMsg(patience)
	checkDelivery(t, m, err)
	nc.Close()
	r.waitEvent(t, Interest{"work", "workers", 0})
	r.waitEvent(t, Interest{inbox, "", 0})
}

// The table learns of a real worker's life from a real client.
func TestTableWithRealClient(t *testing.T) {
	s := runServer(t, nil)
	c, r := start(t, leafAddr(t, s), nil, "ask")
	r.answer(func(batch []Msg) {
		send(t, c, func(b *Batch) error { return b.Publish(batch[0].Reply, nil, nil, nil) })
	})
	nc := client(t, s)
	_, err := nc.Request("ask", nil, patience)
	ok(t, err)
	inbox := nc.NewInbox()
	sub, err := nc.SubscribeSync(inbox)
	ok(t, err)
	peer := PeerOf(inbox)
	r.wait(t, "both inboxes", func() bool { return r.table.Peer(peer) == 2 && r.table.HasInbox(inbox) })
	ok(t, sub.Unsubscribe())
	r.wait(t, "one inbox", func() bool { return r.table.Peer(peer) == 1 && !r.table.HasInbox(inbox) })
	nc.Close()
	r.wait(t, "nobody", func() bool { return r.table.Peer(peer) == 0 })
}
