package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/spf13/cobra"
)

func newPubCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "pub QUEUE [BODY|-]", Short: "Publish a message and wait until it is on disk", Args: operands(1, 2),
		Long: `Publish a message and wait until it is on disk. BODY - is read from stdin; without
BODY the message is empty. --json prints the answer, with --count an array of them.`,
		Example: "  dsend pub orders '{\"id\":1}'\n  dsend pub orders --delay 10m --id order-1 - < order.json\n" +
			"  dsend pub orders x -H 'Dsend-Priority: 9' --count 1000",
	}
	p := publish{a: a}
	f := c.Flags()
	f.StringArrayVarP(&p.headers, "header", "H", nil, "a header, `'Name: value'`; may be repeated")
	f.StringVar(&p.id, "id", "", "message id: a repeated one is stored once (Nats-Msg-Id)")
	f.DurationVar(&p.delay, "delay", 0, "deliver it after this long (Dsend-Delay)")
	f.IntVar(&p.count, "count", 0, "publish it this many times")
	c.RunE = func(c *cobra.Command, args []string) error {
		m, err := p.message(args)
		if err != nil {
			return err
		}
		if c.Flags().Changed("count") && p.count == 0 {
			return usagef("--count 0 publishes nothing")
		}
		return a.remote(func(ctx context.Context, l *link, args []string) error {
			m.Subject = l.prefix + ".publish." + args[0]
			return p.run(ctx, l, m)
		})(c, args)
	}
	return c
}

// publish is one run of pub.
type publish struct {
	a       *app
	headers []string
	id      string
	delay   time.Duration
	count   int
}

// pubAck is the answer to a publish, as JetStream has it.
type pubAck struct {
	Stream    string    `json:"stream"`
	Seq       uint64    `json:"seq"`
	Duplicate bool      `json:"duplicate"`
	Domain    string    `json:"domain"`
	Error     *pubError `json:"error,omitempty"`
}

type pubError struct {
	Code        int    `json:"code"`
	ErrCode     int    `json:"err_code"`
	Description string `json:"description"`
}

func (p *publish) message(args []string) (*nats.Msg, error) {
	m := nats.NewMsg("")
	switch {
	case p.count < 0:
		return nil, usagef("--count %d is negative", p.count)
	case p.delay < 0:
		return nil, usagef("--delay %v is negative", p.delay)
	case strings.ContainsAny(args[0], " .*>\t\r\n") || args[0] == "":
		return nil, usagef("%q is not a queue name", args[0])
	}
	for _, line := range p.headers {
		name, value, ok := strings.Cut(line, ":")
		if !ok || name == "" || strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r > '~' }) || strings.ContainsAny(value, "\r\n") {
			return nil, usagef("--header %q is not 'Name: value'", line)
		}
		m.Header[name] = append(m.Header[name], strings.TrimSpace(value))
	}
	if p.id != "" {
		m.Header["Nats-Msg-Id"] = []string{p.id}
	}
	if p.delay > 0 {
		m.Header["Dsend-Delay"] = []string{p.delay.String()}
	}
	if len(args) < 2 {
		return m, nil
	}
	if m.Data = []byte(args[1]); args[1] == "-" {
		var err error
		if m.Data, err = io.ReadAll(p.a.in); err != nil {
			return nil, fmt.Errorf("stdin: %w", err)
		}
	}
	return m, nil
}

func (p *publish) run(ctx context.Context, l *link, m *nats.Msg) error {
	if p.count == 0 {
		ack, err := publishOne(ctx, l, m)
		if err != nil {
			return err
		}
		if p.a.json {
			return p.a.printJSON(ack)
		}
		return p.a.say(ack, "%s", told(ack))
	}
	acks, err := p.many(ctx, l, m)
	if p.a.json {
		return errors.Join(showJSON(p.a, each(acks)), err)
	}
	if len(acks) > 0 {
		known := 0
		for _, ack := range acks {
			if ack.Duplicate {
				known++
			}
		}
		_, failed := fmt.Fprintf(p.a.out, "%s stored in %s", some(len(acks)-known, "message"), acks[0].Stream)
		if known > 0 && failed == nil {
			_, failed = fmt.Fprintf(p.a.out, ", %d %s there already", known, map[bool]string{true: "was", false: "were"}[known == 1])
		}
		if failed == nil {
			_, failed = fmt.Fprintln(p.a.out)
		}
		err = errors.Join(err, failed)
	}
	return err
}

func told(ack pubAck) string {
	if ack.Duplicate {
		return fmt.Sprintf("message %d of %s was there already", ack.Seq, ack.Stream)
	}
	return fmt.Sprintf("message %d of %s stored", ack.Seq, ack.Stream)
}

func publishOne(ctx context.Context, l *link, m *nats.Msg) (ack pubAck, err error) {
	got, err := l.request(ctx, m)
	if err != nil {
		return ack, err
	}
	if err := json.Unmarshal(got.Data, &ack); err != nil || ack.Stream == "" && ack.Error == nil {
		return ack, fmt.Errorf("%s: the answer is not one of Dsend", m.Subject)
	}
	if ack.Error != nil {
		return ack, errors.New(ack.Error.Description)
	}
	return ack, nil
}

// outstanding is how many publishes of --count wait at the same time, so that
// one sync of the disk serves many.
const outstanding = 256

// many publishes a message many times. Its acks are those that came, in the
// order of the publishes; the first error ends it.
func (p *publish) many(ctx context.Context, l *link, m *nats.Msg) ([]pubAck, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	acks, slots := make([]pubAck, p.count), make(chan struct{}, outstanding)
	var busy sync.WaitGroup
	for i := 0; i < p.count && ctx.Err() == nil; i++ {
		slots <- struct{}{}
		busy.Go(func() {
			defer func() { <-slots }()
			ack, err := publishOne(ctx, l, m)
			if err != nil {
				stop(err)
				return
			}
			acks[i] = ack
		})
	}
	busy.Wait()
	came := acks[:0]
	for _, ack := range acks {
		if ack.Stream != "" {
			came = append(came, ack)
		}
	}
	return came, context.Cause(ctx)
}
