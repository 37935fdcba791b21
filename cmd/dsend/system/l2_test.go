package system

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"
)

// mix is a queue where everything happens, and what must be counted of it.
type mix struct {
	t      *testing.T
	s      *server
	c      *client
	l      *ledger
	want   counts // of orders; its dead are the letters of orders-dlq
	bills  counts
	totals map[string]int64
	held   []*delivery
}

// L2: counters are right, at rest and after a restart. All outcomes there are over
// 5,000 messages; every 500 metrics, API and command line must say what the ledger
// says, and say it again after a kill. What is counted since the start begins at 0.
func TestL2_CountersAreRightAfterARestart(t *testing.T) {
	t.Parallel()
	s := start(t, setup{config: settings("orders", "visibility_timeout: 1h", "max_attempts: 3", "max_in_flight: 10000", "backoff: {list: [1h], jitter: 0}") + "- name: bills\n"})
	m := &mix{t: t, s: s, c: s.connect(t), l: newLedger(dice(t), 0)}
	for range 10 {
		m.totals = map[string]int64{}
		m.round()
		m.views()
		m.checkTotals()
		m.s.restart()
		m.c.back(t)
		m.totals = map[string]int64{}
		m.checkTotals()
		m.views()
		m.l.balance(t, m.c)
	}
	for _, queue := range []string{"orders", "orders-dlq", "bills"} {
		if err := m.c.api("queue.purge", args{"queue": queue}, nil); err != nil {
			t.Fatal(err)
		}
	}
	m.want, m.bills = counts{}, counts{}
	m.views()
	m.s.restart()
	m.c.back(t)
	m.views()
}

// round is what happens to 500 messages.
func (m *mix) round() {
	t, c := m.t, m.c
	m.publish(20, func(o out) out { return o.with("Nats-TTL", "1s").with("Dsend-Delay", "1h") })
	expired := time.Now()
	m.publish(20, func(o out) out {
		return o.with("Dsend-Priority", "9").with("Dsend-Visibility-Timeout", "300ms").with("Dsend-Max-Attempts", "1")
	})
	m.publish(459, func(o out) out { return o })
	twice := m.publish(1, func(o out) out { return o.with("Nats-Msg-Id", time.Now().String()) })
	if ack, err := c.publish(twice[0].out); err != nil || !ack.Duplicate {
		t.Fatalf("%+v, %v", ack, err)
	}
	m.count("duplicates", 1)
	m.move(&m.want.Ready, &m.want.Delayed, 20) // those that expire wait for another time

	m.take(20) // the short ones: nobody answers
	msgs := m.take(300)
	m.answer(msgs[:150], ack, "acked", nil)
	m.answer(msgs[150:200], nak, "naked", &m.want.Delayed)
	m.answer(msgs[200:250], term, "terminated", &m.want.Dead)
	m.answer(msgs[250:280], `-NAK {"count":false}`, "given_back", &m.want.Ready)
	m.forget(msgs[250:280]) // an attempt that is not counted comes twice
	m.answer(m.held, ack, "acked", nil)
	m.held = msgs[280:]

	m.move(&m.want.InFlight, &m.want.Dead, 20) // timeouts
	m.count("timed_out", 20)
	m.move(&m.want.Delayed, &m.want.Dead, 20) // expiries
	eventually(t, "timeouts and expiries are over", func() error {
		if left := time.Second - time.Since(expired); left > 0 {
			return fmt.Errorf("%s are left", left)
		}
		return equal(c.info(t, "orders").counts, m.want)
	})
	m.people()
}

// people is what people do.
func (m *mix) people() {
	t, c := m.t, m.c
	var replayed struct{ Replayed []struct{} }
	if err := c.api("dlq.replay", args{"queue": "orders", "limit": 25, "filter": args{"reasons": []string{"terminated"}}}, &replayed); err != nil || len(replayed.Replayed) != 25 {
		t.Fatalf("%d replayed, %v", len(replayed.Replayed), err)
	}
	m.l.mu.Lock()
	m.l.replays = time.Now()
	m.l.mu.Unlock()
	m.move(&m.want.Dead, &m.want.Ready, 25)
	m.count("replayed", 25)
	for _, queue := range []string{"orders", "orders-dlq"} {
		var page struct{ Messages []stored }
		if err := c.api("queue.peek", args{"queue": queue, "state": "ready", "limit": 10, "max_data": -1}, &page); err != nil || len(page.Messages) != 10 {
			t.Fatalf("%d messages, %v", len(page.Messages), err)
		}
		for _, x := range page.Messages[:5] {
			if err := m.l.remove(c, m.l.items[idOf(x.Data)], queue, x.Seq); err != nil {
				t.Fatal(err)
			}
		}
		if queue == "orders-dlq" {
			m.move(&m.want.Dead, nil, 5)
			continue
		}
		for _, x := range page.Messages[5:] {
			if err := m.l.kill(c, m.l.items[idOf(x.Data)], queue, x.Seq); err != nil {
				t.Fatal(err)
			}
		}
		m.move(&m.want.Ready, nil, 5)
		m.move(&m.want.Ready, &m.want.Dead, 5)
		m.count("removed", 5)
	}
	bills := m.l.put(t, c, "bills", 12)
	if err := m.l.purge(c, "bills", bills[9].seq); err != nil {
		t.Fatal(err)
	}
	m.bills = counts{Ready: 2}
}

// publish publishes n messages, all ready.
func (m *mix) publish(n int, how func(out) out) []*item {
	m.t.Helper()
	items, outs := make([]*item, n), make([]out, n)
	for k := range items {
		items[k] = m.l.draw("orders")
		items[k].out = how(items[k].out)
		outs[k] = items[k].out
	}
	answers, err := m.c.publishAll(outs)
	if err != nil {
		m.t.Fatal(err)
	}
	for k, a := range answers {
		if a.err != nil {
			m.t.Fatal(a.err)
		}
		m.l.answered(items[k], a.ack, nil)
	}
	m.want.Ready += int64(n)
	m.count("published", int64(n))
	return items
}

// take pulls n messages; they are in flight.
func (m *mix) take(n int) []*delivery {
	m.t.Helper()
	msgs := m.c.take(m.t, "orders", n)
	for _, d := range msgs {
		m.l.saw(d)
	}
	m.move(&m.want.Ready, &m.want.InFlight, int64(n))
	m.count("delivered", int64(n))
	return msgs
}

// answer answers deliveries; to is where they are then, nil is nowhere.
func (m *mix) answer(msgs []*delivery, answer, total string, to *int64) {
	m.t.Helper()
	results := make(chan error, len(msgs))
	for _, d := range msgs {
		go func() {
			result, err := m.l.answer(d, answer)
			if err == nil {
				err = equal(result, "ok")
			}
			results <- err
		}()
	}
	for range msgs {
		if err := <-results; err != nil {
			m.t.Fatal(err)
		}
	}
	m.move(&m.want.InFlight, to, int64(len(msgs)))
	m.count(total, int64(len(msgs)))
}

// forget has the ledger not count the attempts of messages from here on.
func (m *mix) forget(msgs []*delivery) {
	m.l.mu.Lock()
	defer m.l.mu.Unlock()
	for _, d := range msgs {
		delete(m.l.lives, fmt.Sprintf("%s/%d", d.queue, d.seq))
	}
}

// move notes that messages went from one state to another; nil is nowhere.
func (m *mix) move(from, to *int64, n int64) {
	*from -= n
	if to != nil {
		*to += n
	}
}

func (m *mix) count(total string, n int64) { m.totals[total] += n }

// views compares what the API, the metrics and the command line say of all queues
// with what must be.
func (m *mix) views() {
	m.t.Helper()
	var listed []queueInfo
	m.s.json(m.t, &listed, "queue", "ls")
	shown := map[string]counts{}
	for _, q := range listed {
		if shown[q.Name] = q.counts; q.Messages != q.Ready+q.InFlight+q.Delayed {
			m.t.Errorf("%+v", q)
		}
	}
	all, err := m.s.metrics()
	if err != nil {
		m.t.Fatal(err)
	}
	for queue, want := range map[string]counts{"orders": m.want, "orders-dlq": {Ready: m.want.Dead, Letters: m.want.Dead}, "bills": m.bills} {
		api := m.c.info(m.t, queue).counts
		scraped, err := all.counts(queue)
		if api != want || scraped != want || shown[queue] != want || err != nil {
			m.t.Fatalf("queue %s: the API says %+v, the metrics %+v (%v), dsend queue ls %+v, want %+v", queue, api, scraped, err, shown[queue], want)
		}
	}
}

// counters are the metrics of the totals.
var counters = map[string]string{
	"published": "publishes", "duplicates": "duplicates", "delivered": "deliveries", "acked": "acks", "naked": "naks", "timed_out": "timeouts",
	"given_back": "given_back", "terminated": "terminated", "replayed": "replays", "removed": "removed", "refused": "refused", "gone": "gone", "dropped": "dropped",
}

// checkTotals compares what was counted since the start, by the API and by the
// metrics, with what happened since.
func (m *mix) checkTotals() {
	m.t.Helper()
	all, err := m.s.metrics()
	if err != nil {
		m.t.Fatal(err)
	}
	q := m.c.info(m.t, "orders")
	for total, metric := range counters {
		n, err := all.of("dsend_queue_"+metric+"_total", "orders")
		if got := q.total(m.t, total); err != nil || got != m.totals[total] || n != m.totals[total] {
			m.t.Errorf("%s: the API says %d, the metrics %d (%v), want %d", total, got, n, err, m.totals[total])
		}
	}
	var died struct{ Died map[string]int64 }
	if err := json.Unmarshal(q.Totals, &died); err != nil {
		m.t.Fatal(err)
	}
	deaths := int64(0)
	for reason, n := range died.Died {
		deaths += n
		if shown, err := all.of("dsend_queue_deaths_total", "orders", fmt.Sprintf("reason=%q", reason)); err != nil || shown != n {
			m.t.Errorf("deaths by %s: the API says %d, the metrics %d, %v", reason, n, shown, err)
		}
	}
	want := int64(0)
	if len(m.totals) > 0 {
		want = m.totals["terminated"] + m.totals["timed_out"] + 20 + 5 // expired and killed
	}
	if deaths != want {
		m.t.Errorf("%d deaths are counted, want %d: %v", deaths, want, died.Died)
	}
	for name, value := range all {
		if value < 0 && strings.HasPrefix(name, "dsend_") {
			m.t.Errorf("%s is %v", name, value)
		}
	}
}
