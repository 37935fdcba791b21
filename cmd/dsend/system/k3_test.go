package system

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// What 10,000 queues may cost.
const (
	k3Files  = 4096 // may be open
	k3Memory = 500 * mib
	k3Idle   = 0.05 // of a processor, when nothing is to do
)

// K3: ten thousand queues, each with a dead-letter queue, cost neither a file each
// nor a sync each, and next to nothing while nothing is to do.
func TestK3_ManyQueues(t *testing.T) {
	t.Parallel()
	n, still := 1000, 3*time.Second
	if storm() {
		n, still = 10_000, time.Minute
	}
	s := start(t, setup{config: manyQueues(n), binary: limited(t, lean(t)), args: []string{"--storage-reserve", "0"}})
	t.Logf("%d queues: started in %s", n, s.starting)
	if limits := s.proc(t, "limits"); !regexp.MustCompile(fmt.Sprintf(`(?m)^Max open files +%d +%[1]d `, k3Files)).MatchString(limits) {
		t.Fatalf("the number of files is not limited:\n%s", limits)
	}
	c := s.connect(t)
	s.idles(t, still)

	x := s.trace(t, syncs()...)
	c.publishEach(t, n)
	if calls := x.calls("fsync", "fdatasync"); calls < 1 || calls > n/5 {
		t.Errorf("a publish to each of %d queues took %d syncs", n, calls)
	}
	before := x.calls("fsync", "fdatasync")
	c.put(t, plain("q0", "busy"))
	eventually(t, "a busy queue waits for one sync", func() error { return equal(x.calls("fsync", "fdatasync")-before, 1) })
	x.detach()
	c.killEach(t, n)
	s.seen(t, c, n)
	s.idles(t, still)

	t.Logf("stopped in %s", s.stop())
	begin := time.Now()
	s.start()
	checkSoon(t, "starting again", begin, 5*time.Second)
	c.back(t)
	t.Logf("started again in %s, with %d files open, and %d MiB at the most", s.starting, s.files(t), s.peak(t)/mib)
	s.seen(t, c, n)
	c.drainEach(t, n)
	if most := s.peak(t); most > k3Memory {
		t.Errorf("%d queues take %d bytes of memory, the bound is %d", n, most, k3Memory)
	}
}

// manyQueues declares n queues.
func manyQueues(n int) string {
	var text strings.Builder
	text.WriteString("queues:\n")
	for k := range n {
		fmt.Fprintf(&text, "- {name: q%d, subjects: [many.%d.>]}\n", k, k)
	}
	return text.String()
}

// limited is a program that runs another one with few files.
func limited(t *testing.T, binary string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "dsend-limited")
	script := fmt.Sprintf("#!/bin/sh\nulimit -n %d || exit 1\nexec '%s' \"$@\"\n", k3Files, binary)
	if err := os.WriteFile(path, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// idles checks how much the server does while nothing is to do.
func (s *server) idles(t *testing.T, still time.Duration) {
	t.Helper()
	before, begin := s.worked(t), time.Now()
	time.Sleep(still) // time is what is measured
	worked, passed := s.worked(t)-before, time.Since(begin)
	t.Logf("idle for %s, it worked for %s", passed.Round(time.Millisecond), worked)
	if bound := time.Duration(k3Idle*float64(passed)) + 10*time.Millisecond; worked > bound {
		t.Errorf("idle for %s, it worked for %s", passed, worked)
	}
}

// publishEach publishes a message to each queue.
func (c *client) publishEach(t *testing.T, n int) {
	t.Helper()
	outs := make([]out, n)
	for k := range outs {
		outs[k] = out{queue: fmt.Sprintf("q%d", k), subject: fmt.Sprintf("many.%d.new", k), body: []byte("one")}
	}
	for chunk := range slices.Chunk(outs, 1000) {
		c.putAll(t, chunk)
	}
}

// killEach has the message of each tenth queue die.
func (c *client) killEach(t *testing.T, n int) {
	t.Helper()
	each(t, n/10, func(k int) error { return c.settle(fmt.Sprintf("q%d", 10*k+5), term+" no use") })
}

// settle takes the next message of a queue and answers it.
func (c *client) settle(queue, answer string) error {
	p, err := c.pull(queue, pull{Batch: 1, Expires: patience})
	if err != nil || len(p.msgs) == 0 {
		return fmt.Errorf("pull from %s: %w: %q", queue, err, p.status)
	}
	result, err := p.msgs[0].ask(answer)
	if err != nil || result != "ok" {
		return fmt.Errorf("%v: %s: %q, %w", p.msgs[0], answer, result, err)
	}
	return nil
}

// each does something n times, twenty at a time.
func each(t *testing.T, n int, do func(k int) error) {
	t.Helper()
	next, results := make(chan int), make(chan error, n)
	var running sync.WaitGroup
	for range 20 {
		running.Go(func() {
			for k := range next {
				results <- do(k)
			}
		})
	}
	for k := range n {
		next <- k
	}
	close(next)
	running.Wait()
	for range n {
		if err := <-results; err != nil {
			t.Fatal(err)
		}
	}
}

// seen checks that each view has all queues, with what is in them, and how long
// that takes.
func (s *server) seen(t *testing.T, c *client, n int) {
	t.Helper()
	begin := time.Now()
	all, err := s.metrics()
	if err != nil {
		t.Fatal(err)
	}
	checkSoon(t, "a scrape", begin, time.Second)
	listed, err := c.queues()
	if err != nil {
		t.Fatal(err)
	}
	var printed []queueInfo
	r := s.dsend(t, "queue", "ls", "--json")
	if err := json.Unmarshal([]byte(r.stdout), &printed); err != nil {
		t.Fatalf("dsend queue ls: %v: %+.1000v", err, r)
	}
	answered, shown := countsByName(listed), countsByName(printed)
	for k := range n {
		name, want := fmt.Sprintf("q%d", k), counts{Ready: 1}
		switch {
		case k == 0:
			want.Ready = 2
		case k%10 == 5:
			want = counts{Dead: 1}
		}
		scraped, err := all.counts(name)
		if err != nil || scraped != want || answered[name] != want || shown[name] != want {
			t.Errorf("queue %s: metrics %+v (%v), API %+v, command line %+v, want %+v", name, scraped, err, answered[name], shown[name], want)
		}
	}
	if t.Failed() {
		t.FailNow()
	}
}

func countsByName(queues []queueInfo) map[string]counts {
	all := map[string]counts{}
	for _, q := range queues {
		all[q.Name] = q.counts
	}
	return all
}

// drainEach takes what is in each queue, and in its dead-letter queue.
func (c *client) drainEach(t *testing.T, n int) {
	t.Helper()
	each(t, n, func(k int) error {
		if k%10 == 5 {
			return c.settle(fmt.Sprintf("q%d-dlq", k), ack)
		}
		return c.settle(fmt.Sprintf("q%d", k), ack)
	})
	c.one(t, "q0").must(t, ack, "ok")
	all, err := c.queues()
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range all {
		if q.counts != (counts{}) {
			t.Errorf("queue %s at the end: %+v", q.Name, q.counts)
		}
	}
}
