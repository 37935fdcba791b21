package backup

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dsend/durable"
	"dsend/durable/queue"
	"dsend/durable/wal"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// mute is a Speaker that nobody hears.
type mute struct{}

func (mute) Replies([]queue.Reply)  {}
func (mute) Speak([]durable.Spoken) {}
func (mute) Events([]durable.Event) {}
func (mute) Changed([]queue.Info)   {}

// store opens the store of a data folder.
func store(t *testing.T, dir string) *durable.Store {
	t.Helper()
	log, err := wal.Open(filepath.Join(dir, "log"), wal.Options{GenerationSize: 2 << 10})
	must(t, err)
	s, err := durable.Open(log, durable.Config{Queue: queue.Config{AutoCreate: true, Defaults: queue.Defaults()}, Speaker: mute{}})
	must(t, err)
	return s
}

func publish(t *testing.T, s *durable.Store, n int) {
	t.Helper()
	for i := range n {
		r, err := s.Do(t.Context(), &queue.Publish{Queue: "q", Subject: []byte("q"), Body: fmt.Appendf(nil, "body %d", i), MaxAttempts: -1})
		if err != nil || r.Err != nil {
			t.Fatal(err, r.Err)
		}
	}
}

// held is a Source: a store's log as of one commit, in small pieces.
type held struct{ *durable.Hold }

func (h held) Generations() []durable.Generation { return h.Files() }

func (h held) Read(first uint64, off int64) ([]byte, error) {
	for _, g := range h.Files() {
		if g.First == first {
			p := make([]byte, min(700, g.Bytes-off))
			return p, h.Hold.Read(first, off, p)
		}
	}
	return nil, errors.New("no such file")
}

// backedUp is a backup of a store with n messages, with more published while it
// is made.
func backedUp(t *testing.T, n int) []byte {
	t.Helper()
	s := store(t, t.TempDir())
	publish(t, s, n)
	h, err := s.Hold(t.Context())
	must(t, err)
	publish(t, s, 5)
	var b bytes.Buffer
	must(t, Write(&b, held{h}, time.Unix(1e9, 5)))
	h.Release()
	must(t, s.Close())
	return b.Bytes()
}

func TestBackup(t *testing.T) {
	for _, n := range []int{0, 1, 100} {
		t.Run(fmt.Sprint(n, " messages"), func(t *testing.T) {
			data := backedUp(t, n)
			dir := filepath.Join(t.TempDir(), "data")
			found, err := Restore(bytes.NewReader(data), dir)
			must(t, err)
			if found.Messages != int64(n) {
				t.Fatalf("%d messages, want %d", found.Messages, n)
			}
			s := store(t, dir)
			defer s.Close()
			for seq := range uint64(n) {
				_, m, err := s.Message(t.Context(), "q", seq+1)
				must(t, err)
				if string(m.Body) != fmt.Sprintf("body %d", seq) {
					t.Fatalf("message %d is %q", seq+1, m.Body)
				}
			}
			publish(t, s, 3)
		})
	}
}

// TestTools: the file is one for tar and sha256sum, and what tar makes of it is a
// data folder.
func TestTools(t *testing.T) {
	dir := t.TempDir()
	must(t, os.WriteFile(filepath.Join(dir, "b.tar"), backedUp(t, 50), 0o600))
	for _, line := range []string{"tar xf b.tar", "sha256sum -c SHA256SUMS"} {
		c := exec.Command("sh", "-c", line)
		c.Dir = dir
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%s: %v\n%s", line, err, out)
		}
	}
	must(t, store(t, dir).Close())
}

// TestRestoreHurt flips bits of a backup, and cuts it, in many places: it is
// refused, and nothing is left; or what was hurt means nothing, such as the
// time of a file, and the restored log is the same.
func TestRestoreHurt(t *testing.T) {
	data := backedUp(t, 60)
	good := filepath.Join(t.TempDir(), "good")
	_, err := Restore(bytes.NewReader(data), good)
	must(t, err)
	want := tree(t, good)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 3))
	refused := 0
	for n := range 120 {
		hurt := bytes.Clone(data)
		if n%3 == 0 {
			hurt = hurt[:r.IntN(len(hurt))]
		} else {
			hurt[r.IntN(len(hurt))] ^= 1 << r.IntN(8)
		}
		dir := filepath.Join(t.TempDir(), "data")
		if _, err := Restore(bytes.NewReader(hurt), dir); err == nil {
			if tree(t, dir) != want {
				t.Fatalf("seed %d: %d restores to something else", seed, n)
			}
			continue
		} else if !errors.Is(err, ErrNotBackup) {
			t.Fatalf("seed %d: %d: %v", seed, n, err)
		}
		refused++
		if _, err := os.Lstat(dir); !errors.Is(err, os.ErrNotExist) {
			t.Fatalf("seed %d: %d leaves a folder", seed, n)
		}
	}
	t.Logf("%d of 120 are refused", refused)
	if refused < 80 {
		t.Error("too few are refused: nothing is tried")
	}
}

// tree are the files of a folder and their content.
func tree(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	must(t, filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		if err != nil || info.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		fmt.Fprintf(&b, "%s %x\n", strings.TrimPrefix(path, dir), sha256.Sum256(data))
		return err
	}))
	return b.String()
}

// TestRestoreRefuses what is whole by its checksums, and still no backup; and
// folders that are not empty.
func TestRestoreRefuses(t *testing.T) {
	gen := "log/" + filepath.ToSlash(wal.FileName(1))
	for what, files := range map[string][]string{
		"nothing":         {},
		"no log":          {"other"},
		"out of it":       {"../x"},
		"out of the log":  {"log/../../x"},
		"absolute":        {"/etc/passwd"},
		"no commits":      {"log/lock"},
		"twice":           {gen, gen},
		"not a good file": {"log/lock", gen},
	} {
		t.Run(what, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "data")
			if _, err := Restore(bytes.NewReader(archive(t, files)), dir); !errors.Is(err, ErrNotBackup) {
				t.Fatalf("%v", err)
			}
			if _, err := os.Lstat(dir); !errors.Is(err, os.ErrNotExist) {
				t.Fatal("it leaves a folder")
			}
		})
	}
	data := backedUp(t, 3)
	full := t.TempDir()
	must(t, os.WriteFile(filepath.Join(full, "mine"), []byte("x"), 0o600))
	if _, err := Restore(bytes.NewReader(data), full); !errors.Is(err, ErrNotEmpty) || !strings.Contains(err.Error(), "mine") {
		t.Fatal(err)
	}
	if files, err := os.ReadDir(full); err != nil || len(files) != 1 {
		t.Fatalf("%v %v", files, err)
	}
	if _, err := Restore(bytes.NewReader(data), filepath.Join(full, "mine")); !errors.Is(err, wal.ErrNotFolder) {
		t.Fatal(err)
	}
	dir := t.TempDir() // empty, but for what an interrupted restore has left
	must(t, os.MkdirAll(filepath.Join(dir, "log"+wal.RestoringSuffix, "x"), 0o700))
	_, err := Restore(bytes.NewReader(data), dir)
	must(t, err)
	if _, err := Restore(bytes.NewReader(data), dir); !errors.Is(err, ErrNotEmpty) {
		t.Fatal(err)
	}
}

// archive is a backup with right checksums of files that hold their names.
func archive(t *testing.T, names []string) []byte {
	t.Helper()
	var b bytes.Buffer
	w := writer{tar: tar.NewWriter(&b)}
	for _, name := range names {
		must(t, w.file(name, int64(len(name)), func(to io.Writer) error {
			_, err := io.WriteString(to, name)
			return err
		}))
	}
	must(t, w.put(sumsName, w.sums.Bytes()))
	must(t, w.tar.Close())
	return b.Bytes()
}

// TestWriteFails: what the source says is what Write says, and the file is no
// backup.
func TestWriteFails(t *testing.T) {
	for _, s := range []*broken{{at: 0}, {at: 20}, {at: 21, empty: true}, {at: 22, long: true}} {
		var b bytes.Buffer
		err := Write(&b, s, time.Now())
		if err == nil || !s.empty && !s.long && !errors.Is(err, durable.ErrGivenUp) {
			t.Fatalf("%+v: %v", s, err)
		}
		if _, err := Restore(&b, filepath.Join(t.TempDir(), "data")); !errors.Is(err, ErrNotBackup) {
			t.Fatal(err)
		}
	}
	if err := Write(io.Discard, &broken{none: true}, time.Now()); err == nil {
		t.Fatal("a log without files is backed up")
	}
}

// broken is a Source that fails at a byte.
type broken struct {
	at                int64
	empty, long, none bool
}

func (b *broken) Generations() []durable.Generation {
	if b.none {
		return nil
	}
	return []durable.Generation{{First: 1, Last: 9, Bytes: 30}}
}

func (b *broken) Read(_ uint64, off int64) ([]byte, error) {
	switch {
	case off < b.at:
		return make([]byte, 1), nil
	case b.empty:
		return nil, nil
	case b.long:
		return make([]byte, 31), nil
	}
	return nil, durable.ErrGivenUp
}
