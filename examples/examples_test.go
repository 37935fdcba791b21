package examples

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"dsend/testkit"
)

// patience is a failure limit, not a wait.
const patience = 60 * time.Second

func TestProducerAndWorker(t *testing.T) {
	url := serve(t)
	if got, want := run(t, url, "producer"), `{"order":1} is on disk as orders 1, again: false
{"order":2} is on disk as orders 2, again: false
{"order":3} is on disk as orders 3, again: false
`; got != want {
		t.Errorf("producer says\n%swant\n%s", got, want)
	}
	if got := run(t, url, "producer"); strings.Count(got, "again: true") != 3 {
		t.Errorf("the second producer says\n%s", got)
	}
	if got, want := run(t, url, "worker"), `{"order":1}, attempt 1
done: ok
{"order":2}, attempt 1
done: ok
{"order":3}, attempt 1
done: ok
nothing more: 408 Request Timeout
`; got != want {
		t.Errorf("worker says\n%swant\n%s", got, want)
	}
}

func TestPoison(t *testing.T) {
	if got, want := run(t, serve(t), "poison"), `published: {"stream":"parcels","seq":1,"domain":"dsend"}
attempt 1 fails
attempt 2 fails
dead: max_attempts, "weight must be positive"
replayed: weight: -1, attempt 1
done
`; got != want {
		t.Errorf("poison says\n%swant\n%s", got, want)
	}
}

func TestService(t *testing.T) {
	url := serve(t)
	cmd := exec.Command(build(t, "./service"))
	cmd.Env = append(os.Environ(), "NATS_URL="+url)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	begin(t, cmd)
	nc, err := nats.Connect(url)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	if _, err := nc.Request("mail.outbox", []byte("ann@example.org"), patience); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	for _, want := range []string{"cannot reach ann@example.org\n", "sent to ann@example.org\n"} {
		if got, err := lines.ReadString('\n'); got != want {
			t.Fatalf("the service says %q (%v), want %q", got, err, want)
		}
	}
}

// What the programs for JetStream say, in whatever language.
const mails = `on disk as mails 1
mails.welcome to ann@example.org, attempt 1
mails.welcome to ann@example.org, attempt 2
done, and that is on disk
`

func TestJetStream(t *testing.T) {
	if got := run(t, serve(t), "jetstream"); got != mails {
		t.Errorf("jetstream says\n%swant\n%s", got, mails)
	}
}

func TestNode(t *testing.T) {
	modules, err := filepath.Abs("../.cache/node/node_modules")
	if err != nil {
		t.Fatal(err)
	}
	_, err = os.Stat(filepath.Join(modules, "@nats-io", "jetstream"))
	testkit.Need(t, err == nil, "nats.js (mkdir -p .cache/node && cp examples/node/package*.json .cache/node && npm --prefix .cache/node ci)")
	dir := t.TempDir() // node looks for modules beside the program, and nowhere else
	text, err := os.ReadFile("node/worker.mjs")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "worker.mjs"), text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(modules, filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	if got := output(t, serve(t), tool(t, "node"), filepath.Join(dir, "worker.mjs")); got != mails {
		t.Errorf("worker.mjs says\n%swant\n%s", got, mails)
	}
}

func TestC(t *testing.T) {
	_, err := os.Stat("/usr/include/nats/nats.h")
	testkit.Need(t, err == nil, "libnats (apt-get install libnats-dev)")
	binary := filepath.Join(t.TempDir(), "worker")
	if out, err := exec.Command(tool(t, "gcc"), "-Wall", "-Wextra", "-Werror", "-o", binary, "c/worker.c", "-lnats").CombinedOutput(); err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
	if got := output(t, serve(t), binary); got != mails {
		t.Errorf("worker says\n%swant\n%s", got, mails)
	}
}

func TestCLI(t *testing.T) {
	nats := tool(t, "nats")
	t.Setenv("PATH", filepath.Dir(nats)+string(os.PathListSeparator)+os.Getenv("PATH"))
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	got := output(t, serve(t), tool(t, "sh"), "cli/work.sh")
	got = strings.ReplaceAll(got, "\n\n", "\n") // the nats CLI is generous with empty lines
	if want := strings.Repeat("to ann@example.org\n", 4); strings.TrimPrefix(got, "\n") != want {
		t.Errorf("work.sh says\n%swant\n%s", got, want)
	}
}

// tool finds a program that is not of these sources.
func tool(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		if path, err = filepath.Abs(filepath.Join("../.cache/bin", name)); err == nil {
			_, err = os.Stat(path)
		}
	}
	testkit.Need(t, err == nil, name+" (.ci/run installs it)")
	return path
}

// serve runs dsend with the queue of the service example and gives its URL.
func serve(t *testing.T) string {
	t.Helper()
	cmd := exec.Command(build(t, "dsend/cmd/dsend"), "serve", "--file", "service/dsend.yaml", "--auto-create",
		"--listen", "127.0.0.1:0", "--http", "", "--data", filepath.Join(t.TempDir(), "data"))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	cmd.Stderr = &log
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("dsend says\n%s", log.String())
		}
	})
	begin(t, cmd)
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if i := strings.Index(lines.Text(), "nats://"); i >= 0 {
			url := lines.Text()[i:]
			go io.Copy(io.Discard, out) //nolint:errcheck // ends with the process
			return url
		}
	}
	t.Fatal("dsend did not start")
	return ""
}

// begin starts a process that is interrupted when the test ends.
func begin(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt) // it may have ended
		_ = cmd.Wait()
	})
}

// run runs an example in Go to its end and gives what it printed.
func run(t *testing.T, url, name string) string {
	t.Helper()
	return output(t, url, build(t, "./"+name))
}

// output runs a program to its end and gives what it printed.
func output(t *testing.T, url, name string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), "NATS_URL="+url)
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v\n%s", name, err, errs.String())
	}
	return string(out)
}

// workshop is where programs are built, each once.
var workshop string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "dsend-examples-")
	if err != nil {
		panic(err)
	}
	workshop = dir
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

func build(t *testing.T, pkg string) string {
	t.Helper()
	binary := filepath.Join(workshop, filepath.Base(pkg))
	if _, err := os.Stat(binary); err == nil {
		return binary
	}
	if out, err := exec.Command("go", "build", "-o", binary, pkg).CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", pkg, err, out)
	}
	return binary
}
