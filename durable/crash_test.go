package durable

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"dsend/durable/queue"
	"dsend/durable/wal"
)

var _ Log = (*wal.Log)(nil)

// crashLog is a wal of which a copy is taken at one of its calls, as if the
// machine had lost its power there.
type crashLog struct {
	*wal.Log
	dir, copy string
	after     int    // calls, until it is taken
	tail      int    // what is left of the bytes that were not synced, in percent; above 100: as zeros
	taken     func() // is called before

	mu     sync.Mutex // one call at a time, so that the copy is of one moment
	synced wal.Generation
	err    error
}

// call does a call, and crashes before it if it is its turn.
func (l *crashLog) call(do func() error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.after--; l.after == 0 {
		l.taken()
		l.err = l.crash()
	}
	return do()
}

func (l *crashLog) Append(data []byte) error {
	return l.call(func() error { return l.Log.Append(data) })
}
func (l *crashLog) Drop(first uint64) error { return l.call(func() error { return l.Log.Drop(first) }) }

func (l *crashLog) Sync() error {
	return l.call(func() error {
		err := l.Log.Sync()
		l.synced = l.Newest()
		return err
	})
}

// crash copies the folder, without some of what was not synced.
func (l *crashLog) crash() error {
	if err := os.CopyFS(l.copy, os.DirFS(l.dir)); err != nil {
		return err
	}
	newest := l.Newest()
	folder := filepath.Join(l.copy, fmt.Sprintf("%020d.gen", newest.First))
	if newest.First != l.synced.First && l.tail == 0 && newest.Bytes > 0 {
		return os.RemoveAll(folder) // not even its name was synced
	}
	kept := l.synced.Bytes
	if newest.First != l.synced.First {
		kept = 0
	}
	files, err := filepath.Glob(filepath.Join(folder, "*"))
	if err != nil || len(files) != 1 {
		return fmt.Errorf("in %s there are %v, %v", folder, files, err)
	}
	torn := newest.Bytes - kept
	if l.tail > 100 {
		file, err := os.OpenFile(files[0], os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		defer file.Close()
		_, err = file.WriteAt(make([]byte, torn), kept)
		return err
	}
	return os.Truncate(files[0], kept+torn*int64(l.tail)/100)
}

// A storm over the real log, crashed at a random call, reopened, and again.
func TestCrash(t *testing.T) {
	base := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		if !rapid.SampledFrom([]bool{true, false, false, false}).Draw(t, "one of four, for each costs hundreds of syncs") {
			return
		}
		dir, err := os.MkdirTemp(base, "")
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		p, n := newPromise(), 0
		for life := range 2 {
			here, next := filepath.Join(dir, fmt.Sprint(life)), filepath.Join(dir, fmt.Sprint(life+1))
			p, n = live(t, here, next, p, n)
			left, err := wal.Open(next, wal.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if err := p.kept(left); err != nil {
				t.Fatalf("after crash %d: %v", life+1, err)
			}
			if err := left.Close(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// live has a storm over the log in dir, and leaves in next what a crash leaves.
// It gives what was promised until then.
func live(t *rapid.T, dir, next string, p promise, n int) (promise, int) {
	log, err := wal.Open(dir, wal.Options{GenerationSize: 512})
	if err != nil {
		t.Fatal(err)
	}
	c := &client{p: p}
	crash := &crashLog{
		Log: log, dir: dir, copy: next,
		after: rapid.IntRange(3, 150).Draw(t, "after"), // 1 and 2 found the store
		tail:  rapid.SampledFrom([]int{0, 10, 50, 99, 100, 101}).Draw(t, "tail"),
	}
	var at promise
	crash.taken = func() { at = c.promised() }
	s, err := Open(crash, brisk(c, rapid.SampledFrom([]int64{0, 1 << 20}).Draw(t, "cache")))
	if err != nil {
		t.Fatal(err)
	}
	st := &storm{s: s, c: c, n: n}
	for _, g := range rapid.SliceOfN(gusts, 60, 60).Draw(t, "gusts") {
		st.blow(g)
		if g.which%2 == 0 {
			_, _ = s.Do(background, &queue.Space{})
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if at.asked == nil { // it lived to the end
		at, crash.err = c.promised(), os.CopyFS(next, os.DirFS(dir))
	}
	if crash.err != nil {
		t.Fatal(crash.err)
	}
	return at, st.n
}

// brisk is a config under which much happens in a few milliseconds.
func brisk(c *client, cache int64) Config {
	cfg := config(c)
	cfg.Cache, cfg.Slack, cfg.AckInterval = cache, 1024, time.Millisecond
	d := &cfg.Queue.Defaults
	d.VisibilityTimeout, d.Backoff.Initial, d.Backoff.Max = 5*time.Millisecond, time.Millisecond, 2*time.Millisecond
	return cfg
}
