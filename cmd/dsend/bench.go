package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"dsend/cmd/dsend/bench"
)

func newBenchCommand(a *app) *cobra.Command {
	c := group("bench", "Measure how fast it is",
		newBenchLoad(a, "pub QUEUE", "Publish as fast as the answers come, or at a rate",
			`Publish as fast as the answers come, or at a rate. With --rate, a latency counts from
when the publish should have been sent (corrected for coordinated omission). A rate
that the server does not keep up with is cut off when --duration is over. The
messages stay in the queue.`,
			"  dsend bench pub bench --publishers 4 --window 256 --duration 10s\n  dsend bench pub bench --rate 5000 --json",
			bench.Load{Publishers: 4, Window: 256}),
		newBenchLoad(a, "work QUEUE", "Pull and ack what is there",
			`Pull and ack what is there, for a time or a number of messages. The messages are
gone afterwards. What was on its way when it ends is not acked: it comes again, as
after any worker that is gone.`,
			"  dsend bench work bench --workers 2 --batch 500 --count 100000",
			bench.Load{Workers: 2, Batch: 500}),
		newBenchLoad(a, "life QUEUE", "Publish, pull and ack at the same time",
			`Publish, pull and ack at the same time. The latency of a delivery is from its publish
to the worker; messages that waited in the queue before have none. They, too, are
gone afterwards.`,
			"  dsend bench life bench --publishers 2 --workers 2 --duration 10s",
			bench.Load{Publishers: 2, Window: 256, Workers: 2, Batch: 256}),
		newBenchCompare(a), newBenchContender())
	c.Long = `Measure how fast it is. pub, work and life put a load on the server that the other
commands talk to; compare starts by itself what it compares, and needs no server.`
	return c
}

// benchFlags are the flags of a load.
type benchFlags struct {
	load    bench.Load
	mode    string
	metrics string
	device  string
}

func newBenchLoad(a *app, use, short, long, example string, load bench.Load) *cobra.Command {
	f := benchFlags{load: load}
	c := &cobra.Command{Use: use, Short: short, Long: long, Example: example, Args: operands(1, 1)}
	flags := c.Flags()
	if load.Publishers > 0 {
		flags.IntVar(&f.load.Publishers, "publishers", load.Publishers, "connections that publish")
		flags.IntVar(&f.load.Window, "window", load.Window, "publishes of one connection that wait for their answers")
		flags.Float64Var(&f.load.Rate, "rate", 0, "publishes per second in all; 0 is as fast as the answers come")
		flags.IntVar(&f.load.Size, "size", 256, "bytes of a body")
	}
	if load.Workers > 0 {
		flags.IntVar(&f.load.Workers, "workers", load.Workers, "connections that pull and ack")
		flags.IntVar(&f.load.Batch, "batch", load.Batch, "messages that a worker asks for at once")
	}
	flags.DurationVar(&f.load.Duration, "duration", 10*time.Second, "how long; 0 is until --count")
	flags.IntVar(&f.load.Count, "count", 0, "end after so many messages; 0 is no bound")
	flags.StringVar(&f.mode, "mode", string(bench.Native), "whose subjects to use: `native or jetstream`")
	flags.StringVar(&f.metrics, "metrics", "", "`URL` of Dsend's metrics (http://127.0.0.1:8280/metrics), to tell messages per fsync")
	flags.StringVar(&f.device, "device", "", "also measure fdatasync in this `FOLDER`, after the load")
	c.RunE = func(c *cobra.Command, args []string) error { return f.run(c.Context(), a, args[0]) }
	return c
}

func (f *benchFlags) run(ctx context.Context, a *app, queue string) error {
	if err := f.check(queue); err != nil {
		return usageError{err}
	}
	l, err := a.dial()
	if err != nil {
		return err
	}
	l.Close() // it was to see who is there
	login, err := a.login()
	if err != nil {
		return err
	}
	server := bench.Server{URL: login.URL, Options: login.options(), Mode: bench.Mode(f.mode), Prefix: l.prefix, Queue: queue, Metrics: f.metrics}
	result, err := bench.Run(ctx, server, f.load, a.progress())
	if err != nil {
		return err
	}
	if f.device != "" {
		device, err := bench.Device(f.device, deviceTime)
		if err != nil {
			return err
		}
		result.Device = &device
	}
	return a.say(result, "%s", f.sentence(result))
}

// deviceTime is how long the device is measured.
const deviceTime = 2 * time.Second

func (f *benchFlags) check(queue string) error {
	if queue == "" || strings.ContainsAny(queue, " .*>\t\r\n") {
		return fmt.Errorf("%q is not a queue name", queue)
	}
	if f.mode != string(bench.Native) && f.mode != string(bench.JetStream) {
		return fmt.Errorf("--mode %q is neither native nor jetstream", f.mode)
	}
	if f.device != "" {
		if _, err := os.Stat(f.device); err != nil {
			return fmt.Errorf("--device: %w", err)
		}
	}
	return f.load.Check()
}

func (f *benchFlags) sentence(r bench.Result) string {
	text := fmt.Sprintf("%s in %.2fs", r, r.Seconds)
	if d := r.Device; d != nil {
		text += fmt.Sprintf("\nfdatasync in %s: p50 %v, p99 %v", clean(f.device), d.P50.Round(time.Microsecond), d.P99.Round(time.Microsecond))
	}
	return text
}

// progress shows a person how far a load is; nobody else.
func (a *app) progress() func(bench.Progress) {
	if !a.shows || a.json {
		return nil
	}
	return func(p bench.Progress) {
		fmt.Fprintf(a.err, "\r%6.1fs  %d published  %d delivered ", p.Elapsed.Seconds(), p.Published, p.Delivered)
	}
}

func newBenchCompare(a *app) *cobra.Command {
	var short bool
	var write string
	comparer := bench.Comparer{Say: func(format string, args ...any) { fmt.Fprintf(a.err, format+"\n", args...) }}
	c := &cobra.Command{
		Use: "compare", Short: "Compare with an echo and JetStream, in one run on this machine", Args: operands(0, 0),
		Long: `Compare Dsend with an echo without storage, and with JetStream file storage at its
default (no fsync before the answer) and with sync_interval: always. All are
started here, on loopback, take turns, and are removed afterwards. It takes up to
20 minutes and 10 GB of disk; --short a minute.`,
		Example: "  dsend bench compare --short\n  dsend bench compare --only lone",
	}
	flags := c.Flags()
	flags.BoolVar(&short, "short", false, "less of everything: about a minute")
	flags.StringVar(&comparer.Only, "only", "", "one `PART`: "+strings.Join(bench.Parts(), ", "))
	flags.StringVar(&comparer.Dir, "dir", ".", "`FOLDER` for the data of the contenders; its disk is what is measured")
	flags.StringVar(&write, "write", "", "also write the table to this Markdown `FILE`")
	c.RunE = func(c *cobra.Command, _ []string) error {
		if comparer.Plan = bench.Full; short {
			comparer.Plan = bench.Short
		}
		if err := comparer.Known(); err != nil {
			return usageError{err}
		}
		if write != "" { // to learn it now, and not after 20 minutes
			if _, err := os.Stat(filepath.Dir(write)); err != nil {
				return usagef("--write: %w", err)
			}
		}
		self, err := os.Executable()
		if err != nil {
			return err
		}
		comparer.Self = func(args ...string) *exec.Cmd {
			cmd := exec.Command(self, args...)
			cmd.Env, cmd.SysProcAttr = bareEnvironment(), ownGroup()
			return cmd
		}
		result, err := comparer.Compare(c.Context())
		if err != nil {
			return err
		}
		if a.json {
			err = a.printJSON(result)
		} else {
			err = result.Print(a.out)
		}
		if write != "" {
			err = errors.Join(err, writeTable(write, result))
		}
		return err
	}
	return c
}

// bareEnvironment is without what would configure a contender.
func bareEnvironment() (env []string) {
	for _, e := range os.Environ() {
		if !strings.HasPrefix(e, "DSEND_") {
			env = append(env, e)
		}
	}
	return env
}

func writeTable(name string, result bench.Comparison) error {
	var text strings.Builder
	if err := result.Markdown(&text); err != nil {
		return err
	}
	return os.WriteFile(name, []byte(text.String()), 0o644)
}

// newBenchContender is what compare starts beside Dsend.
func newBenchContender() *cobra.Command {
	var data string
	c := &cobra.Command{
		Use: "contender KIND", Short: "Run what Dsend is compared with", Args: operands(1, 1), Hidden: true,
		Example: "  dsend bench contender jetstream --data /var/tmp/jetstream",
	}
	c.Flags().StringVar(&data, "data", "", "`FOLDER` for its data")
	c.RunE = func(c *cobra.Command, args []string) error {
		return bench.Contend(c.Context(), bench.Kind(args[0]), data, os.Stdout)
	}
	return c
}
