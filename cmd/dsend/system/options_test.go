package system

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

// What a publish asks for is done.
func TestPublishOptions(t *testing.T) {
	t.Parallel()
	s := start(t, setup{config: settings("orders", "visibility_timeout: 30s", "max_attempts: 3", "subjects: [shop.>]", "backoff: {list: [1ms], jitter: 0}") + "- name: bills\n  subjects: [bills.new]\n"})
	c := s.connect(t)
	view := func(seq uint64) (m struct {
		stored
		Priority  int
		Key       string
		Published *time.Time `json:"published_at"`
		ExpiresAt *time.Time `json:"expires_at"`
	}) {
		t.Helper()
		if err := c.api("msg.get", args{"queue": "orders", "seq": seq}, &m); err != nil {
			t.Fatal(err)
		}
		return m
	}
	after := func(what string, from, to *time.Time, want time.Duration) {
		t.Helper()
		if from == nil || to == nil || to.Sub(*from).Round(time.Millisecond) != want {
			t.Errorf("%s is %v after %v, not %s", what, to, from, want)
		}
	}

	m := view(c.put(t, plain("orders", "delay").with("Dsend-Delay", "1h30m")))
	after("Dsend-Delay", m.Published, m.ReadyAt, 90*time.Minute)
	due := time.Now().Add(time.Hour).Truncate(time.Second).UTC()
	for _, text := range []string{due.Format(time.RFC3339), due.In(time.FixedZone("", 7200)).Format(time.RFC3339Nano)} {
		m = view(c.put(t, plain("orders", "at").with("Nats-Schedule", "@at "+text)))
		if !dueAt(m.ReadyAt, due) {
			t.Errorf("Nats-Schedule: @at %s is due at %v", text, m.ReadyAt)
		}
	}
	for text, want := range map[string]time.Duration{"90": 90 * time.Second, "1m30s": 90 * time.Second, "1s": time.Second} {
		m = view(c.put(t, plain("orders", "ttl").with("Nats-TTL", text).with("Dsend-Delay", "1h")))
		after("Nats-TTL "+text, m.Published, m.ExpiresAt, want)
	}
	if m = view(c.put(t, plain("orders", "ttl").with("Nats-TTL", "never").with("Dsend-Delay", "1h"))); m.ExpiresAt != nil {
		t.Errorf("Nats-TTL never expires at %v", m.ExpiresAt)
	}
	if err := c.api("queue.purge", args{"queue": "orders"}, nil); err != nil {
		t.Fatal(err)
	}

	// A schedule's target is where it is published; what is due long ago comes at once.
	o := plain("orders", "elsewhere").with("Nats-Schedule", "@at 2001-01-01T00:00:00Z").with("Nats-Schedule-Target", "bills.new")
	if ack, err := c.publish(o); err != nil || ack.Stream != "bills" {
		t.Errorf("a schedule for bills.new: %+v, %v", ack, err)
	}
	if d := c.one(t, "bills"); d.Subject != "bills.new" || string(d.Data) != "elsewhere" {
		t.Errorf("%v", d)
	}

	// Priorities: 9 first, then in order; 4 is that of those who do not say.
	for _, text := range []string{"0", "", "4", "9", "5", "9"} {
		o := plain("orders", "p"+text+strconv.Itoa(len(text)))
		if text != "" {
			o = o.with("Dsend-Priority", text)
		}
		c.put(t, o)
	}
	msgs := c.take(t, "orders", 6)
	if got := bodies(msgs); !slices.Equal(got, []string{"p91", "p91", "p51", "p0", "p41", "p01"}) {
		t.Errorf("by priority they come as %v", got)
	}
	mustAll(t, msgs, ack, "ok")

	// Keys: those of one key one at a time and in order, whatever happens to them.
	for _, body := range []string{"a1", "a2", "b1", "b2"} {
		c.put(t, plain("orders", body).with("Dsend-Key", body[:1]))
	}
	pair := c.take(t, "orders", 2)
	c.none(t, "orders")
	if got := bodies(pair); !slices.Equal(got, []string{"a1", "b1"}) {
		t.Errorf("the first of each key are %v", got)
	}
	pair[0].must(t, nak, "ok")
	pair[1].must(t, ack, "ok")
	two := c.take(t, "orders", 2)
	got := bodies(two)
	if slices.Sort(got); !slices.Equal(got, []string{"a1", "b2"}) {
		t.Errorf("then come %v", got)
	}
	mustAll(t, two, ack, "ok")
	c.one(t, "orders").must(t, ack, "ok")

	// Limits of its own.
	c.put(t, plain("orders", "once").with("Dsend-Max-Attempts", "1"))
	c.one(t, "orders").must(t, nak, "ok")
	c.rest(t, "orders", counts{Dead: 1})
	c.put(t, plain("orders", "short").with("Dsend-Visibility-Timeout", "300ms"))
	first := c.one(t, "orders")
	second := c.one(t, "orders")
	checkDue(t, "the second delivery", first.deadline(), second.at, 300*time.Millisecond)
	if own := first.deadline().Sub(first.at); own > 300*time.Millisecond+late {
		t.Errorf("its deadline is %s after it came", own)
	}
	second.must(t, ack, "ok")

	// A publish without a reply subject is stored all the same; on a captured subject too.
	for _, subject := range []string{"dsend.publish.orders", "shop.new"} {
		if err := c.nc.Publish(subject, []byte(subject)); err != nil {
			t.Fatal(err)
		}
		d := c.one(t, "orders")
		if d.Subject != subject || string(d.Data) != subject {
			t.Errorf("%v on %s", d, d.Subject)
		}
		d.must(t, ack, "ok")
	}
}

// What is malformed or not supported is refused in JetStream's form, with the name
// of the header, and nothing is stored.
func TestPublishOptionsRefused(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	c := s.connect(t)
	c.put(t, plain("orders", "warm"))
	c.one(t, "orders").must(t, ack, "ok")
	tooFar := time.Now().AddDate(10, 1, 0).Format(time.RFC3339)
	for key, values := range map[string][]string{
		"Dsend-Delay":              {"", "30", "-1s", "1d", "soon", "87601h", "9223372036854775807ns", "99999999999999999999s"},
		"Dsend-Priority":           {"", "10", "-1", "high", "1.5", " "},
		"Dsend-Key":                {"", strings.Repeat("k", 1025)},
		"Dsend-Max-Attempts":       {"", "-1", "1.5", "ten", "99999999999", "0x10"},
		"Dsend-Visibility-Timeout": {"", "0s", "-5s", "30", "87601h"},
		"Nats-Msg-Id":              {"", strings.Repeat("i", 1025)},
		"Nats-TTL":                 {"", "0", "-1", "100ms", "1.5", "forever", "99999999999999999999", "315360001"},
		"Nats-Schedule":            {"", "@at", "@at tomorrow", "@every 5s", "@hourly", "0 * * * * *", "@at " + tooFar, "@at 2030-02-30T00:00:00Z"},
		// JetStream has these, Dsend has not.
		"Nats-Expected-Stream":                {"orders"},
		"Nats-Expected-Last-Sequence":         {"1"},
		"Nats-Expected-Last-Subject-Sequence": {"1"},
		"Nats-Expected-Last-Msg-Id":           {"x"},
		"Nats-Batch-Id":                       {"x"},
		"Nats-Batch-Sequence":                 {"1"},
		"Nats-Batch-Commit":                   {"1"},
		"Nats-Rollup":                         {"sub", "all"},
		"Nats-Incr":                           {"+1"},
		"Nats-Schedule-Source":                {"a"},
		"Nats-Schedule-TTL":                   {"1m"},
		"Nats-Schedule-Rollup":                {"sub"},
		"Nats-Schedule-Time-Zone":             {"UTC"},
		"Nats-Schedule-Next":                  {"purge"},
		"Nats-Scheduler":                      {"x"},
		"Nats-Stream-Source":                  {"x"},
	} {
		for _, value := range values {
			mustRefuse(t, c, plain("orders", "x").with(key, value), key)
		}
	}
	at := "@at " + time.Now().Add(time.Hour).Format(time.RFC3339)
	for key, o := range map[string]out{
		"Nats-Schedule-Target": plain("orders", "x").with("Nats-Schedule-Target", "dsend.publish.orders"),
		"Nats-Schedule":        plain("orders", "x").with("Nats-Schedule", at).with("Dsend-Delay", "1s"),
		"Dsend-Delay":          plain("orders", "x").with("Dsend-Delay", "1s").with("Dsend-Delay", "1s"),
		"Nats-Msg-Id":          plain("orders", "x").with("Nats-Msg-Id", "1").with("Nats-Msg-Id", "2"),
	} {
		mustRefuse(t, c, o, key)
	}
	for _, target := range []string{"", "a.*", ">", "a b", "dsend.pull.orders", "dsend.api.queue.ls", "nobody.captures.it", "$JS.ACK.dsend.x"} {
		mustRefuse(t, c, plain("orders", "x").with("Nats-Schedule", at).with("Nats-Schedule-Target", target), "Nats-Schedule-Target")
	}
	c.rest(t, "orders", counts{})
	if q := c.info(t, "orders"); q.LastSeq != 1 {
		t.Errorf("%d messages were stored", q.LastSeq)
	}

	// A reply subject of a fast batch.
	m := plain("orders", "x").msg()
	sub, err := c.nc.SubscribeSync("_INBOX.fast.>")
	if err == nil {
		m.Reply = "_INBOX.fast.uuid.10.fail.1.0.$FI"
		err = c.nc.PublishMsg(m)
	}
	if err != nil {
		t.Fatal(err)
	}
	answer, err := sub.NextMsg(patience)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := readPubAck(answer); err == nil {
		t.Error("a fast batch was taken")
	}
	for _, queue := range []string{"a.b", "a b", strings.Repeat("q", 65), "größe"} {
		m := nats.NewMsg("dsend.publish." + queue)
		if strings.Contains(queue, " ") {
			continue // no subject at all
		}
		answer, err := c.request(m)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := readPubAck(answer); err == nil || !strings.Contains(err.Error(), "queue") {
			t.Errorf("a publish to queue %q: %v", queue, err)
		}
	}
}

// mustRefuse publishes what must be refused with the name of a header.
func mustRefuse(t *testing.T, c *client, o out, header string) {
	t.Helper()
	ack, err := c.publish(o)
	var refused *refusal
	switch {
	case err == nil:
		t.Errorf("%v: stored as %+v", o.header, ack)
	case !errors.As(err, &refused):
		t.Errorf("%v: %v", o.header, err)
	case refused.Code != 400 || refused.ErrCode < 10000 || refused.ErrCode > 10300 || !strings.Contains(refused.Description, header):
		t.Errorf("%v: %+v", o.header, refused)
	}
}

// Nobody can forge what Dsend says of a message, and a dead letter can be published
// again as it is.
func TestPublishForgedFacts(t *testing.T) {
	t.Parallel()
	s := start(t, setup{config: settings("orders", "max_attempts: 1")})
	c := s.connect(t)
	forged := []string{
		"Dsend-Attempt", "Dsend-Attempts", "Dsend-Queue", "Dsend-Deadline", "Dsend-Dead-Reason", "Dsend-Dead-Error", "Dsend-Dead-At",
		"Dsend-Origin-Queue", "Dsend-Origin-Subject", "Dsend-Origin-Seq", "Dsend-Published-At", "Dsend-Replays", "Dsend-Anything", "Dsend-",
	}
	o := plain("orders", "x").with("Kept", "1")
	for _, key := range forged {
		o = o.with(key, "forged")
	}
	c.put(t, o)
	if m := c.look(t, "orders")[0]; len(m.Headers) != 1 || m.Headers[0].Name != "Kept" {
		t.Errorf("stored are %v", m.Headers)
	}
	d := c.one(t, "orders")
	for key, values := range d.Header {
		if slices.Contains(values, "forged") {
			t.Errorf("%s: %v", key, values)
		}
	}
	d.must(t, nak, "ok")

	dead := c.one(t, "orders-dlq")
	again := nats.NewMsg("dsend.publish.orders")
	again.Header, again.Data = dead.Header, dead.Data
	answer, err := c.request(again)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := readPubAck(answer); err != nil {
		t.Fatal(err)
	}
	if d := c.one(t, "orders"); d.attempt != 1 || d.Header.Get("Dsend-Dead-Reason") != "" || d.Header.Get("Kept") != "1" {
		t.Errorf("%v, %v", d, d.Header)
	}
}
