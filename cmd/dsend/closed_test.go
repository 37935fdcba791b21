package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dsend/durable"
	"dsend/durable/queue"
	"dsend/durable/wal"
)

// mute is a Speaker that nobody hears.
type mute struct{}

func (mute) Replies([]queue.Reply)  {}
func (mute) Speak([]durable.Spoken) {}
func (mute) Events([]durable.Event) {}
func (mute) Changed([]queue.Info)   {}

// dataFolder is the data of a server that was stopped: queue orders has the
// messages 1 to 5, one a commit, and 3 has been moved to its dead-letter queue.
func dataFolder(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	withStore(t, dir, func(s *durable.Store) {
		for n := range 5 {
			ask(t, s, &queue.Publish{Queue: "orders", Subject: []byte("dsend.publish.orders"), Body: fmt.Appendf(nil, "order %d", n+1), MaxAttempts: -1})
		}
		ask(t, s, &queue.Kill{Name: "orders", Seq: 3, Error: "by hand"})
	})
	return dir
}

// withStore opens the store of a data folder as serve does.
func withStore(t *testing.T, dir string, do func(*durable.Store)) {
	t.Helper()
	log, err := wal.Open(filepath.Join(dir, "log"), wal.Options{})
	must(t, err)
	s, err := durable.Open(log, durable.Config{
		Queue: queue.Config{AutoCreate: true, Defaults: queue.Defaults()}, Speaker: mute{},
	})
	must(t, err)
	do(s)
	must(t, s.Close())
}

func ask(t *testing.T, s *durable.Store, op queue.Op) queue.Reply {
	t.Helper()
	r, err := s.Do(context.Background(), op)
	must(t, err)
	if r.Err != nil {
		t.Fatal(r.Err)
	}
	return r
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// hurt flips a bit of the text in the newest file of the log that has it, and
// gives the file's name.
func hurt(t *testing.T, dir, text string) (file string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "log", "*.gen", "*"))
	must(t, err)
	for _, file := range slices.Backward(files) {
		data, err := os.ReadFile(file)
		must(t, err)
		if i := bytes.Index(data, []byte(text)); i >= 0 {
			data[i] ^= 1
			must(t, os.WriteFile(file, data, 0o600))
			return file
		}
	}
	t.Fatalf("%q is in no file", text)
	return ""
}

// bodies are the messages of a queue.
func bodies(t *testing.T, dir, name string) (all map[uint64]string) {
	t.Helper()
	all = map[uint64]string{}
	withStore(t, dir, func(s *durable.Store) {
		entries, err := s.List(context.Background(), queue.List{Queue: name})
		must(t, err)
		for _, e := range entries {
			_, m, err := s.Message(context.Background(), name, e.Seq)
			must(t, err)
			all[e.Seq] = string(m.Body)
		}
	})
	return all
}

// wantText fails the test if a text does not have all the parts.
func wantText(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Fatalf("%q is not in\n%s", part, text)
		}
	}
}

func TestVerifyGood(t *testing.T) {
	dir := dataFolder(t)
	r := person{}.run(t, "verify", dir)
	if r.code != 0 || r.err != "" {
		t.Fatalf("%+v", r)
	}
	wantText(t, r.out, "5 messages in 2 queues, each in exactly one state", "orders      4", "orders-dlq  1")
	var doc examined
	must(t, json.Unmarshal([]byte(person{}.run(t, "verify", "--json", dir).out), &doc))
	if !doc.Good || doc.Messages != 5 || len(doc.Damage) != 0 || doc.Queues[0].Ready != 4 || doc.Queues[0].Dead != 1 || doc.Queues[1].Letters != 1 {
		t.Fatalf("%+v", doc)
	}
}

// TestRepair is a log with a flipped bit: found by file and byte, told, set
// aside, and what is whole goes on.
func TestRepair(t *testing.T) {
	dir := dataFolder(t)
	file := hurt(t, dir, "order 2")
	r := person{}.run(t, "verify", dir)
	if r.code != 1 {
		t.Fatalf("%+v", r)
	}
	wantText(t, r.out, file+" is damaged at byte ", "lost: commits 3 to 3", "orders: lost, unless they were done in the lost commits: messages 2\n")
	wantText(t, r.err, "dsend repair "+dir)

	before := folderText(t, dir)
	dry := person{}.run(t, "repair", "--dry-run", dir)
	if dry.code != 1 || dry.out != r.out || folderText(t, dir) != before {
		t.Fatalf("a dry run: %+v", dry)
	}
	cat := person{}.run(t, "log", "cat", dir)
	if cat.code != 1 {
		t.Fatalf("%+v", cat)
	}
	wantText(t, cat.out, "3-3 lost\n", "publish queue=1 seq=1 ", "die queue=1 seq=3 to_queue=2 to_seq=1 origin=orders reason=manual")
	wantText(t, cat.err, "is damaged: "+file)

	r = person{}.run(t, "repair", dir)
	if r.code != 0 || r.err != "" {
		t.Fatalf("%+v", r)
	}
	wantText(t, r.out, "messages 2\n", "repaired; the damaged log is "+filepath.Join(dir, "log.damaged"))
	if r := (person{}).run(t, "verify", dir); r.code != 0 {
		t.Fatalf("%+v", r)
	}
	if got := bodies(t, dir, "orders"); len(got) != 3 || got[1] != "order 1" || got[4] != "order 4" || got[5] != "order 5" {
		t.Fatalf("%v", got)
	}
	if got := bodies(t, dir, "orders-dlq"); len(got) != 1 || got[1] != "order 3" {
		t.Fatalf("%v", got)
	}
	withStore(t, dir, func(s *durable.Store) {
		if r := ask(t, s, &queue.Publish{Queue: "orders", Subject: []byte("s"), MaxAttempts: -1}); r.Seq <= 6 {
			t.Fatalf("number %d may have been given out in what was lost", r.Seq)
		}
	})
	r = person{}.run(t, "repair", dir)
	if r.code != 0 || strings.Contains(r.out, "repaired") || !strings.HasSuffix(r.out, "\nnothing to repair\n") {
		t.Fatalf("nothing is to be repaired: %+v", r)
	}
}

// TestRepairRefuses what is no data folder of ours, or in use, and leaves it as
// it is.
func TestRepairRefuses(t *testing.T) {
	foreign := t.TempDir()
	must(t, os.MkdirAll(filepath.Join(foreign, "log", "nginx"), 0o700))
	must(t, os.WriteFile(filepath.Join(foreign, "log", "syslog"), []byte("x"), 0o600))
	before := folderText(t, foreign)
	for _, dir := range []string{foreign, "/etc", "/var", filepath.Join(foreign, "nothing")} {
		for _, command := range [][]string{{"verify"}, {"repair"}, {"log", "cat"}} {
			r := person{}.run(t, append(command, dir)...)
			if r.code != 1 || !strings.Contains(r.err, "there is no log here") {
				t.Fatalf("%v %s: %+v", command, dir, r)
			}
		}
	}
	file := filepath.Join(foreign, "log", "syslog")
	for _, command := range [][]string{{"verify"}, {"repair"}, {"log", "cat"}} {
		r := person{}.run(t, append(command, file)...)
		if r.code != 1 || !strings.HasPrefix(r.err, "dsend: "+file+" is not a folder") {
			t.Fatalf("%v of a file: %+v", command, r)
		}
	}
	if folderText(t, foreign) != before {
		t.Fatal("a foreign folder was changed")
	}
	dir := dataFolder(t)
	withStore(t, dir, func(*durable.Store) {
		for _, command := range [][]string{{"verify"}, {"repair"}, {"log", "cat"}} {
			r := person{}.run(t, append(command, dir)...)
			if r.code != 1 || !strings.Contains(r.err, dir+" is in use: stop the server first") {
				t.Fatalf("%v: %+v", command, r)
			}
		}
	})
}

// TestLogCatJSON: each line is a document.
func TestLogCatJSON(t *testing.T) {
	r := person{}.run(t, "log", "cat", "--json", dataFolder(t))
	if r.code != 0 {
		t.Fatalf("%+v", r)
	}
	kinds := map[string]int{}
	for line := range strings.Lines(r.out) {
		var doc struct {
			Commit uint64
			Kind   string
		}
		must(t, json.Unmarshal([]byte(line), &doc))
		if doc.Commit == 0 {
			t.Fatal(line)
		}
		kinds[doc.Kind]++
	}
	if kinds["store"] != 1 || kinds["publish"] != 5 || kinds["die"] != 1 || kinds["queue"] != 2 {
		t.Fatalf("%v", kinds)
	}
}

// TestServeVanished: serve does not begin an empty log beside what a repair has
// left.
func TestServeVanished(t *testing.T) {
	dir := dataFolder(t)
	must(t, os.Rename(filepath.Join(dir, "log"), filepath.Join(dir, "log.damaged")))
	for _, args := range [][]string{{"serve", "--data", dir, "--listen", "127.0.0.1:0", "--http", ""}, {"verify", dir}} {
		r := person{}.run(t, args...)
		if r.code != 1 || !strings.Contains(r.err, "the log is gone, but there was one: log.damaged is here") {
			t.Fatalf("%+v", r)
		}
	}
	must(t, os.RemoveAll(filepath.Join(dir, "log.damaged")))
	must(t, os.WriteFile(filepath.Join(dir, "ballast"), nil, 0o600))
	wantText(t, serveFails(t, dir), "the log is gone, but there was one: remove "+filepath.Join(dir, "ballast"))
	if _, err := os.Stat(filepath.Join(dir, "log")); !errors.Is(err, os.ErrNotExist) {
		t.Fatal("a log was begun")
	}
}

// serveFails is what serve says when it does not start on a folder.
func serveFails(t *testing.T, dir string) string {
	t.Helper()
	r := person{}.run(t, "serve", "--data", dir, "--listen", "127.0.0.1:0", "--http", "")
	if r.code != 1 || r.out != "" {
		t.Fatalf("%+v", r)
	}
	return r.err
}

// TestServeDamaged: damage inside the log is refused by file and byte. After a
// repair serve starts, and what was not hurt is delivered.
func TestServeDamaged(t *testing.T) {
	dir := dataFolder(t)
	file := hurt(t, dir, "order 2")
	wantText(t, serveFails(t, dir), file+" is damaged at byte ", "commit 3", "dsend repair --dry-run "+dir)
	person{}.run(t, "repair", dir).ok(t)
	p := realDsend(t, "--data", dir)
	wantText(t, p.run(t, "work", "orders", "--count", "3", "--", "sh", "-c", "cat; echo").ok(t).out, "order 1", "order 4", "order 5")
	if q := p.queue(t, "orders"); q.Messages != 0 {
		t.Fatalf("%+v", q)
	}
}

// folderText is everything in a folder.
func folderText(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	must(t, filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err != nil || !info.Mode().IsRegular() {
			fmt.Fprintln(&b, path)
			return err
		}
		data, err := os.ReadFile(path)
		fmt.Fprintf(&b, "%s %x\n", path, data)
		return err
	}))
	return b.String()
}
