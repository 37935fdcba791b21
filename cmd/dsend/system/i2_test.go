package system

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

// maxPayload is the server's, if nobody changes it.
const maxPayload = 1 << 20

// specimen is a message to be given back byte for byte, its header block as it is on
// the wire.
type specimen struct {
	name         string
	header, body string
	kept         string // of the header; empty is all of it
}

// specimens are the bodies and headers that something once mangled.
func specimens() (all []specimen) {
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	some := "NATS/1.0\r\nTrace: a\r\nOrder: 1\r\nTrace: b\r\n\r\n"
	for name, body := range map[string]string{
		"empty": "", "zero": "\x00", "every byte": string(every), "line ends": "\r\n\r\n\n\r\r\n", "long": strings.Repeat("0123456789", 5000),
		"ack": "+ACK", "nak": `-NAK {"delay":1}`, "term": "+TERM why", "error": "-ERR 'x'", "status line": "NATS/1.0 503\r\n\r\n",
		"protocol": "MSG a 1 5\r\nhello\r\nPING\r\n", "refusal": `{"error":{"code":503},"stream":"orders"}`, "not UTF-8": "\xff\xfe\xc3\x28",
		"full": strings.Repeat("x", maxPayload),
	} {
		all = append(all, specimen{name: name + " body", body: body})
		if name != "full" {
			all = append(all, specimen{name: name + " body with headers", header: some, body: body})
		}
	}
	all = append(all, specimen{name: "full with headers", header: some, body: strings.Repeat("y", maxPayload-len(some))})
	for name, lines := range map[string]string{
		"empty value": "Empty: \r\n", "empty value without space": "Empty:\r\n", "no space": "Key:value\r\n", "many spaces": "Key:   a  b \t \r\n",
		"three times": "K: 1\r\nOther: x\r\nK: 2\r\nK: 3\r\n", "mixed case": "x-lower: a\r\nX-UPPER: b\r\nX-lOwEr: c\r\nx-LOWER: d\r\n",
		"UTF-8": "Größe: 5 µ – ☃\r\n", "not UTF-8": "Latin: \xe4\xf6\r\n", "colons": "URL: nats://a:4222/b?c=d:e\r\n",
		"60 kB": "Big: " + strings.Repeat("h", 60_000) + "\r\n", "many": strings.Repeat("Line: x\r\n", 1000),
		"of NATS": "Nats-Something: 1\r\nNats-Service-Error: x\r\nNats-Service-Error-Code: 500\r\n", "like a status": "Status: 503\r\nDescription: x\r\n",
		"not ours":    "dsend-attempt: 7\r\nDSEND-ATTEMPT: 8\r\nDsendAttempt: 9\r\nX-Dsend-Attempt: 10\r\n",
		"our options": "Dsend-Priority: 4\r\nDsend-Key: k\r\nDsend-Max-Attempts: 50\r\nNats-Msg-Id: i2\r\n",
	} {
		other := strings.NewReplacer("Key: k", "Key: other", "Id: i2", "Id: other").Replace(lines) // one key, one at a time
		all = append(all,
			specimen{name: name, header: "NATS/1.0\r\n" + lines + "\r\n", body: "b"},
			specimen{name: name + ", empty body", header: "NATS/1.0\r\n" + other + "\r\n"})
	}
	return append(all, specimen{
		name:   "forged",
		header: "NATS/1.0\r\nA: 1\r\nDsend-Attempt: 99\r\nDsend-Dead-Reason: x\r\nDsend-Anything: x\r\nB: 2\r\nDsend-Attempts: 7\r\n\r\n",
		kept:   "NATS/1.0\r\nA: 1\r\nB: 2\r\n\r\n",
	})
}

// I2: body and headers come back byte for byte: at the first delivery, at the
// second, after a kill, in the dead-letter queue, after a replay. The specimens are
// sent and read on the wire itself, since client libraries tidy headers up.
func TestI2_BytesComeBackAsTheyWere(t *testing.T) {
	t.Parallel()
	s := start(t, setup{config: settings("orders", "max_attempts: 100")})
	sent := map[uint64]specimen{}
	c, w := s.connect(t), s.wire(t)
	w.subscribe("inbox.i2.*")
	for _, x := range specimens() {
		w.publish("dsend.publish.orders", "inbox.i2.ack", []byte(x.header), []byte(x.body))
		var ack pubAck
		if p := w.next(); json.Unmarshal(p.body, &ack) != nil || ack.Error != nil {
			t.Fatalf("%s: %s", x.name, p.body)
		}
		if x.kept == "" {
			x.kept = x.header
		}
		sent[ack.Seq] = x
	}

	s.compare(t, "first delivery", "orders", sent, `-NAK {"delay":1}`)
	s.compare(t, "second delivery", "orders", sent, `-NAK {"delay":1}`)
	s.restart()
	c.back(t)
	s.compare(t, "after a kill", "orders", sent, "+TERM")
	letters := compareViews(t, s, sent)
	s.compare(t, "dead letter", "orders-dlq", letters, `-NAK {"delay":1}`)
	if r := s.dsend(t, "dlq", "replay", "orders", "--all"); r.code != 0 {
		t.Fatalf("dsend dlq replay: %+v", r)
	}
	again := map[uint64]specimen{}
	first := c.info(t, "orders").FirstSeq
	for seq, x := range letters { // letters are replayed in their order
		again[first+seq-1] = x
	}
	s.compare(t, "after the replay", "orders", again, "+ACK")
	c.rest(t, "orders", counts{})
}

// compare pulls all specimens of a queue, checks each, and answers it.
func (s *server) compare(t testing.TB, stage, queue string, sent map[uint64]specimen, answer string) {
	t.Helper()
	worker, answers := s.wire(t), s.wire(t)
	worker.subscribe("inbox.i2.pull")
	answers.subscribe("inbox.i2.answer")
	worker.publish("dsend.pull."+queue, "inbox.i2.pull", nil, fmt.Appendf(nil, `{"batch":%d,"expires":60000000000}`, len(sent)))
	left, replies := maps.Clone(sent), []string{}
	for range sent {
		p := worker.next()
		parts := strings.Split(p.reply, ".")
		if len(parts) != 12 {
			t.Fatalf("%s: no delivery: %q %.100q", stage, p.header, p.body)
		}
		seq, err := strconv.ParseUint(parts[7], 10, 64)
		x, expected := left[seq]
		if err != nil || !expected {
			t.Fatalf("%s: message %s was not expected", stage, parts[7])
		}
		delete(left, seq)
		x.check(t, stage, p)
		replies = append(replies, p.reply)
	}
	for _, reply := range replies {
		answers.publish(reply, "inbox.i2.answer", nil, []byte(answer))
		if p := answers.next(); !bytes.Contains(p.header, []byte("Dsend-Result: ok\r\n")) {
			t.Fatalf("%s: %s on %s: %q", stage, answer, reply, p.header)
		}
	}
}

// check compares a delivery with what was sent: all of that, and behind it only
// headers of Dsend.
func (x specimen) check(t testing.TB, stage string, p packet) {
	t.Helper()
	if string(p.body) != x.body {
		t.Errorf("%s of %s: the body has %d bytes, %.80q, want %d bytes, %.80q", stage, x.name, len(p.body), p.body, len(x.body), x.body)
	}
	head := strings.TrimSuffix(x.kept, "\r\n")
	if head == "" {
		head = "NATS/1.0\r\n"
	}
	rest, ok := strings.CutPrefix(string(p.header), head)
	if x.header == "" && len(p.header) == 0 && len(p.body) == maxPayload || string(p.header) == x.header && len(x.header)+len(x.body) == maxPayload {
		return // there is no room for ours
	}
	if !ok || !strings.HasSuffix(rest, "\r\n\r\n") || !strings.Contains(rest, "Dsend-Attempt: ") {
		t.Errorf("%s of %s: the headers are %.200q, want %.200q and ours", stage, x.name, p.header, head)
	}
	for line := range strings.SplitSeq(strings.TrimSuffix(rest, "\r\n\r\n"), "\r\n") {
		if !strings.HasPrefix(line, "Dsend-") {
			t.Errorf("%s of %s: a header was added: %q", stage, x.name, line)
		}
	}
}

// compareViews compares what the command line shows of the dead letters, and gives
// the specimens by their numbers there.
func compareViews(t *testing.T, s *server, sent map[uint64]specimen) map[uint64]specimen {
	t.Helper()
	type view struct {
		deadLetter
		HeaderData []byte `json:"header_data"`
		Size       int
	}
	var all []view
	s.json(t, &all, "dlq", "export", "orders")
	if len(all) != len(sent) {
		t.Fatalf("%d dead letters, want %d", len(all), len(sent))
	}
	letters := map[uint64]specimen{}
	for _, d := range all {
		x := sent[d.OriginSeq]
		letters[d.Seq] = x
		block := string(d.HeaderData)
		if block == "" && len(d.Headers) > 0 {
			block = "NATS/1.0\r\n"
			for _, h := range d.Headers {
				block += h.Name + ": " + h.Value + "\r\n"
			}
			block += "\r\n"
		}
		if block != x.kept || string(d.Data) != x.body || d.Size != len(x.body) {
			t.Errorf("the view of %s: headers %.200q, want %.200q; %d bytes of body, want %d", x.name, block, x.kept, len(d.Data), len(x.body))
		}
		if x.header != "" {
			continue // the headers make no difference to what follows
		}
		raw := s.dsend(t, "msg", "get", "orders-dlq", fmt.Sprint(d.Seq), "--raw")
		if raw.code != 0 || raw.stdout != x.body {
			t.Errorf("dsend msg get --raw of %s: exit code %d %s, %d bytes of %d", x.name, raw.code, raw.stderr, len(raw.stdout), len(x.body))
		}
	}
	return letters
}

// One byte more than can be carried is refused when it is published, not later; so
// is one byte more than the queue takes.
func TestI2_TooLargeIsRefusedAtThePublish(t *testing.T) {
	t.Parallel()
	s := start(t, setup{config: settings("orders") + "- name: small\n  max_message_size: 100B\n"})
	c := s.connect(t)
	if _, err := c.publish(plain("orders", strings.Repeat("x", maxPayload+1))); !errors.Is(err, nats.ErrMaxPayload) {
		t.Errorf("%v", err)
	}
	w := s.wire(t)
	w.publish("dsend.publish.orders", "nobody", nil, bytes.Repeat([]byte("x"), maxPayload+1))
	if line := w.until("-ERR"); !strings.Contains(line, "Maximum Payload Violation") {
		t.Error(line)
	}
	c.put(t, plain("small", strings.Repeat("x", 100)))
	for _, o := range []out{plain("small", strings.Repeat("x", 101)), plain("small", strings.Repeat("x", 80)).with("A", strings.Repeat("h", 20))} {
		_, err := c.publish(o)
		var refused *refusal
		if !errors.As(err, &refused) || refused.ErrCode != 10054 || !strings.Contains(refused.Description, "max_message_size") {
			t.Errorf("%v", err)
		}
	}
	c.rest(t, "orders", counts{})
	c.rest(t, "small", counts{Ready: 1})
}

// A message of exactly the largest size is delivered to push workers and services
// as well, and can be answered.
func TestI2_LargestMessageIsWorkedOn(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	c := s.connect(t)
	body := strings.Repeat("x", maxPayload)
	c.put(t, plain("orders", body))
	var got diary
	answers := map[uint64]string{1: nakFor(time.Millisecond), 2: ack}
	c.work(t, "orders", "workers", func(d *delivery) {
		d.must(t, answers[d.attempt], "ok")
		got.add(d) // last: then nothing is under way when the test ends
	})
	for _, d := range got.wait(t, 2)[:2] {
		if string(d.Data) != body {
			t.Errorf("%d bytes came", len(d.Data))
		}
	}
}
