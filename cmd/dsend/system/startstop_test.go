package system

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"dsend/testkit"
)

// A start that cannot be is one clear line and a non-zero exit, with nothing half
// started and nothing changed.
func TestStartRefused(t *testing.T) {
	t.Parallel()
	running := start(t, setup{})
	running.connect(t).put(t, plain("orders", "x"))
	busy, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer busy.Close()
	place := t.TempDir()
	file := filepath.Join(place, "file")
	foreign := filepath.Join(place, "foreign")
	if err := errors.Join(os.WriteFile(file, []byte("precious"), 0o600), os.Mkdir(foreign, 0o700), os.WriteFile(filepath.Join(foreign, "notes.txt"), []byte("precious"), 0o600)); err != nil {
		t.Fatal(err)
	}
	for what, row := range map[string]struct {
		listen, http, data string
		want               []string
	}{
		"busy port":            {busy.Addr().String(), testkit.PickAddr(t), filepath.Join(place, "a"), []string{"server.listen", busy.Addr().String(), "address already in use"}},
		"busy HTTP port":       {testkit.PickAddr(t), busy.Addr().String(), filepath.Join(place, "b"), []string{"http", busy.Addr().String(), "address already in use"}},
		"no such address":      {"192.0.2.1:4222", testkit.PickAddr(t), filepath.Join(place, "c"), []string{"server.listen", "192.0.2.1"}},
		"a file for a folder":  {testkit.PickAddr(t), testkit.PickAddr(t), file, []string{file, "there is a file where the folder should be"}},
		"below a file":         {testkit.PickAddr(t), testkit.PickAddr(t), filepath.Join(file, "data"), []string{filepath.Join(file, "data"), "there is a file where the folder should be"}},
		"a folder in use":      {testkit.PickAddr(t), testkit.PickAddr(t), running.dir, []string{running.dir, "in use"}},
		"a folder not to make": {testkit.PickAddr(t), testkit.PickAddr(t), "/proc/dsend/data", []string{"/proc/dsend", "no such file or directory"}},
	} {
		t.Run(what, func(t *testing.T) {
			p := launch(t, nil, "serve", "--listen", row.listen, "--http", row.http, "--data", row.data)
			if code := p.wait(t); code != 1 {
				t.Errorf("exit code %d", code)
			}
			p.complained(t, row.want...)
			if _, err := os.Stat(row.data); err == nil && strings.HasPrefix(row.data, place) && row.data != file {
				t.Errorf("%s was made", row.data)
			}
		})
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "precious" {
		t.Errorf("%q, %v", text, err)
	}
	running.connect(t).rest(t, "orders", counts{Ready: 1})
}

// complained checks that a process printed nothing but one line for people, beside
// its log, with these words in it.
func (p *process) complained(t testing.TB, words ...string) {
	t.Helper()
	lines := p.err.with("dsend: ")
	if len(lines) != 1 || !containsAll(lines[0], words) || lines[0] != p.err.last(1) {
		t.Errorf("it says\n%s\nwant one line with %q", p.err.last(20), words)
	}
	if out := p.out.all(); len(out) > 0 {
		t.Errorf("it prints %q", out)
	}
}

// A folder that cannot be written to: root can, so somebody else starts it.
func TestStartOnUnwritableFolder(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		_, err := exec.LookPath("setpriv")
		need(t, err == nil, "setpriv (apt-get install util-linux)")
	}
	place, err := os.MkdirTemp("/tmp", "dsend-readonly-") // where anybody may look
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(place)
	locked, program := filepath.Join(place, "locked"), filepath.Join(place, "dsend")
	if err := errors.Join(os.Chmod(place, 0o755), os.Mkdir(locked, 0o555), copyFile(binary(t), program)); err != nil {
		t.Fatal(err)
	}
	for _, data := range []string{locked, filepath.Join(locked, "data")} {
		arguments := []string{program, "serve", "--data", data, "--listen", testkit.PickAddr(t), "--http", testkit.PickAddr(t)}
		if os.Geteuid() == 0 {
			arguments = append([]string{"setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"}, arguments...)
		}
		cmd := exec.Command(arguments[0], arguments[1:]...)
		cmd.Dir, cmd.Env = place, environment(t, nil)
		said, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != 1 {
			t.Errorf("%v", err)
		}
		line := strings.TrimSpace(string(said))
		if at := strings.LastIndexByte(line, '\n'); !containsAll(line[at+1:], []string{"dsend: ", data, "permission denied"}) {
			t.Errorf("it says\n%s", said)
		}
	}
}

func copyFile(from, to string) error {
	text, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	return os.WriteFile(to, text, 0o755)
}

// A4: a second server on the folder is refused and touches nothing; a kill of the
// first leaves no lock behind.
func TestA4_SecondServerOnTheFolder(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	c := s.connect(t)
	l := newLedger(dice(t), 30*time.Second)
	l.put(t, c, "orders", 100)
	before := tree(t, s.dir)
	for range 3 {
		p := launch(t, nil, "serve", "--data", s.dir, "--listen", testkit.PickAddr(t), "--http", testkit.PickAddr(t))
		if code := p.wait(t); code != 1 {
			t.Errorf("exit code %d", code)
		}
		p.complained(t, s.dir, "in use")
	}
	if after := tree(t, s.dir); after != before {
		t.Errorf("the folder was\n%s\nand is\n%s", before, after)
	}
	l.put(t, c, "orders", 1)
	s.restart()
	c.back(t)
	l.drain(t, c)
}

// tree is the files of a folder with their sizes, as one text.
func tree(t testing.TB, dir string) (text string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := e.Info()
		text += fmt.Sprintln(path, info.Size())
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// SIGTERM under load: parked pulls end with a status, the process ends by itself
// with 0 in a few seconds, and every OK is kept. SIGINT does the same.
func TestStopUnderLoad(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			s := start(t, setup{config: "auto_create: true\ndefaults: {visibility_timeout: 2s}\n"})
			c, crew, workers := s.connect(t), newCrew(t, s, 4), newCrew(t, s, 2)
			l := newLedger(dice(t), 2*time.Second)
			l.put(t, c, "idle", 1)
			if err := l.ackAll(c.take(t, "idle", 1)); err != nil {
				t.Fatal(err)
			}
			subs := c.parkAll(t, "idle", 20)
			var stored atomic.Int64
			crew.begin(func(c *client) error {
				err := l.publish(c, l.draw("orders"))
				if err == nil {
					stored.Add(1)
				}
				return err
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
			eventually(t, "there is load", func() error {
				if n := stored.Load(); n < 100 {
					return equal(n, 100)
				}
				return nil
			})
			begin := time.Now()
			s.signal(sig)
			for _, sub := range subs {
				m, err := sub.NextMsg(patience)
				if err != nil {
					t.Fatal(err)
				}
				if m.Header.Get("Status") != "409" || m.Header.Get("Description") != "Server Shutdown" || m.Header.Get("Nats-Pending-Messages") != "10" {
					t.Errorf("the end of a parked pull: %v", m.Header)
				}
			}
			if code := s.wait(t); code != 0 {
				t.Errorf("exit code %d", code)
			}
			if took := time.Since(begin); took > stopBound {
				t.Errorf("it took %s", took)
			} else {
				t.Logf("stopped in %s, %d publishes before", took, stored.Load())
			}
			crew.end()
			workers.end()
			s.start()
			c.back(t)
			l.drain(t, c)
		})
	}
}

// A publish while the server stops is refused or not answered, never lost after an
// OK; clients that reconnect go on with the next server.
func TestStopLeavesNoTraceOfUnfinishedWork(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	c := s.connect(t)
	l := newLedger(dice(t), 30*time.Second)
	l.put(t, c, "orders", 50)
	held := c.take(t, "orders", 10)
	for _, d := range held {
		l.saw(d)
	}
	s.stop()
	s.start()
	c.back(t)
	if want, got := (counts{Ready: 40, InFlight: 10}), c.info(t, "orders").counts; got != want {
		t.Errorf("after a stop the counts are %+v, want %+v", got, want)
	}
	for _, d := range held { // what was handed out before still counts
		if result, err := l.answer(d, ack); err != nil || result != "ok" {
			t.Errorf("%v: %s, %v", d, result, err)
		}
	}
	l.drain(t, c)
}

// Health and readiness, from the start to the end.
func TestHealth(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	for path, want := range map[string]string{"/healthz": "ready\n", "/readyz": "ready\n"} {
		if code, text := get(t, s, path); code != 200 || text != want {
			t.Errorf("%s: %d %q", path, code, text)
		}
	}
	if code, _ := get(t, s, "/nothing"); code != 404 {
		t.Errorf("/nothing: %d", code)
	}
	if host, _, err := net.SplitHostPort(s.web); err != nil || host != "127.0.0.1" {
		t.Errorf("it listens on %s", s.web)
	}
}

// get asks the server over HTTP.
func get(t testing.TB, s *server, path string) (int, string) {
	t.Helper()
	r, err := http.Get("http://" + s.web + path)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	if err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, string(text)
}
