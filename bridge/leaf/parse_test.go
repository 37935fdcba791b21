package leaf

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// found is one operation, copied out, as the tests compare them.
type found struct {
	op                              op
	subject, reply, header, payload string
	queue                           string
	members                         int
	arg                             string
}

// parseAll feeds a stream in the given cuts, as the session does, and returns what was found and the first error.
func parseAll(stream []byte, cuts []int) (all []found, err error) {
	var p parser
	var buf []byte
	for i := 0; i <= len(cuts); i++ {
		from, to := 0, len(stream)
		if i > 0 {
			from = cuts[i-1]
		}
		if i < len(cuts) {
			to = cuts[i]
		}
		buf = append(buf, stream[from:to]...)
		for len(buf) > 0 && len(buf) >= p.need {
			exact := bytes.Clone(buf) // its capacity ends where it ends: reading beyond is a panic
			o, n, err := p.next(exact[:len(buf):len(buf)])
			if err != nil {
				return all, err
			}
			if o == opNone {
				break
			}
			all = append(all, p.copyOut(o))
			buf = buf[n:]
		}
	}
	return all, nil
}

func (p *parser) copyOut(o op) found {
	f := found{op: o}
	switch o {
	case opMsg:
		f.subject, f.reply, f.header, f.payload = string(p.msg.Subject), string(p.msg.Reply), string(p.msg.Header), string(p.msg.Payload)
	case opSub, opUnsub:
		f.subject, f.queue, f.members = string(p.subject), string(p.queue), p.members
	case opInfo, opErr:
		f.arg = string(p.arg)
	}
	return f
}

func TestParseForms(t *testing.T) {
	hdr := "NATS/1.0\r\nA: b\r\n\r\n"
	for _, c := range []struct {
		in   string
		want found
	}{
		{"LMSG a.b 5\r\nhello\r\n", found{op: opMsg, subject: "a.b", payload: "hello"}},
		{"LMSG a.b 0\r\n\r\n", found{op: opMsg, subject: "a.b"}},
		{"LMSG a.b _INBOX.x 2\r\n\r\n\r\n", found{op: opMsg, subject: "a.b", reply: "_INBOX.x", payload: "\r\n"}},
		{"LMSG a + _INBOX.x q1 q2 1\r\nz\r\n", found{op: opMsg, subject: "a", reply: "_INBOX.x", payload: "z"}},
		{"LMSG a | q1 1\r\nz\r\n", found{op: opMsg, subject: "a", payload: "z"}},
		{"LMSG a + 1\r\nz\r\n", found{op: opMsg, subject: "a", reply: "+", payload: "z"}},
		{"HMSG a 18 20\r\n" + hdr + "ok\r\n", found{op: opMsg, subject: "a", header: hdr, payload: "ok"}},
		{"HMSG a r 18 18\r\n" + hdr + "\r\n", found{op: opMsg, subject: "a", reply: "r", header: hdr}},
		{"HMSG a + r q 18 19\r\n" + hdr + "x\r\n", found{op: opMsg, subject: "a", reply: "r", header: hdr, payload: "x"}},
		{"LS+ a.*\r\n", found{op: opSub, subject: "a.*", members: 1}},
		{"LS+ a workers 12\r\n", found{op: opSub, subject: "a", queue: "workers", members: 12}},
		{"LS+ a workers 0\r\n", found{op: opSub, subject: "a", queue: "workers", members: 1}},
		{"LS- a\r\n", found{op: opUnsub, subject: "a"}},
		{"LS- a workers\r\n", found{op: opUnsub, subject: "a", queue: "workers"}},
		{"PING\r\n", found{op: opPing}},
		{"PONG\r\n", found{op: opPong}},
		{"+OK\r\n", found{op: opOK}},
		{"INFO {}\r\n", found{op: opInfo, arg: "{}"}},
		{"-ERR 'Authorization Violation'\r\n", found{op: opErr, arg: "Authorization Violation"}},
	} {
		got, err := parseAll([]byte(c.in), nil)
		if err != nil || len(got) != 1 || got[0] != c.want {
			t.Errorf("%q: got %+v, %v; want %+v", c.in, got, err, c.want)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, in := range []string{
		"LMSG\r\n", "LMSG \r\n", "LMSG a\r\n", "LMSG 5\r\nhello\r\n", "LMSG a -1\r\n", "LMSG a 1x\r\nz\r\n", "LMSG a 99999999999999999999\r\n",
		"LMSG a 999999999\r\n", "LMSG a b c 1\r\nz\r\n", "LMSG a 1\r\nzz\r\n", "LMSG a 1\r\nz\n\n",
		"HMSG a 1\r\nz\r\n", "HMSG a 3 2\r\nzz\r\n", "HMSG a x 2\r\nzz\r\n",
		"LS+\r\n", "LS+ \r\n", "LS+ a q\r\n", "LS+ a q x\r\n", "LS+ a q 1 2\r\n", "LS- a q 1\r\n",
		"MSG a 1 1\r\nz\r\n", "\r\n", "lmsg a 1\r\nz\r\n", "PINGS\r\n", "RMSG a b 1\r\n",
		"LMSG " + strings.Repeat("a", maxLine) + " 1\r\n", strings.Repeat("a", maxLine+1), "INFO " + strings.Repeat("a", maxInfo),
	} {
		if got, err := parseAll([]byte(in), nil); !errors.Is(err, ErrProtocol) {
			t.Errorf("%.60q: got %+v, %v", in, got, err)
		}
	}
	if _, err := parseAll([]byte("INFO "+strings.Repeat("a", maxLine)), nil); err != nil {
		t.Errorf("a long INFO line: %v", err)
	}
}

var tokenGen = rapid.StringMatching(`[a-zA-Z0-9_$*>@+-]{1,12}(\.[a-zA-Z0-9_$*>@+-]{1,12}){0,3}`)

// operation draws one operation and what it should parse to.
func operation(t *rapid.T) (string, found) {
	subject := tokenGen.Draw(t, "subject")
	switch rapid.IntRange(0, 7).Draw(t, "kind") {
	case 0:
		return "PING\r\n", found{op: opPing}
	case 1:
		return "PONG\r\n", found{op: opPong}
	case 2:
		text := rapid.StringMatching(`[a-zA-Z ]{0,20}x`).Draw(t, "text")
		return "-ERR 'x" + text + "'\r\n", found{op: opErr, arg: "x" + text}
	case 3:
		queue, n := tokenGen.Draw(t, "queue"), rapid.IntRange(1, 1000).Draw(t, "members")
		return fmt.Sprintf("LS+ %s %s %d\r\n", subject, queue, n), found{op: opSub, subject: subject, queue: queue, members: n}
	case 4:
		return "LS- " + subject + "\r\n", found{op: opUnsub, subject: subject}
	default:
		return message(t, subject)
	}
}

func message(t *rapid.T, subject string) (string, found) {
	f := found{op: opMsg, subject: subject}
	f.payload = string(rapid.SliceOfN(rapid.Byte(), 0, 300).Draw(t, "payload"))
	var b Batch
	group := ""
	if rapid.Bool().Draw(t, "has reply") {
		f.reply = tokenGen.Filter(func(s string) bool { return s != "+" && s != "|" }).Draw(t, "reply")
	}
	if rapid.Bool().Draw(t, "has header") {
		f.header = "NATS/1.0\r\n" + rapid.StringMatching(`[A-Z]: [a-z\n]{0,20}`).Draw(t, "header") + "\r\n\r\n"
	}
	if rapid.Bool().Draw(t, "has group") {
		group = tokenGen.Draw(t, "group")
	}
	var header []byte
	if f.header != "" {
		header = []byte(f.header)
	}
	if err := b.add(group, []byte(subject), []byte(f.reply), header, []byte(f.payload)); err != nil {
		t.Fatal(err)
	}
	return string(b.buf), f
}

// What a Batch writes, the parser reads, however the stream is cut.
func TestParseCuts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var stream []byte
		var want []found
		for range rapid.IntRange(1, 8).Draw(t, "operations") {
			text, f := operation(t)
			stream, want = append(stream, text...), append(want, f)
		}
		cuts := rapid.SliceOfN(rapid.IntRange(0, len(stream)), 0, 20).Draw(t, "cuts")
		sortInts(cuts)
		compare(t, stream, cuts, want)
		compare(t, stream, nil, want)
		every := make([]int, len(stream))
		for i := range every {
			every[i] = i
		}
		compare(t, stream, every, want)
		for cut := range stream {
			compare(t, stream, []int{cut}, want)
		}
	})
}

func compare(t *rapid.T, stream []byte, cuts []int, want []found) {
	got, err := parseAll(stream, cuts)
	if err != nil {
		t.Fatalf("cuts %v: %v\n%q", cuts, err, stream)
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Fatalf("cuts %v:\n got %+v\nwant %+v\n%q", cuts, got, want, stream)
	}
}

func sortInts(a []int) {
	for i := range a {
		for j := i; j > 0 && a[j] < a[j-1]; j-- {
			a[j], a[j-1] = a[j-1], a[j]
		}
	}
}

// FuzzParse: no panic, nothing read beyond the end, and the same operations and the same verdict for any two ways to cut.
func FuzzParse(f *testing.F) {
	f.Add([]byte("LMSG a.b + r q 5\r\nhello\r\nHMSG a 12 12\r\nNATS/1.0\r\n\r\n\r\nPING\r\n"), uint8(3))
	f.Add([]byte("LS+ a\r\nLS+ a q 3\r\nLS- a q\r\n-ERR 'x'\r\nINFO {}\r\n+OK\r\nPONG\r\n"), uint8(1))
	f.Add([]byte("LMSG a 999999999\r\n"), uint8(7))
	f.Add([]byte("HMSG | | | 1 2\r\n\r\n\r\n"), uint8(2))
	f.Fuzz(func(t *testing.T, stream []byte, step uint8) {
		whole, err1 := parseAll(stream, nil)
		var cuts []int
		for i := 0; i < len(stream); i += int(step%17) + 1 {
			cuts = append(cuts, i)
		}
		parts, err2 := parseAll(stream, cuts)
		if fmt.Sprint(whole) != fmt.Sprint(parts) || (err1 == nil) != (err2 == nil) {
			t.Fatalf("cut by %d: %v, %v\nwhole: %v, %v", step%17+1, parts, err2, whole, err1)
		}
		if err1 != nil && !errors.Is(err1, ErrProtocol) {
			t.Fatalf("%v is not an ErrProtocol", err1)
		}
	})
}
