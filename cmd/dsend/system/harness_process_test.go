package system

import (
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// process is one run of the binary.
type process struct {
	cmd    *exec.Cmd
	out    journal
	err    journal
	ended  chan struct{} // closed when it has ended and all it wrote is read
	ready  chan struct{} // closed when the banner of serve is there
	listen string        // as the banner says
	data   string
	http   string
	stale  bool // so many runs followed that it is of no interest if the test fails
}

// launch runs dsend with arguments. It ends with the test at the latest.
func launch(t testing.TB, env []string, args ...string) *process {
	t.Helper()
	return launchBinary(t, binary(t), env, args...)
}

// launchBinary is launch of another build of dsend.
func launchBinary(t testing.TB, path string, env []string, args ...string) *process {
	t.Helper()
	p := &process{cmd: exec.Command(path, args...), ended: make(chan struct{}), ready: make(chan struct{})}
	p.cmd.Dir, p.cmd.Env = t.TempDir(), environment(t, env)
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	p.out.heard = p.banner
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr, err := p.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var reading sync.WaitGroup
	reading.Go(func() { p.out.read(stdout) })
	reading.Go(func() { p.err.read(stderr) })
	go func() {
		reading.Wait()
		_ = p.cmd.Wait() // its state says it
		close(p.ended)
	}()
	t.Cleanup(func() { p.over(t) })
	return p
}

// environment is that of the test without what would reach into dsend.
func environment(t testing.TB, more []string) (env []string) {
	for _, e := range os.Environ() {
		if !strings.HasPrefix(e, "DSEND_") && !strings.HasPrefix(e, "NATS_") && !strings.HasPrefix(e, "XDG_") {
			env = append(env, e)
		}
	}
	return append(append(env, "XDG_CONFIG_HOME="+t.TempDir()), more...)
}

// banner reads what serve says when it is ready.
func (p *process) banner(line string) {
	line = strings.TrimSpace(line)
	for sign, value := range map[string]*string{
		"listening on  ": &p.listen, "data in       ": &p.data, "health and metrics on  ": &p.http,
	} {
		if text, ok := strings.CutPrefix(line, sign); ok {
			*value = text
		}
	}
	if line == "try" { // what follows is for people
		close(p.ready)
	}
}

// over makes sure that a run has ended, and tells of it if the test failed.
func (p *process) over(t testing.TB) {
	select {
	case <-p.ended:
	default:
		_ = p.cmd.Process.Kill()
		<-p.ended
	}
	if lines := p.err.crashes(); len(lines) > 0 {
		t.Errorf("the process crashed or raced: %s\n%s", lines[0], p.err.last(200))
	} else if t.Failed() && !p.stale {
		t.Logf("stderr of process %d (%v):\n%s", p.cmd.Process.Pid, p.cmd.ProcessState, p.err.last(60))
	}
}

// wait gives the exit code of a process that ends by itself; -1 is a signal.
func (p *process) wait(t testing.TB) int {
	t.Helper()
	select {
	case <-p.ended:
		return p.cmd.ProcessState.ExitCode()
	case <-time.After(patience):
		t.Fatalf("the process does not end:\n%s", p.err.last(60))
		return 0
	}
}
