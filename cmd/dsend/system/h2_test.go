package system

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

// H2: a batch larger than what is there. 73 come at once, the other 27 when they
// are there, and then the request is over: it has what it asked for.
func TestH2_BatchIsFilledAsMessagesCome(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	c, producer := s.connect(t), s.connect(t)
	producer.putMany(t, "orders", "a", 73)
	sub := c.ask(t, "orders", `{"batch":100,"expires":20000000000}`)
	begin := time.Now()
	got := c.read(t, sub, 73)
	checkSoon(t, "that the 73 came that were there", begin, 2*time.Second)
	c.restPulls(t, "orders", 1)
	producer.putMany(t, "orders", "b", 27)
	got = append(got, c.read(t, sub, 27)...)
	c.quiet(t, sub)
	c.restPulls(t, "orders", 0)
	for k, d := range got {
		want := fmt.Sprintf("a%d", k+1)
		if k >= 73 {
			want = fmt.Sprintf("b%d", k-72)
		}
		if string(d.Data) != want || d.attempt != 1 {
			t.Errorf("message %d of the batch is %v, want %s", k+1, d, want)
		}
	}
	mustAll(t, got, ack, "ok")
	c.rest(t, "orders", counts{})
}

// Each request ends with one status, at its time and not at twice its time, and
// says what it did not get.
func TestH2_RequestEndsOnceAtItsTime(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	c, producer := s.connect(t), s.connect(t)
	producer.putMany(t, "orders", "m", 1)
	mustAll(t, c.take(t, "orders", 1), ack, "ok")
	for _, row := range []struct {
		name    string
		ready   int
		request pull
		got     int
		status  string
		pending string
		took    time.Duration
	}{
		{"nothing comes", 0, pull{Batch: 10, Expires: time.Second}, 0, "408 Request Timeout", "10", time.Second},
		{"too few come", 3, pull{Batch: 10, Expires: time.Second}, 3, "408 Request Timeout", "7", time.Second},
		{"enough is there", 3, pull{Batch: 3, Expires: time.Second}, 3, "", "", 0},
		{"nothing, at once", 0, pull{Batch: 10, NoWait: true}, 0, "404 No Messages", "10", 0},
		{"what is there, at once", 4, pull{Batch: 10, NoWait: true}, 4, "408 Request Timeout", "6", 0},
		{"the first one, then at once", 2, pull{Batch: 10, NoWait: true, Expires: 5 * time.Second}, 2, "408 Request Timeout", "8", 0},
		{"not even the first one", 0, pull{Batch: 10, NoWait: true, Expires: time.Second}, 0, "408 Request Timeout", "10", time.Second},
		{"with heartbeats", 0, pull{Batch: 1, Expires: time.Second, Heartbeat: 200 * time.Millisecond}, 0, "408 Request Timeout", "1", time.Second},
		{"too few bytes", 2, pull{Batch: 2, Expires: time.Second, MaxBytes: 10}, 0, "409 Message Size Exceeds MaxBytes", "2", 0},
	} {
		if row.ready > 0 {
			producer.putMany(t, "orders", "m", row.ready)
		}
		p, err := c.pull("orders", row.request)
		if err != nil {
			t.Fatalf("%s: %v", row.name, err)
		}
		if len(p.msgs) != row.got || p.status != row.status || p.header.Get("Nats-Pending-Messages") != row.pending {
			t.Errorf("%s: %d messages, %q, %v", row.name, len(p.msgs), p.status, p.header)
		}
		checkDue(t, row.name, time.Now().Add(row.took-p.took), time.Now(), row.took)
		if row.request.Heartbeat > 0 && (p.beats < 3 || p.beats > 5) {
			t.Errorf("%s: %d heartbeats", row.name, p.beats)
		}
		mustAll(t, p.msgs, ack, "ok")
		if left := row.ready - row.got; left > 0 {
			mustAll(t, c.take(t, "orders", left), ack, "ok")
		}
	}
	c.rest(t, "orders", counts{})
}

// What is no request is refused at once, and takes nothing.
func TestH2_BadRequestsAreRefusedAtOnce(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	c := s.connect(t)
	c.putMany(t, "orders", "m", 10)
	for body, want := range map[string]string{
		`{"batch":0}`:                "400",
		`{"batch":-1}`:               "400",
		`{"batch":1000000000}`:       "400",
		`0`:                          "400",
		`-5`:                         "400",
		`ten`:                        "400",
		`1.5`:                        "400",
		`{`:                          "400",
		`{"batch":"ten"}`:            "400",
		`{"batch":1,"expires":-1}`:   "400",
		`{"batch":1,"expires":"5s"}`: "400",
		`{"batch":1,"expires":9223372036854775808}`:                   "400",
		`{"batch":1,"max_bytes":-1}`:                                  "400",
		`{"batch":1,"expires":1000000000,"idle_heartbeat":600000000}`: "400",
		`{"batch":1,"idle_heartbeat":1}`:                              "400",
		`{"batch":1,"group":"a"}`:                                     "400",
	} {
		sub := c.ask(t, "orders", body)
		m, err := sub.NextMsg(patience)
		if err != nil {
			t.Fatalf("%s: %v", body, err)
		}
		if m.Header.Get("Status") != want || !strings.HasPrefix(m.Header.Get("Description"), "Bad Request") || m.Reply != "" {
			t.Errorf("%s: %v %q", body, m.Header, m.Data)
		}
		c.quiet(t, sub)
	}
	c.rest(t, "orders", counts{Ready: 10})
	for body, want := range map[string]int{``: 1, `3`: 3, `{}`: 1, ` {"batch":2} `: 2, `{"batch":2,"no_wait":true,"unknown":1}`: 2} {
		sub := c.ask(t, "orders", body)
		mustAll(t, c.read(t, sub, want), ack, "ok")
		c.quiet(t, sub)
	}
	c.rest(t, "orders", counts{Ready: 1})
}

// ask sends a pull, and does not wait.
func (c *client) ask(t testing.TB, queue, body string) *nats.Subscription {
	t.Helper()
	inbox := c.nc.NewInbox()
	sub, err := c.nc.SubscribeSync(inbox)
	if err == nil {
		err = c.nc.PublishRequest("dsend.pull."+queue, inbox, []byte(body))
	}
	if err != nil {
		t.Fatal(err)
	}
	return sub
}

// read reads n deliveries of a pull.
func (c *client) read(t testing.TB, sub *nats.Subscription, n int) (msgs []*delivery) {
	t.Helper()
	for len(msgs) < n {
		m, err := sub.NextMsg(patience)
		if err != nil {
			t.Fatalf("%d of %d messages came: %v", len(msgs), n, err)
		}
		d, err := c.delivered(m)
		if err != nil {
			t.Fatalf("%v: %v", err, m.Header)
		}
		msgs = append(msgs, d)
	}
	return msgs
}

// quiet checks that a pull that is over stays over: whatever Dsend had to say came
// before the answer to a later question.
func (c *client) quiet(t testing.TB, sub *nats.Subscription) {
	t.Helper()
	if _, err := c.pull("nothing-there", pull{NoWait: true}); err != nil {
		t.Fatal(err)
	}
	if n, _, err := sub.Pending(); err != nil || n > 0 {
		m, _ := sub.NextMsg(time.Second)
		t.Errorf("a request that is over was answered again: %v, %v", m, err)
	}
}
