package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"dsend/cmd/dsend/config"
)

// newServeCommand is dsend serve: everything that runs, in one process.
func newServeCommand() *cobra.Command {
	var file string
	c := &cobra.Command{
		Use:   "serve",
		Short: "Run the queues",
		Long: `Run the queues: an embedded NATS server, the log on disk, health and metrics.
With server.leaf it joins a NATS server that runs already, by its leafnode port.

Without anything it listens on 127.0.0.1:4222, keeps its data in ./dsend-data and
creates a queue on its first publish. A configuration file, the environment
(DSEND_…) and flags change that, in rising order. SIGHUP or "dsend reload" reads
them again; SIGINT or SIGTERM stops in order.`,
		Example: `  dsend serve
  dsend serve --file dsend.yaml --listen 127.0.0.1:4333
  DSEND_SERVER_LEAF=nats://user:password@nats.example:7422 dsend serve`,
		Args: operands(0, 0),
	}
	c.Flags().StringVarP(&file, "file", "f", "", "configuration `FILE` (DSEND_CONFIG)")
	config.AddFlags(c.Flags())
	c.RunE = func(c *cobra.Command, _ []string) error {
		load := func() (*config.Config, error) {
			return config.Load(config.Options{File: file, Env: os.Environ(), Flags: c.Flags()})
		}
		for _, name := range []string{"server", "context", "timeout", "json"} {
			if c.Flags().Changed(name) {
				return usagef("--%s is for commands that ask a server; this one is it", name)
			}
		}
		cfg, err := load()
		if err != nil {
			return err
		}
		n := newNode(cfg, load, c.ErrOrStderr())
		if f := c.Flags().Lookup("leaf"); f.Changed && strings.Contains(f.Value.String(), "@") {
			n.log.Warn("whoever lists processes sees the password in --leaf: put it into the file or DSEND_SERVER_LEAF")
		}
		return n.run(c.Context(), func(n *node) { greet(c.OutOrStdout(), n) })
	}
	c.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return usageError{config.FlagError(c.Flags(), err)}
	})
	return c
}

// greet tells where everything is, and what to try.
func greet(w io.Writer, n *node) {
	where := "listening on"
	if n.cfg.Server.Leaf != "" {
		where = "attached to "
	}
	fmt.Fprintf(w, `dsend is ready
  %s  %s
  data in       %s
`, where, n.server.URL(), n.cfg.Storage.Dir)
	if n.http != nil {
		fmt.Fprintf(w, "  health and metrics on  http://%s\n", n.http.Addr())
	}
	at, prefix, name := "", "", "orders"
	switch url := n.server.URL(); {
	case n.cfg.Server.Leaf != "": // it is not known where that server's clients connect
	case url != "nats://127.0.0.1:4222":
		at = " -s " + url
	}
	if n.cfg.Prefix != "dsend" {
		prefix = " --prefix " + n.cfg.Prefix
	}
	if !n.cfg.AutoCreate && len(n.cfg.Queues) > 0 {
		name = n.cfg.Queues[0].Name
	}
	fmt.Fprintf(w, `
try
  nats%[1]s request %[2]s.publish.%[3]s 'hello'
  nats%[1]s reply %[2]s.work.%[3]s --queue workers 'done'
  dsend%[1]s%[4]s queue ls
`, at, n.cfg.Prefix, name, prefix)
	if f, ok := w.(interface{ Flush() error }); ok {
		_ = f.Flush() // whoever reads stdout may be gone; the log goes on
	}
}

// hangups gives the SIGHUPs that come while ctx is alive.
func hangups(ctx context.Context) <-chan os.Signal {
	c := make(chan os.Signal, 1)
	signal.Notify(c, syscall.SIGHUP)
	context.AfterFunc(ctx, func() { signal.Stop(c) })
	return c
}
