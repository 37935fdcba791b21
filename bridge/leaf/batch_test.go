package leaf

import (
	"errors"
	"strings"
	"testing"
)

func TestBatchWrites(t *testing.T) {
	hdr := []byte("NATS/1.0\r\n\r\n")
	for _, c := range []struct {
		add  func(b *Batch) error
		want string
	}{
		{func(b *Batch) error { return b.Publish([]byte("a"), nil, nil, nil) }, "LMSG a 0\r\n\r\n"},
		{func(b *Batch) error { return b.Publish([]byte("a"), []byte("r"), nil, []byte("xy")) }, "LMSG a r 2\r\nxy\r\n"},
		{func(b *Batch) error { return b.Publish([]byte("a"), nil, hdr, []byte("x")) }, "HMSG a 12 13\r\nNATS/1.0\r\n\r\nx\r\n"},
		{func(b *Batch) error { return b.PublishTo("g", []byte("a"), nil, nil, []byte("x")) }, "LMSG a | g 1\r\nx\r\n"},
		{func(b *Batch) error { return b.PublishTo("g", []byte("a"), []byte("r"), hdr, nil) }, "HMSG a + r g 12 12\r\nNATS/1.0\r\n\r\n\r\n"},
	} {
		var b Batch
		if err := c.add(&b); err != nil || string(b.buf) != c.want || b.Count() != 1 || b.Len() != len(c.want) {
			t.Errorf("%q (%v), want %q", b.buf, err, c.want)
		}
	}
}

func TestBatchRefuses(t *testing.T) {
	var b Batch
	c := &Conn{}
	c.limits.Store(&limits{maxPayload: 10, publish: &permission{Allow: []string{"ok.>", "no.*"}, Deny: []string{"no.x", "ok.*.deep"}}})
	l := c.NewBatch()
	for name, got := range map[string]struct{ err, want error }{
		"empty subject":  {b.Publish(nil, nil, nil, nil), ErrSubject},
		"space":          {b.Publish([]byte("a b"), nil, nil, nil), ErrSubject},
		"newline, reply": {b.Publish([]byte("a"), []byte("aaaaaaaaaaaa\r\nPING"), nil, nil), ErrSubject},
		"empty group":    {b.PublishTo("", []byte("a"), nil, nil, nil), ErrSubject},
		"tab in group":   {b.PublishTo("workers of\tmine", []byte("a"), nil, nil, nil), ErrSubject},
		"long":           {b.Publish([]byte(strings.Repeat("a", maxLineOut+1)), nil, nil, nil), ErrSubject},
		"too large":      {l.Publish([]byte("ok.a"), nil, []byte("NATS/1.0\r\n\r\n"), nil), ErrTooLarge},
		"denied":         {l.Publish([]byte("other"), nil, nil, nil), ErrDenied},
		"denied, too":    {l.PublishTo("g", []byte("no.x"), nil, nil, nil), ErrDenied},
		"denied deep":    {l.Publish([]byte("ok.a.deep"), nil, nil, nil), ErrDenied},
		"allowed":        {l.Publish([]byte("ok.a"), nil, nil, []byte("0123456789")), nil},
		"allowed, too":   {l.Publish([]byte("no.y"), nil, nil, nil), nil},
	} {
		if !errors.Is(got.err, got.want) {
			t.Errorf("%s: %v, want %v", name, got.err, got.want)
		}
	}
	if b.Len() != 0 || b.Count() != 0 || l.Count() != 2 {
		t.Errorf("a refused message left something: %q, %d", b.buf, l.Count())
	}
}

func TestBreaks(t *testing.T) {
	for _, s := range []string{"a", "", "abcdefgh", "\x7f\xff\x80é_INBOX.x@y", "!!!!!!!!!!!!!!!!"} {
		if breaks([]byte(s)) {
			t.Errorf("%q is harmless", s)
		}
	}
	for c := range byte(' ' + 1) {
		for at := range 20 {
			s := []byte("abcdefgh\xffjklmnopqrst")
			s[at] = c
			if !breaks(s) {
				t.Errorf("%q is not harmless", s)
			}
		}
	}
}

func TestBatchDoesNotAllocate(t *testing.T) {
	var b Batch
	inbox, group := "_INBOX.0123456789abcdefghijkl.0123456789abcdefghijkl", "workers"
	reply, payload := []byte("$JS.ACK.dsend.x@orders.new"), make([]byte, 100)
	fill := func() {
		b.Reset()
		for range 100 {
			_ = b.Publish([]byte(inbox), reply, nil, payload)
			_ = b.PublishTo(group, []byte(inbox), reply, nil, payload)
		}
	}
	fill()
	if n := testing.AllocsPerRun(100, fill); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestMatches(t *testing.T) {
	for _, c := range []struct {
		pattern, subject string
		want             bool
	}{
		{"a.b", "a.b", true}, {"a.b", "a.b.c", false}, {"a.b.c", "a.b", false}, {"a.*", "a.b", true}, {"a.*", "a", false},
		{"a.*", "a.b.c", false}, {"a.>", "a.b.c", true}, {"a.>", "a", false}, {">", "a", true}, {"*.b", "a.b", true}, {"*", "a.b", false},
	} {
		if Matches(c.pattern, c.subject) != c.want {
			t.Errorf("%s ~ %s is not %v", c.pattern, c.subject, c.want)
		}
	}
}

func TestOptions(t *testing.T) {
	for _, bad := range []Options{
		{Addr: "x:1"}, {Handler: nothing{}}, {Handler: nothing{}, Addr: "http://x:1"}, {Handler: nothing{}, Addr: "tls://:1"},
		{Handler: nothing{}, Addr: "nats://h:1/queue"}, {Handler: nothing{}, Addr: "h:1,"},
		{Handler: nothing{}, Addr: "nats://u:sec\x01ret@h:1"},
	} {
		if c, err := New(bad); err == nil {
			t.Errorf("taken: %+v", c.o)
		} else if strings.Contains(err.Error(), "sec") {
			t.Errorf("the error shows the password: %v", err)
		}
	}
	c, err := New(Options{Handler: nothing{}, Addr: "tls://u:p%40@host, nats-leaf://tok@[::1]:99,plain:1"})
	if err != nil || len(c.targets) != 3 {
		t.Fatalf("%v: %d addresses", err, len(c.targets))
	}
	if a := c.targets[0]; a.addr != "host:7422" || a.user != "u" || a.password != "p@" || a.token != "" || a.tls == nil || a.host() != "host" {
		t.Errorf("%+v", a)
	}
	if a := c.targets[1]; a.addr != "[::1]:99" || a.token != "tok" || a.tls != nil || a.host() != "::1" {
		t.Errorf("%+v", a)
	}
	if a := c.targets[2]; a.addr != "plain:1" || a.user != "" || a.token != "" {
		t.Errorf("%+v", a)
	}
}

type nothing struct{}

func (nothing) Messages([]Msg)         {}
func (nothing) Interest([]Interest)    {}
func (nothing) Connected()             {}
func (nothing) Disconnected(err error) {}
