package system

import (
	"bytes"
	encoding "encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// A2: a torn last record does not stop a start. The server is killed and the end
// of its log damaged in every way a crash can do it; it starts by itself, says
// once what it dropped, has all that was whole, and goes on.
func TestA2_TornTail(t *testing.T) {
	t.Parallel()
	base := killedWith(t, 100)
	record := base.lastRecord
	t.Logf("the last record has %d bytes", record)
	if record < 2 {
		t.Fatal("there is no record to tear")
	}

	cuts := []int{1, record - 1}
	for n := 2; n < record-1; n++ {
		if storm() || n%4 == 0 {
			cuts = append(cuts, n)
		}
	}
	for _, n := range cuts {
		base.play(t, fmt.Sprintf("cut %d of %d bytes", n, record), 99, 1, func(log []byte, end int) []byte { return log[:end-n] })
		// The room for it has reached the disk, and a part of it.
		base.play(t, fmt.Sprintf("%d of %d bytes are zeros", n, record), 99, 1, func(log []byte, end int) []byte {
			lost := log[end-n : end]
			clear(lost)
			if end == len(log) {
				return append(log, 0) // so that it is not a cut
			}
			return log
		})
	}

	rng := dice(t)
	tails := []int{1, 2, 37, 64}
	if storm() {
		tails = nil
		for n := range 64 {
			tails = append(tails, n+1)
		}
	}
	for _, n := range tails {
		junk := make([]byte, n)
		for i := range junk {
			junk[i] = byte(1 + rng.IntN(255)) // a zero may be room
		}
		base.play(t, fmt.Sprintf("%d random bytes", n), 100, 1, func(log []byte, end int) []byte { return append(log[:end], junk...) })
		base.play(t, fmt.Sprintf("%d random bytes in the room", n), 100, 1, func(log []byte, end int) []byte {
			copy(log[end:], junk)
			return log
		})
	}
	// Room for more, of which there is nothing to tell.
	base.play(t, "no room", 100, 0, func(log []byte, end int) []byte { return log[:end] })
	base.play(t, "4 KiB of zeros", 100, 0, func(log []byte, end int) []byte { return append(log, make([]byte, 4096)...) })
}

// A folder that a server left in order has no torn record: what is missing of it
// was answered and is lost by somebody else's fault. That is not papered over.
func TestA2_CutAfterCleanStop(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	c := s.connect(t)
	for n := range 20 {
		c.put(t, plain("orders", fmt.Sprint(n)))
	}
	s.stop()
	file := newestSegment(t, s.dir)
	whole := read(t, file)
	write(t, file, whole[:len(whole)-5])

	p := launch(t, nil, s.flags()...)
	if code := p.wait(t); code != 1 {
		t.Errorf("exit code %d, want 1", code)
	}
	if lines := p.err.all(); len(lines) == 0 || len(p.err.with("dsend: ", file, "at byte ")) != 1 {
		t.Errorf("no line names the file and the byte:\n%s", p.err.last(20))
	}
	if !bytes.Equal(read(t, file), whole[:len(whole)-5]) {
		t.Error("the refused start has changed the log")
	}

	write(t, file, whole)
	s.start()
	c.back(t)
	if got := len(c.look(t, "orders")); got != 20 {
		t.Errorf("%d messages are there when the file is back, want 20", got)
	}
}

// killedFolder is the data folder of a server that was killed at rest.
type killedFolder struct {
	dir        string
	lastRecord int // bytes
}

// killedWith publishes n messages one by one and kills the server.
func killedWith(t *testing.T, n int) killedFolder {
	t.Helper()
	s := start(t, setup{})
	c := s.connect(t)
	before := 0
	for k := range n {
		before = written(tail(t, s.dir))
		c.put(t, plain("orders", fmt.Sprintf("message %d", k+1)))
	}
	s.kill()
	return killedFolder{s.dir, written(tail(t, s.dir)) - before}
}

// written is where the last record of a file ends: each begins with its length,
// and behind the last one is nothing, or zeros.
func written(log []byte) (end int) {
	for {
		length, n := encoding.Uvarint(log[end:])
		if length == 0 {
			return end
		}
		end += n + int(length)
	}
}

// tail is the newest file of a log; nothing if there is none yet.
func tail(t *testing.T, dir string) []byte {
	if files := segments(t, dir); len(files) > 0 {
		return read(t, files[len(files)-1])
	}
	return nil
}

// play damages a copy of the folder and lives with it: the first messages whole
// are there, it warns so many times, ten more go in, the server is killed, and
// all of them are there.
func (f killedFolder) play(t *testing.T, name string, whole, warnings int, damage func(log []byte, end int) []byte) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		dir := filepath.Join(t.TempDir(), "data")
		if err := os.CopyFS(dir, os.DirFS(f.dir)); err != nil {
			t.Fatal(err)
		}
		file := newestSegment(t, dir)
		log := read(t, file)
		write(t, file, damage(log, written(log)))

		s := start(t, setup{dir: dir})
		var want []string
		for k := range whole {
			want = append(want, fmt.Sprintf("message %d", k+1))
		}
		c := s.connect(t)
		sameBodies(t, c.look(t, "orders"), want)
		for k := range 10 {
			body := fmt.Sprintf("later %d", k+1)
			c.put(t, plain("orders", body))
			want = append(want, body)
		}
		s.kill()
		told := s.err.with("level=WARN")
		if len(told) != warnings || warnings > 0 && !containsAll(told[0], []string{"torn end", "bytes=", "kept="}) {
			t.Errorf("%d warnings at the start, want %d that say what was dropped:\n%s", len(told), warnings, s.err.last(20))
		}
		s.start()
		c.back(t)
		sameBodies(t, c.look(t, "orders"), want)
		s.kill()
		if warnings := s.err.with("level=WARN"); len(warnings) > 0 {
			t.Errorf("the second start warns of %v", warnings)
		}
	})
}

func sameBodies(t *testing.T, got []stored, want []string) {
	t.Helper()
	var all []string
	for _, m := range got {
		all = append(all, string(m.Data))
	}
	if !slices.Equal(all, want) {
		t.Fatalf("messages are %q, want %q", all, want)
	}
}

// segments are the files of a log, oldest first.
func segments(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "log", "*.gen", "0*"))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func newestSegment(t *testing.T, dir string) string {
	t.Helper()
	files := segments(t, dir)
	if len(files) == 0 {
		t.Fatalf("there is no log in %s", dir)
	}
	return files[len(files)-1]
}

func read(t *testing.T, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func write(t *testing.T, file string, data []byte) {
	t.Helper()
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
}
