package system

import (
	"bytes"
	"errors"
	"io/fs"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"
)

// mib is the unit of what the tests of the disk speak of.
const mib = 1 << 20

// onDisk is how many bytes of the disk a folder takes, with all that is in it.
func onDisk(t testing.TB, dir string) (bytes int64) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) { // it went while we looked
			return nil
		}
		bytes += allocated(t, path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return bytes
}

// scale looks at a folder over and over, and knows how large it was at the most.
type scale struct {
	most atomic.Int64
	end  chan struct{}
	done chan struct{}
}

// watchDisk puts a server's data folder on the scale until the test ends, or stop
// is called.
func (s *server) watchDisk(t testing.TB) *scale {
	w := &scale{end: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(w.done)
		for {
			w.most.Store(max(w.most.Load(), onDisk(t, s.dir)))
			select {
			case <-w.end:
				return
			case <-time.After(20 * time.Millisecond):
			}
		}
	}()
	return w
}

// stop ends it and tells how many bytes there were at the most.
func (w *scale) stop() int64 {
	close(w.end)
	<-w.done
	return w.most.Load()
}

// passThrough publishes n messages of 1 KiB to a queue, has workers ack them, and
// waits until all are done.
func (c *client) passThrough(t testing.TB, s *server, queue string, n int) {
	t.Helper()
	done := make(chan struct{}, n)
	for range 2 {
		worker := s.connect(t)
		sub := worker.work(t, queue, "workers", func(d *delivery) {
			if err := d.say(ack); err != nil {
				t.Error(err)
			}
			done <- struct{}{}
		})
		defer leave(t, sub)
	}
	const chunk = 1000
	outs, body := make([]out, chunk), bytes.Repeat([]byte("1 KiB "), 171)[:1024]
	for k := range outs {
		outs[k] = out{queue: queue, body: body}
	}
	for left := n; left > 0; left -= chunk {
		c.putAll(t, outs[:min(left, chunk)])
	}
	for range n {
		select {
		case <-done:
		case <-time.After(patience):
			t.Fatal("the messages do not come")
		}
	}
	c.rest(t, queue, counts{})
}
