package system

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// deeds are what one client did in order, and how far it is: attempted before
// the server can know of it, done when the server has confirmed it.
type deeds struct{ attempted, done atomic.Int64 }

// repeat does something again and again until ctx ends. The return is when it
// has ended.
func (l *deeds) repeat(ctx context.Context, do func(n int64) error) (ended chan error) {
	ended = make(chan error, 1)
	go func() {
		for n := int64(1); ctx.Err() == nil; n++ {
			l.attempted.Store(n)
			if err := do(n); err != nil {
				ended <- err
				return
			}
			l.done.Store(n)
		}
		ended <- nil
	}()
	return ended
}

// TestBackupUnderLoad makes a backup while messages are published and acked, and
// restores it: the state of one commit between begin and end. Everything that
// was confirmed before it began is in it; of each client's later deeds, done one
// after another, a part without gaps.
func TestBackupUnderLoad(t *testing.T) {
	s := start(t, setup{})
	c := s.connect(t)
	c.putMany(t, "work", "w", 5000)
	c.putMany(t, "dead", "d", 3)
	if r := s.dsend(t, "msg", "kill", "dead", "2"); r.code != 0 {
		t.Fatalf("%+v", r)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var puts, acks deeds
	publisher, worker := s.connect(t), s.connect(t)
	publishing := puts.repeat(ctx, func(n int64) error {
		_, err := publisher.publish(plain("load", fmt.Sprint("load ", n, strings.Repeat("x", 2000))))
		return err
	})
	acking := acks.repeat(ctx, func(int64) error {
		all, err := worker.pull("work", pull{Batch: 1})
		if err != nil {
			return err
		}
		for _, d := range all.msgs {
			if result, err := d.ask("+ACK"); err != nil || result != "ok" {
				return fmt.Errorf("ack: %q, %v", result, err)
			}
		}
		return nil
	})
	eventually(t, "some is done before the backup", func() error {
		if puts.done.Load() < 50 || acks.done.Load() < 20 {
			return fmt.Errorf("%d published, %d acked", puts.done.Load(), acks.done.Load())
		}
		return nil
	})
	file := filepath.Join(t.TempDir(), "backup.tar")
	putBefore, ackBefore := puts.done.Load(), acks.done.Load()
	if r := s.dsend(t, "backup", file); r.code != 0 {
		t.Fatalf("%+v", r)
	}
	putAfter, ackAfter := puts.attempted.Load(), acks.attempted.Load()
	stop()
	for _, err := range []error{<-publishing, <-acking} {
		if err != nil {
			t.Fatal(err)
		}
	}
	if r := s.dsend(t, "backup", file); r.code != 1 || !strings.Contains(r.stderr, "is there already") {
		t.Fatalf("a backup is overwritten: %+v", r)
	}

	dir := filepath.Join(t.TempDir(), "restored")
	if r := command(t, "restore", file, dir); r.code != 0 {
		t.Fatalf("%+v", r)
	}
	if r := command(t, "verify", dir); r.code != 0 {
		t.Fatalf("%+v", r)
	}
	if r := command(t, "restore", file, dir); r.code != 1 || !strings.Contains(r.stderr, "the folder is not empty") {
		t.Fatalf("%+v", r)
	}
	restored := start(t, setup{dir: dir}).connect(t)
	loaded := restored.look(t, "load")
	if n := int64(len(loaded)); n < putBefore || n > putAfter {
		t.Errorf("%d messages are in the backup; %d were confirmed before it, %d were published when it ended", n, putBefore, putAfter)
	}
	for i, m := range loaded {
		if want := fmt.Sprint("load ", i+1, strings.Repeat("x", 2000)); string(m.Data) != want || m.Seq != uint64(i+1) {
			t.Fatalf("message %d is number %d, %.20q", i+1, m.Seq, m.Data)
		}
	}
	left := restored.look(t, "work")
	if done := int64(5000 - len(left)); done < ackBefore || done > ackAfter {
		t.Errorf("%d messages are done in the backup; %d were before it, %d when it ended", done, ackBefore, ackAfter)
	}
	if first := left[0].Seq; int(first) != 5001-len(left) {
		t.Errorf("the first of %d messages that are left is %d", len(left), first)
	}
	if letters := restored.look(t, "dead-dlq"); len(letters) != 1 || string(letters[0].Data) != "d2" {
		t.Errorf("the dead letter is %+v", letters)
	}
	t.Logf("published: %d ≤ %d ≤ %d; acked: %d ≤ %d ≤ %d", putBefore, len(loaded), putAfter, ackBefore, 5000-len(left), ackAfter)
}

// TestBackupOfNothing: a store that was never published to; to stdout, from
// stdin.
func TestBackupOfNothing(t *testing.T) {
	s := start(t, setup{})
	r := s.dsend(t, "backup", "-")
	if r.code != 0 {
		t.Fatalf("exit code %d: %s", r.code, r.stderr)
	}
	file := filepath.Join(t.TempDir(), "backup.tar")
	if err := os.WriteFile(file, []byte(r.stdout), 0o600); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if r := command(t, "restore", file, dir); r.code != 0 || !strings.Contains(r.stdout, "0 messages in 0 queues") {
		t.Fatalf("%+v", r)
	}
	restored := start(t, setup{dir: dir}).connect(t)
	restored.putMany(t, "orders", "o", 3)
}

// TestBackupDies: the client that makes a backup is killed on the way. Nothing
// has the backup's name, and another one can be made when the first is given up
// or ended.
func TestBackupDies(t *testing.T) {
	s := start(t, setup{})
	c := s.connect(t)
	c.putMany(t, "orders", "o", 100)
	var begun struct{ ID string }
	if err := c.api("backup.begin", args{}, &begun); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "backup.tar")
	if r := s.dsend(t, "backup", file); r.code != 1 || !strings.Contains(r.stderr, "another backup is being made") {
		t.Fatalf("%+v", r)
	}
	if files, err := os.ReadDir(filepath.Dir(file)); err != nil || len(files) != 0 {
		t.Fatalf("%v %v", files, err)
	}
	if err := c.api("backup.end", args{"id": begun.ID}, nil); err != nil {
		t.Fatal(err)
	}
	if r := s.dsend(t, "backup", file); r.code != 0 {
		t.Fatalf("%+v", r)
	}
}
