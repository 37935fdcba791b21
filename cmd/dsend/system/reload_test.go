package system

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// reloads are the two ways to have the configuration read again. Each waits until
// it is done, and tells what was said: changes, or why it was refused.
func (s *server) reloads(t testing.TB, by string) string {
	t.Helper()
	if by == "dsend reload" {
		r := s.dsend(t, "reload")
		if (r.code == 0) != (r.stderr == "") {
			t.Errorf("dsend reload: %+v", r)
		}
		return r.stdout + r.stderr
	}
	before := len(s.err.with("reload"))
	s.signal(syscall.SIGHUP)
	eventually(t, "the log tells of the reload", func() error {
		if len(s.err.with("reload")) == before {
			return errors.New("it does not")
		}
		return nil
	})
	return strings.Join(s.err.with("reload")[before:], "\n")
}

// A queue's settings apply at once: to what is there, and to what is in flight when
// it fails.
func TestReload_QueueSettingsApplyAtOnce(t *testing.T) {
	t.Parallel()
	for _, by := range []string{"dsend reload", "SIGHUP"} {
		t.Run(by, func(t *testing.T) {
			t.Parallel()
			s := start(t, setup{config: settings("orders", "max_attempts: 5", "backoff: {list: [1h], jitter: 0}")})
			c := s.connect(t)
			c.putMany(t, "orders", "m", 3)
			msgs := c.take(t, "orders", 2)
			msgs[0].must(t, nak, "ok")

			s.configure(settings("orders", "max_attempts: 1", "subjects: [shop.>]", "paused: true"))
			if said := s.reloads(t, by); !containsAll(said, []string{"orders", "max_attempts"}) {
				t.Errorf("it says %s", said)
			}
			c.rest(t, "orders", counts{Ready: 1, InFlight: 1, Dead: 1})
			if d := c.dead(t, "orders"); d.Reason != "limit_lowered" || d.Attempts != 1 {
				t.Errorf("it died of %s after %d attempts", d.Reason, d.Attempts)
			}
			msgs[1].must(t, nak, "ok") // its first attempt is its last now
			c.rest(t, "orders", counts{Ready: 1, Dead: 2})
			c.none(t, "orders") // paused
			c.put(t, out{subject: "shop.new"})
			if r := s.dsend(t, "queue", "resume", "orders"); r.code != 1 || !strings.Contains(r.stderr, "paused by its settings") {
				t.Errorf("dsend queue resume: %+v", r)
			}
			if said := s.reloads(t, "dsend reload"); said != "nothing changed\n" {
				t.Errorf("a reload of the same says %q", said)
			}
			s.restart()
			c.back(t)
			c.rest(t, "orders", counts{Ready: 2, Dead: 2})
			c.none(t, "orders")
			s.configure(settings("orders"))
			s.reloads(t, by)
			mustAll(t, c.take(t, "orders", 2), ack, "ok")
			if _, err := c.nc.Request("shop.new", nil, patience); err == nil {
				t.Error("a subject that is not captured any more was answered")
			}
		})
	}
}

// What cannot change while it runs is refused by name, and then nothing changes; so
// is a file that is wrong.
func TestReload_RefusedChangesNothing(t *testing.T) {
	t.Parallel()
	good := settings("orders", "max_attempts: 5")
	s := start(t, setup{config: good})
	c := s.connect(t)
	c.put(t, plain("orders", "x"))
	changed := settings("orders", "max_attempts: 1") + "- name: new\n"
	for what, row := range map[string]struct {
		yaml string
		want []string
	}{
		"prefix":       {"prefix: acme\n" + changed, []string{"cannot change while running", "prefix"}},
		"slack":        {"storage: {slack: 16MiB}\n" + changed, []string{"cannot change while running", "storage.slack"}},
		"cache":        {"storage: {cache: 1MiB}\n" + changed, []string{"cannot change while running", "storage.cache"}},
		"several":      {"prefix: acme\nsync: {ack_interval: 1s}\n" + changed, []string{"cannot change while running", "prefix", "sync.ack_interval"}},
		"unknown key":  {"prefx: acme\n" + changed, []string{s.file + ":1: prefx: unknown key"}},
		"bad setting":  {settings("orders", "max_attempts: -1"), []string{s.file + ":3: queues.orders.max_attempts"}},
		"no YAML":      {"queues: [\n", []string{s.file + ":1"}},
		"empty file":   {"", []string{"is empty"}},
		"an overlap":   {settings("orders", "subjects: [a.>]") + "- name: new\n  subjects: [a.b]\n", []string{"overlaps"}},
		"dead circles": {settings("orders", "dead_letter: {queue: new}") + "- name: new\n  dead_letter: {queue: orders}\n", []string{"goes in a circle"}},
	} {
		s.configure(row.yaml)
		for _, by := range []string{"dsend reload", "SIGHUP"} {
			if said := s.reloads(t, by); !containsAll(said, row.want) {
				t.Errorf("%s by %s says %s", what, by, said)
			}
		}
		all, err := c.queues()
		if err != nil || len(all) != 1 || all[0].Ready != 1 {
			t.Errorf("%s: the queues are %+v, %v", what, all, err)
		}
	}
	c.one(t, "orders").must(t, nak, "ok") // it has attempts left: nothing has changed
	c.rest(t, "orders", counts{Delayed: 1})
	c.put(t, plain("orders", "y"))
	s.configure(good)
	if said := s.reloads(t, "dsend reload"); said != "nothing changed\n" {
		t.Errorf("%q", said)
	}
	if said := s.reloads(t, "SIGHUP"); !strings.Contains(said, "reloaded, nothing changed") {
		t.Errorf("%q", said)
	}
}

// A queue that is taken out of the file keeps what it has, refuses publishes, says
// so, can be drained, and comes back with all it has.
func TestReload_QueueTakenOutAndBack(t *testing.T) {
	t.Parallel()
	both := settings("orders", "subjects: [shop.orders]", "max_attempts: 1") + "- name: bills\n"
	s := start(t, setup{config: both})
	c := s.connect(t)
	c.putMany(t, "orders", "m", 3)
	c.one(t, "orders").must(t, term, "ok")
	s.configure(settings("bills"))
	if said := s.reloads(t, "dsend reload"); !strings.Contains(said, "orders") {
		t.Errorf("it says %s", said)
	}
	for range 2 {
		_, err := c.publish(plain("orders", "x"))
		var refused *refusal
		if !errors.As(err, &refused) || refused.Code != 503 || !strings.Contains(refused.Description, "taken out of the configuration") {
			t.Errorf("a publish to it: %v", err)
		}
		if _, err := c.publish(out{subject: "shop.orders"}); !errors.As(err, &refused) || refused.Code != 503 {
			t.Errorf("a publish to its subject: %v", err)
		}
		if q := c.info(t, "orders"); !q.Undeclared || q.Ready != 2 || q.Dead != 1 {
			t.Errorf("%+v", q)
		}
		if r := s.dsend(t, "queue", "ls"); !strings.Contains(r.stdout, "not in the configuration") {
			t.Errorf("dsend queue ls: %+v", r)
		}
		eventually(t, "the log tells of it", func() error {
			return equal(len(s.err.with("queue=orders", "not in the configuration")) > 0, true)
		})
		s.restart() // the same after it
		c.back(t)
	}
	c.one(t, "orders").must(t, ack, "ok")
	s.configure(both)
	s.reloads(t, "dsend reload")
	c.put(t, out{subject: "shop.orders", body: []byte("new")})
	c.rest(t, "orders", counts{Ready: 2, Dead: 1})
	if got := bodies(c.take(t, "orders", 2)); !slices.Equal(got, []string{"m3", "new"}) {
		t.Errorf("it has %v", got)
	}

	// A subject may move from one queue to another in one step, in both directions.
	for n, owner := range []string{"bills", "orders", "bills"} {
		other := map[string]string{"bills": "orders", "orders": "bills"}[owner]
		s.configure(settings(owner, "subjects: [shop.orders]") + "- name: " + other + "\n")
		s.reloads(t, "dsend reload")
		ack, err := c.publish(out{subject: "shop.orders", body: fmt.Append(nil, n)})
		if err != nil || ack.Stream != owner {
			t.Errorf("shop.orders is stored in %s, want %s: %v", ack.Stream, owner, err)
		}
	}
}

// Reloads under load lose nothing.
func TestReload_UnderLoad(t *testing.T) {
	t.Parallel()
	s := start(t, setup{config: settings("orders", "visibility_timeout: 3s", "max_attempts: 0")})
	c, crew, workers := s.connect(t), newCrew(t, s, 2), newCrew(t, s, 2)
	l := newLedger(dice(t), 3*time.Second)
	var published atomic.Int64
	crew.begin(func(c *client) error {
		if published.Add(1) > 1500 {
			return errors.New("enough")
		}
		return l.publish(c, l.draw("orders"))
	})
	workers.begin(func(c *client) error {
		p, err := c.pull("orders", pull{Batch: 5, Expires: time.Second})
		for _, d := range p.msgs {
			l.saw(d)
			if _, failed := l.answer(d, ack); failed != nil {
				return failed
			}
		}
		return err
	})
	for n := range 20 {
		s.configure(settings("orders", "visibility_timeout: 3s", "max_attempts: 0", fmt.Sprintf("max_in_flight: %d", 1+n%5), fmt.Sprintf("subjects: [shop.%d]", n%3)))
		if said := s.reloads(t, "dsend reload"); !strings.Contains(said, "orders") {
			t.Errorf("%s", said)
		}
	}
	crew.end()
	workers.end()
	l.drain(t, c)
}
