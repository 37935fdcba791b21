package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/spf13/cobra"
)

func newWorkCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "work QUEUE -- COMMAND [ARG...]", Short: "Run a command for each message", Args: operands(2, -1),
		Long: `Run a command for each message of a queue, with the body on its stdin. Exit code 0 is
an ack; any other is a failed attempt, with the end of its stderr as the error.
While it runs the message stays its own, however long it takes.

The command's environment tells the rest: DSEND_QUEUE, DSEND_SEQ, DSEND_ATTEMPT,
DSEND_SUBJECT, DSEND_DEADLINE, DSEND_HEADER_<NAME> (first value; letters and digits,
others as _) and DSEND_HEADERS, all of them as a JSON object of lists.

SIGINT and SIGTERM are passed on to the commands that run, each in a process group
of its own. No more messages are taken; a command that then succeeds is an ack, any
other gives its message back without counting the attempt. After --grace, or at a
second signal, what still runs is killed. With --json the output of the commands
goes to stderr, and stdout has the counts.`,
		Example: "  dsend work orders -- ./handle-order\n  dsend work orders --concurrency 4 -- sh -c 'jq .id >> ids'\n" +
			"  dsend work orders --stop-when-empty -- cat",
	}
	w := &work{a: a}
	f := c.Flags()
	f.IntVar(&w.concurrency, "concurrency", 1, "commands at the same time")
	f.IntVar(&w.count, "count", 0, "stop after this many messages; 0 is never")
	f.BoolVar(&w.stopWhenEmpty, "stop-when-empty", false, "stop when no message is ready")
	f.DurationVar(&w.grace, "grace", 10*time.Second, "how long commands may run on after a signal")
	c.RunE = func(c *cobra.Command, args []string) error {
		switch {
		case c.ArgsLenAtDash() != 1:
			return usagef("usage: dsend work QUEUE -- COMMAND [ARG...]")
		case strings.ContainsAny(args[0], " .*>\t\r\n") || args[0] == "":
			return usagef("%q is not a queue name", args[0])
		case w.concurrency < 1 || w.count < 0 || w.grace < 0:
			return usagef("--concurrency must be above 0, --count and --grace not below")
		}
		w.queue, w.command = args[0], args[1:]
		if _, err := exec.LookPath(w.command[0]); err != nil {
			return err
		}
		return w.run()
	}
	return c
}

// work is one run of the command.
type work struct {
	a             *app
	queue         string
	command       []string
	concurrency   int
	count         int
	stopWhenEmpty bool
	grace         time.Duration

	link     *link
	pulling  context.Context // ends when no more messages are wanted
	hurry    context.Context // ends when what still runs is killed
	stopPull context.CancelCauseFunc
	stops    *signals
	served   atomic.Bool // Dsend has answered
	out, err io.Writer   // of the commands

	mu      sync.Mutex
	tickets int // messages that may still be asked for
	done    worked
}

// worked counts what was done.
type worked struct {
	Acked     int `json:"acked"`
	Failed    int `json:"failed"`
	GivenBack int `json:"given_back"`
	Stale     int `json:"stale"`       // answered when it was too late to matter
	Unknown   int `json:"unconfirmed"` // answered, but whether that arrived is not known
}

// run works until it is told to stop, or there is nothing more to do. It returns
// when every slot has ended.
func (w *work) run() error {
	l, err := w.a.dial(nats.MaxReconnects(-1), nats.ReconnectWait(time.Second))
	if err != nil {
		return err
	}
	defer l.Close()
	w.link, w.tickets = l, w.count
	w.err = &passing{w: w, to: w.a.err}
	if w.out = w.err; !w.a.json {
		w.out = &passing{w: w, to: w.a.out, flush: w.a.out.Flush}
	}
	var kill context.CancelFunc
	w.pulling, w.stopPull = context.WithCancelCause(context.Background())
	w.hurry, kill = context.WithCancel(context.Background())
	defer kill()
	w.stops = newSignals(w.a.signals, w.grace, func() { w.stopPull(nil) }, kill)
	defer w.stops.end()
	defer context.AfterFunc(l.denied, func() { w.stopPull(context.Cause(l.denied)) })()

	var slots sync.WaitGroup
	for range w.concurrency {
		slots.Go(func() {
			s, err := newSlot(w)
			if err != nil {
				w.stopPull(err)
				return
			}
			s.run()
		})
	}
	slots.Wait()
	return w.report()
}

func (w *work) report() error {
	err := context.Cause(w.pulling)
	if errors.Is(err, context.Canceled) {
		err = nil // it was told to stop
	}
	if w.a.json {
		err = errors.Join(w.a.printJSON(w.done), err)
	}
	if n := w.done.Unknown; n > 0 && err == nil {
		err = fmt.Errorf("%d answers were not confirmed", n)
	}
	return err
}

// ticket tells whether another message may be asked for. If none comes it is
// given back with refund.
func (w *work) ticket() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.count > 0 && w.tickets == 0 {
		return false
	}
	w.tickets--
	return true
}

func (w *work) refund() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tickets++
}

func (w *work) tally(add func(*worked)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	add(&w.done)
}

// warn says something on the way, in one line.
func (w *work) warn(format string, args ...any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	fmt.Fprintf(w.a.err, "dsend: %s\n", oneLine(fmt.Sprintf(format, args...)))
}

// passing is the output of commands on its way to that of this process. It
// always takes everything: a closed stdout ends the work, not the commands.
type passing struct {
	w     *work
	to    io.Writer
	flush func() error // nil is none
}

func (p *passing) Write(b []byte) (int, error) {
	p.w.mu.Lock()
	defer p.w.mu.Unlock()
	_, err := p.to.Write(b)
	if err == nil && p.flush != nil {
		err = p.flush()
	}
	if err != nil {
		p.w.stopPull(err)
	}
	return len(b), nil
}

// signals passes on what this process is told to the commands that run: the
// first signal also stops the pulling, the second one, or the end of the grace,
// kills.
type signals struct {
	first chan struct{} // closed at the first signal
	sig   os.Signal     // which; set before that
	quit  chan struct{}
	ended chan struct{}
}

func newSignals(notify func(chan<- os.Signal) func(), grace time.Duration, stop, kill func()) *signals {
	s := &signals{first: make(chan struct{}), quit: make(chan struct{}), ended: make(chan struct{})}
	c := make(chan os.Signal, 2)
	off := notify(c)
	go func() {
		defer close(s.ended)
		defer off()
		select {
		case s.sig = <-c:
			close(s.first)
			stop()
		case <-s.quit:
			return
		}
		t := time.NewTimer(grace)
		defer t.Stop()
		select {
		case <-c:
		case <-t.C:
		case <-s.quit:
			return
		}
		kill()
	}()
	return s
}

// end stops listening and returns when nothing of it runs.
func (s *signals) end() {
	close(s.quit)
	<-s.ended
}
