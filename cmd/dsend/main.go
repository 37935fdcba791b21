package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
)

func main() {
	// A write to a closed pipe is an error to handle, not a death by signal.
	// Notify, unlike Ignore, is not passed on to the commands that work runs.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal is not waited for
	a := &app{
		in: &interruptible{ctx: ctx, in: os.Stdin}, out: bufio.NewWriter(os.Stdout), err: os.Stderr, env: os.Getenv, now: time.Now,
		asks:  isTerminal(os.Stdin) && isTerminal(os.Stderr),
		shows: isTerminal(os.Stdout),
		signals: func(c chan<- os.Signal) (off func()) {
			signal.Notify(c, os.Interrupt, syscall.SIGTERM)
			return func() { signal.Stop(c) }
		},
	}
	os.Exit(a.run(ctx, os.Args[1:]))
}

// app is one run of dsend: the world it has, and the flags of every command.
type app struct {
	in  io.Reader
	out *bufio.Writer // flushed when the command ends
	err io.Writer
	env func(string) string
	now func() time.Time

	asks    bool                          // somebody is there to answer a question
	shows   bool                          // stdout is read by a person
	signals func(chan<- os.Signal) func() // signal.Notify and its Stop, for work

	json    bool
	server  string
	context string
	prefix  string
	timeout time.Duration
}

// The exit codes.
const (
	exitOK = iota
	exitFailed
	exitUsage
)

// usageError is a command line that cannot be meant.
type usageError struct{ error }

func usagef(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// run executes one command line and returns the exit code.
func (a *app) run(ctx context.Context, args []string) int {
	root := newRoot(a)
	root.SetArgs(args)
	root.SetOut(a.out)
	root.SetErr(a.err)
	err := root.ExecuteContext(ctx)
	if flushed := a.out.Flush(); err == nil {
		err = flushed
	}
	return a.report(ctx, err)
}

// report says what went wrong, in one line, and returns the exit code.
func (a *app) report(ctx context.Context, err error) int {
	var usage usageError
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, syscall.EPIPE), errors.Is(err, io.ErrClosedPipe):
		return exitFailed // whoever read has what they wanted
	case errors.As(err, &usage):
		a.complain(err.Error())
		return exitUsage
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		a.complain("interrupted")
		return exitFailed
	}
	a.complain(err.Error())
	return exitFailed
}

// complain writes an error, a line for each of its lines: a configuration may
// have several faults.
func (a *app) complain(text string) {
	for line := range strings.Lines(text) {
		fmt.Fprintf(a.err, "dsend: %s\n", oneLine(line))
	}
}

func newRoot(a *app) *cobra.Command {
	root := group("dsend", "A durable work queue on NATS",
		newServeCommand(),
		newQueueCommand(a), newMsgCommand(a), newDLQCommand(a),
		newPubCommand(a), newWorkCommand(a), newBenchCommand(a),
		newBackupCommand(a), newRestoreCommand(a),
		newVerifyCommand(a), newRepairCommand(a), newLogCommand(a),
		newReloadCommand(a), newConfigCommand(a), newVersionCommand(a))
	root.Long = `A durable work queue on NATS: a publish is answered only when the message is on
disk; a message is owned by one worker at a time until that worker answers; a
failure waits longer each time; what keeps failing lands in a dead-letter queue.

The connection is found as the nats command finds it: --server or NATS_URL,
--context or NATS_CONTEXT or the selected context, and NATS_CREDS, NATS_USER and
NATS_PASSWORD, NATS_TOKEN, NATS_NKEY, NATS_CERT, NATS_KEY, NATS_CA, NATS_TIMEOUT.
Secrets are not taken from flags.

Exit codes: 0 done, 1 failed, 2 wrong usage.`
	root.Example = `  dsend serve
  dsend pub orders '{"id":1}'
  dsend work orders -- ./handle-order
  dsend queue ls`
	root.SilenceErrors, root.SilenceUsage = true, true
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	flags := root.PersistentFlags()
	flags.BoolVar(&a.json, "json", false, "print exactly one JSON document")
	flags.StringVarP(&a.server, "server", "s", "", "NATS server `URL`s (NATS_URL)")
	flags.StringVar(&a.context, "context", "", "NATS context, by `NAME` or file (NATS_CONTEXT)")
	flags.StringVar(&a.prefix, "prefix", "", "subject `PREFIX` of Dsend (DSEND_PREFIX, else dsend)")
	flags.DurationVar(&a.timeout, "timeout", 0, "how long to wait for an answer (NATS_TIMEOUT, else 5s)")
	return root
}

// group is a command that only has others below it.
func group(use, short string, commands ...*cobra.Command) *cobra.Command {
	c := &cobra.Command{Use: use, Short: short, Args: cobra.ArbitraryArgs}
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) > 0 {
			return usagef("unknown command %q for %q", args[0], c.CommandPath())
		}
		return c.Help()
	}
	c.AddCommand(commands...)
	return c
}

// operands checks the number of operands; most below 0 is any number.
func operands(least, most int) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		if len(args) < least || most >= 0 && len(args) > most {
			return usagef("usage: %s", strings.TrimSuffix(c.UseLine(), " [flags]"))
		}
		return nil
	}
}
