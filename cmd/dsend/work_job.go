package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"

	"dsend/dlq"
)

// job is one message and the command that works on it.
type job struct {
	*slot
	m     *nats.Msg
	seq   uint64
	tries uint64
	tail  tail // of its stderr
}

// handle has a message worked on, and answers it.
func (s *slot) handle(m *nats.Msg) {
	meta, err := m.Metadata()
	if err != nil {
		s.warn("a delivery on %s is not one of Dsend: %s", m.Reply, plain(err))
		return
	}
	j := &job{slot: s, m: m, seq: meta.Sequence.Stream, tries: meta.NumDelivered}
	interrupted, err := j.run()
	switch {
	case err == nil:
		j.answer("+ACK", func(w *worked) { w.Acked++ })
	case interrupted:
		s.giveBack(m)
	default:
		j.answer(nak(err.Error()), func(w *worked) { w.Failed++ })
	}
}

// nak is a failed attempt with its error.
func nak(text string) string {
	body, err := json.Marshal(map[string]string{"error": dlq.TrimError(text)})
	if err != nil { // a map of strings, always marshalled
		return "-NAK"
	}
	return "-NAK " + string(body)
}

// giveBack says that a message was not worked on.
func (s *slot) giveBack(m *nats.Msg) {
	j := &job{slot: s, m: m}
	if meta, err := m.Metadata(); err == nil {
		j.seq = meta.Sequence.Stream
	}
	j.answer(`-NAK {"count":false}`, func(w *worked) { w.GivenBack++ })
}

// run runs the command to its end. interrupted tells that a signal came before
// that; then a failure is not the message's.
func (j *job) run() (interrupted bool, err error) {
	c := exec.Command(j.command[0], j.command[1:]...)
	c.Stdin = bytes.NewReader(j.m.Data)
	c.Stdout, c.Stderr = j.out, io.MultiWriter(&j.tail, j.err)
	c.Env = append(c.Environ(), j.environment()...)
	c.SysProcAttr = ownGroup()
	c.WaitDelay = time.Second // for pipes that its own children hold open
	if err := c.Start(); err != nil {
		return false, err
	}
	exited, watched := make(chan struct{}), make(chan bool, 1)
	go func() { watched <- j.watch(c.Process.Pid, exited) }()
	err = c.Wait()
	close(exited)
	interrupted = <-watched
	if err == nil || errors.Is(err, exec.ErrWaitDelay) && c.ProcessState.Success() {
		return interrupted, nil
	}
	return interrupted, j.failed(err)
}

func (j *job) failed(err error) error {
	if text := j.tail.String(); text != "" {
		return fmt.Errorf("%w: %s", err, text)
	}
	return err
}

// watch keeps the message while the command runs, and passes signals on to its
// process group. It tells whether there was one.
func (j *job) watch(group int, exited <-chan struct{}) (interrupted bool) {
	beat := time.NewTicker(j.rhythm(time.Now()))
	defer beat.Stop()
	first := j.stops.first
	for {
		select {
		case <-exited:
			return interrupted
		case <-beat.C:
			_ = j.link.Publish(j.m.Reply, []byte("+WPI")) // the next one will do as well
		case <-first:
			first, interrupted = nil, true
			j.signal(group, j.stops.sig)
		case <-j.hurry.Done():
			j.signal(group, syscall.SIGKILL)
			<-exited
			return true
		}
	}
}

// The bounds of the rhythm of "in progress". The upper one is below a third of
// the usual visibility timeout, so that a clock that differs from the server's
// does no harm there.
const (
	fastest = 50 * time.Millisecond
	slowest = 10 * time.Second
)

// rhythm is a third of the time that the message was handed out for.
func (j *job) rhythm(now time.Time) time.Duration {
	deadline, err := time.Parse(time.RFC3339Nano, j.m.Header.Get("Dsend-Deadline"))
	if err != nil {
		return slowest
	}
	return min(max(deadline.Sub(now)/3, fastest), slowest)
}

// answer tells Dsend what became of a message, until that is confirmed.
func (j *job) answer(verb string, count func(*worked)) {
	for range answerTries {
		result, err := j.confirm(verb)
		switch {
		case err == nil && (result == "" || result == "ok" || result == "late"):
			j.tally(count)
			return
		case err == nil:
			j.tally(func(w *worked) { w.Stale++ })
			j.warn("message %d of %s: the answer changed nothing (%s)", j.seq, j.queue, result)
			return
		}
		if !j.again(err) {
			break
		}
	}
	j.tally(func(w *worked) { w.Unknown++ })
	j.warn("message %d of %s: the answer %s was not confirmed", j.seq, j.queue, verb)
}

// answerTries bounds the repetitions of an answer; they are harmless.
const answerTries = 10

// confirm sends an answer once, and gives what Dsend says it led to.
func (j *job) confirm(verb string) (result string, err error) {
	ctx, cancel := context.WithTimeout(j.hurryLater(), j.link.timeout)
	defer cancel()
	got, err := j.link.RequestWithContext(ctx, j.m.Reply, []byte(verb))
	if err != nil {
		return "", err
	}
	return got.Header.Get("Dsend-Result"), nil
}

// hurryLater is the patience for answers: also after a second signal, what was
// killed is still given back.
func (j *job) hurryLater() context.Context { return context.WithoutCancel(j.hurry) }

// again waits before an answer is repeated, and tells whether to.
func (j *job) again(err error) bool {
	if errors.Is(err, nats.ErrConnectionClosed) || j.link.denied.Err() != nil || j.hurry.Err() != nil {
		return false
	}
	t := time.NewTimer(pullPause)
	defer t.Stop()
	select {
	case <-t.C:
	case <-j.hurry.Done():
	}
	return true
}

// environment tells the command what its message is.
func (j *job) environment() []string {
	env := []string{
		"DSEND_QUEUE=" + j.queue,
		"DSEND_SEQ=" + strconv.FormatUint(j.seq, 10),
		"DSEND_ATTEMPT=" + strconv.FormatUint(j.tries, 10),
		"DSEND_SUBJECT=" + j.m.Subject,
		"DSEND_DEADLINE=" + j.m.Header.Get("Dsend-Deadline"),
	}
	if all, err := json.Marshal(j.m.Header); err == nil && len(j.m.Header) > 0 {
		env = append(env, "DSEND_HEADERS="+string(all))
	}
	for name, values := range j.m.Header {
		if len(values) > 0 && !strings.Contains(values[0], "\x00") {
			env = append(env, "DSEND_HEADER_"+variable(name)+"="+values[0])
		}
	}
	return env
}

// variable is a header's name as that of a variable.
func variable(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return r - 'a' + 'A'
		case r >= 'A' && r <= 'Z', r >= '0' && r <= '9':
			return r
		}
		return '_'
	}, name)
}

// signal passes a signal on to a process group; that it has just ended is fine.
func (j *job) signal(group int, sig any) {
	if s, ok := sig.(syscall.Signal); ok {
		_ = syscall.Kill(-group, s)
	}
}

// tail keeps the end of what is written to it.
type tail struct{ b []byte }

// tailSize is below what Dsend keeps of an error, with room for an exit code.
const tailSize = dlq.MaxError - 64

func (t *tail) Write(p []byte) (int, error) {
	t.b = append(t.b, p...)
	if over := len(t.b) - tailSize; over > 0 {
		t.b = append(t.b[:0], t.b[over:]...)
	}
	return len(p), nil
}

func (t *tail) String() string { return strings.TrimSpace(strings.ToValidUTF8(string(t.b), "")) }
