package clients

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// nodeModules is where .ci/run installs what examples/node/package.json asks for.
const nodeModules = "../../../../.cache/node/node_modules"

// nodeProgram gives a command for a JavaScript program of these sources. The program
// is copied beside its modules: node looks for them there and nowhere else.
func nodeProgram(t testing.TB, script string, args ...string) *exec.Cmd {
	t.Helper()
	node, err := exec.LookPath("node")
	need(t, err == nil, "node 20 or later (apt-get install nodejs npm)")
	modules, err := filepath.Abs(nodeModules)
	if err != nil {
		t.Fatal(err)
	}
	_, err = os.Stat(filepath.Join(modules, "@nats-io", "jetstream"))
	need(t, err == nil, "nats.js (mkdir -p .cache/node && cp examples/node/package*.json .cache/node && npm --prefix .cache/node ci)")
	dir := t.TempDir()
	text, err := os.ReadFile(script)
	if err != nil {
		t.Fatal(err)
	}
	copied := filepath.Join(dir, filepath.Base(script))
	if err := os.WriteFile(copied, text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(modules, filepath.Join(dir, "node_modules")); err != nil {
		t.Fatal(err)
	}
	return exec.CommandContext(t.Context(), node, append([]string{copied}, args...)...)
}

// cProgram builds a C program of these sources with libnats.
func cProgram(t testing.TB, source string, args ...string) *exec.Cmd {
	t.Helper()
	gcc, err := exec.LookPath("gcc")
	need(t, err == nil, "gcc (apt-get install gcc)")
	_, err = os.Stat("/usr/include/nats/nats.h")
	need(t, err == nil, "libnats (apt-get install libnats-dev)")
	binary := filepath.Join(t.TempDir(), "program")
	if out, err := exec.Command(gcc, "-Wall", "-Wextra", "-Werror", "-O1", "-o", binary, source, "-lnats").CombinedOutput(); err != nil {
		t.Fatalf("gcc %s: %v\n%s", source, err, out)
	}
	return exec.CommandContext(t.Context(), binary, args...)
}

// play runs a program to its end and notes what it says. told is called for other
// lines than pass and fail.
func (r *run) play(s *server, cmd *exec.Cmd, told func(line string)) {
	r.Helper()
	cmd.Env = environment([]string{"NATS_URL=" + s.url()})
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var complaints bytes.Buffer
	cmd.Stderr = &complaints
	out, err := cmd.StdoutPipe()
	if err != nil {
		r.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		r.Fatal(err)
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		line := lines.Text()
		if op, ok := strings.CutPrefix(line, "pass "); ok {
			matrix.put(r.client, op, "pass")
		} else if text, ok := strings.CutPrefix(line, "fail "); ok {
			op, _, _ := strings.Cut(text, ":")
			matrix.put(r.client, op, "FAIL")
			r.Errorf("%s: %s", r.client, text)
		} else {
			told(line)
		}
	}
	if err := cmd.Wait(); err != nil {
		r.Errorf("%s: %v\n%s", r.client, err, complaints.String())
	}
}

// killing restarts the server when a program asks for it, and checks that it did.
func (r *run) killing(s *server, cmd *exec.Cmd) {
	r.Helper()
	kills := 0
	r.play(s, cmd, func(line string) {
		if line != "kill" {
			r.Logf("%s: %s", r.client, line)
			return
		}
		kills++
		s.restart()
	})
	if kills != 1 {
		r.Errorf("%s: the server was killed %d times, not once", r.client, kills)
	}
}

// did checks that a client did all of these operations.
func (r *run) did(ops ...string) {
	r.Helper()
	matrix.mu.Lock()
	defer matrix.mu.Unlock()
	for _, op := range ops {
		if matrix.cells[[2]string{r.client, op}] == "" {
			r.Errorf("%s never did: %s", r.client, op)
		}
	}
}

func TestNatsJS(t *testing.T) {
	for client, args := range map[string][]string{"nats.js": nil, "nats.js, domain dsend": {"dsend"}} {
		t.Run(client, func(t *testing.T) {
			t.Parallel()
			cmd := nodeProgram(t, "node/matrix.mjs", args...)
			r := &run{t, client}
			r.killing(serve(t), cmd)
			r.did(strings.Split("account info,stream create,stream update,stream info,publish,fetch,next,consume,ack,double ack,"+
				"nak,in progress,term,metadata,life,server killed,consumer delete,stream delete", ",")...)
		})
	}
}

func TestNatsC(t *testing.T) {
	for client, args := range map[string][]string{"nats.c": nil, "nats.c, domain dsend": {"dsend"}} {
		t.Run(client, func(t *testing.T) {
			t.Parallel()
			cmd := cProgram(t, "c/matrix.c", args...)
			r := &run{t, client}
			r.killing(serve(t), cmd)
			r.did(strings.Split("stream create,publish,publish async,fetch,double ack,nak,term,metadata,life,server killed", ",")...)
		})
	}
}
