package system

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"
)

// k2Config has a queue for each kind of message. Nobody loses one for being slow.
const k2Config = `
defaults: {visibility_timeout: 1h}
queues:
- name: ready
- name: delayed
- name: large
- name: aside
`

// backlog is how many messages wait, and how large they are.
type backlog struct {
	ready, delayed, large int
	size                  int // of those that are not large
}

// Memory does not follow what messages weigh, only how many there are: K2Message
// for each that has an object, and what the process needs by itself and for what
// is on its way to twenty workers: up to 16 MiB wait for the server, it has a
// message for each of them, and copies under way; with the cache, the log's buffers
// and what compaction carries that was 70 MiB at the most, and the collector lets
// it become twice as much. With the cache of this test the short form has twice as
// much of bodies.
const (
	k2Itself  = 200 * mib
	k2Message = 500 // twice an object, for the collector
)

// bound is the memory that is allowed.
func (b backlog) bound() int64 {
	const plain = 64 // twice the most, for the collector
	return k2Itself + k2Message*int64(b.delayed) + plain*int64(b.ready+b.large)
}

// K2: a large backlog and many delayed messages, small ones and large ones, take
// little memory while they come, when the server starts with them, and while
// twenty workers take them as fast as they can. Publishes go on beside.
func TestK2_MemoryOfABacklog(t *testing.T) {
	t.Parallel()
	b := backlog{ready: 30_000, delayed: 10_000, large: 100, size: 8 << 10}
	if storm() {
		b = backlog{ready: 1_000_000, delayed: 500_000, large: 2_000, size: 1 << 10}
	}
	s := start(t, setup{config: k2Config, binary: lean(t), args: []string{"--storage-cache", "8MiB", "--storage-reserve", "0"}})
	c := s.connect(t)
	c.fill(t, plain("ready", ""), b.ready, b.size)
	c.fill(t, plain("delayed", "").with("Dsend-Delay", "1h"), b.delayed, b.size)
	c.fill(t, plain("large", ""), b.large, mib)
	s.modest(t, b, "filled")
	s.restart()
	c.back(t)
	s.modest(t, b, "started again")

	aside := s.beside(t)
	s.drain(t, "ready", b.ready, b.size)
	s.drain(t, "large", b.large, mib)
	aside(t)
	s.modest(t, b, "drained")
	c.rest(t, "ready", counts{})
	c.rest(t, "large", counts{})
	c.rest(t, "delayed", counts{Delayed: int64(b.delayed)})
}

// modest checks how much memory the process has had so far.
func (s *server) modest(t *testing.T, b backlog, when string) {
	t.Helper()
	most := s.peak(t)
	t.Logf("%s: %d MiB at the most, %d MiB are allowed, the bodies have %d MiB", when, most/mib, b.bound()/mib, (int64(b.ready+b.delayed)*int64(b.size)+int64(b.large)*mib)/mib)
	if most > b.bound() {
		t.Errorf("%s: %d bytes of memory, the bound is %d", when, most, b.bound())
	}
}

// numbered is the k-th message of a size: its number, and filling.
func numbered(o out, k, size int) out {
	o.body = bytes.Repeat([]byte{byte(k)}, size)
	copy(o.body, fmt.Sprintf("%010d", k))
	return o
}

// fill publishes n numbered messages.
func (c *client) fill(t *testing.T, o out, n, size int) {
	t.Helper()
	chunk := max(1, 4*mib/size)
	for from := 0; from < n; from += chunk {
		var outs []out
		for k := from; k < min(n, from+chunk); k++ {
			outs = append(outs, numbered(o, k, size))
		}
		c.putAll(t, outs)
	}
}

// drain has twenty workers take n numbered messages, each of which must come once.
func (s *server) drain(t *testing.T, queue string, n, size int) {
	t.Helper()
	var (
		mu   sync.Mutex
		came = make([]bool, n)
		left = n
		done = make(chan struct{})
	)
	take := func(d *delivery) {
		k, err := strconv.Atoi(string(d.Data[:10]))
		mu.Lock()
		defer mu.Unlock()
		if err != nil || k >= n || came[k] || !bytes.Equal(d.Data, numbered(out{}, k, size).body) {
			t.Errorf("%v came, which is another one or came before (%v)", d, err)
			return
		}
		came[k] = true
		if left--; left == 0 {
			close(done)
		}
	}
	for range 20 {
		stop := s.connect(t).pulls(t, queue, max(1, min(100, mib/size)), func(d *delivery) {
			take(d)
			if err := d.say(ack); err != nil {
				t.Error(err)
			}
		})
		defer stop()
	}
	select {
	case <-done:
	case <-time.After(patience + time.Duration(n)*time.Millisecond):
		mu.Lock()
		defer mu.Unlock()
		t.Fatalf("%d of %d messages of %s did not come", left, n, queue)
	}
}

// beside publishes one message after another, until it is asked how long they
// took.
func (s *server) beside(t *testing.T) (end func(*testing.T)) {
	t.Helper()
	var took []time.Duration
	var running sync.WaitGroup
	c, stop := s.connect(t), make(chan struct{})
	running.Go(func() {
		for {
			begin := time.Now()
			if _, err := c.publish(plain("aside", "one more")); err != nil {
				t.Errorf("a publish beside: %v", err)
				return
			}
			now := time.Now()
			if took = append(took, now.Sub(begin)); took[len(took)-1] > late+allowed(begin, now) {
				t.Errorf("a publish beside took %s", took[len(took)-1])
			}
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
			}
		}
	})
	leave := sync.OnceFunc(func() { close(stop); running.Wait() })
	t.Cleanup(leave)
	return func(t *testing.T) {
		t.Helper()
		leave()
		slices.Sort(took)
		if len(took) == 0 {
			t.Fatal("nothing was published beside")
		}
		t.Logf("%d publishes beside: %s in the median, %s at p99, %s at the most", len(took), took[len(took)/2], took[len(took)*99/100], took[len(took)-1])
	}
}
