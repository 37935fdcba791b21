package main

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"dsend/bridge/admin"
	"dsend/dlq"
)

func newDLQCommand(a *app) *cobra.Command {
	c := group("dlq", "Look at dead letters, replay or remove them",
		dlqLs(a), dlqShow(a), dlqGroups(a), dlqReplay(a), dlqPurge(a), dlqExport(a))
	c.Long = `Look at dead letters, replay or remove them.

QUEUE is the queue whose messages died, or the dead-letter queue by its own name;
by the latter all its letters are meant, from whichever queue they come.
SEQ is the letter's number in the dead-letter queue.`
	return c
}

// picks are the flags that pick letters.
type picks struct {
	reasons      []string
	seq          string
	older, newer time.Duration
	filter       dlq.Filter
	limit        int
}

func pickFlags(c *cobra.Command) *picks {
	p := &picks{}
	f := c.Flags()
	f.StringSliceVar(&p.reasons, "reason", nil, "only max_attempts, terminated, expired, limit_lowered, manual; several with commas")
	f.StringVar(&p.filter.Error, "error", "", "only with this `TEXT` in the last error")
	f.StringVar(&p.filter.Subject, "subject", "", "only of this `SUBJECT`; * and > as in NATS")
	f.StringVar(&p.filter.OriginQueue, "origin", "", "only what died in this `QUEUE`")
	f.DurationVar(&p.older, "older-than", 0, "only what died this long ago or longer")
	f.DurationVar(&p.newer, "newer-than", 0, "only what died less long ago")
	f.StringVar(&p.seq, "seq", "", "only these `SEQ`uences: 5, 1-100 or 100-")
	f.IntVar(&p.limit, "limit", 0, "letters at most; 0 is all")
	return p
}

// pick is what the flags mean.
func (p *picks) pick(queue string) (admin.Pick, error) {
	f := p.filter
	for _, word := range p.reasons {
		r, err := dlq.ParseReason(word)
		if err != nil {
			return admin.Pick{}, usagef("--reason: %v", err)
		}
		f.Reasons = append(f.Reasons, r)
	}
	f.OlderThan, f.NewerThan = p.older, p.newer
	if p.seq != "" {
		var err error
		if f.FirstSeq, f.LastSeq, err = sequences(p.seq); err != nil {
			return admin.Pick{}, err
		}
	}
	if err := f.Validate(); err != nil {
		return admin.Pick{}, usageError{err}
	}
	if p.limit < 0 {
		return admin.Pick{}, usagef("--limit %d is negative", p.limit)
	}
	return admin.Pick{Queue: queue, Filter: f, Limit: p.limit}, nil
}

// remote is a command that looks at the letters of QUEUE that the flags pick.
func (p *picks) remote(a *app, do func(context.Context, *link, admin.Pick) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		pick, err := p.pick(args[0])
		if err != nil {
			return err
		}
		return a.remote(func(ctx context.Context, l *link, _ []string) error { return do(ctx, l, pick) })(c, args)
	}
}

// sequences reads 5, 1-100 or 100-; an open end is 0.
func sequences(text string) (from, to uint64, err error) {
	a, b, dashed := strings.Cut(text, "-")
	if from, err = sequence(a); err != nil {
		return 0, 0, usagef("--seq %q is not a sequence or a range such as 1-100", text)
	}
	switch {
	case !dashed:
		return from, from, nil
	case b == "":
		return from, 0, nil
	}
	if to, err = sequence(b); err != nil || to < from {
		return 0, 0, usagef("--seq %q is not a sequence or a range such as 1-100", text)
	}
	return from, to, nil
}

// letters yields the letters that were picked, with bodies if most is not 0.
func letters(ctx context.Context, l *link, pick admin.Pick, most int) iter.Seq2[admin.Letter, error] {
	req := admin.DLQLsRequest{Pick: pick, MaxData: most}
	return first(pick.Limit, pages(func() ([]admin.Letter, bool, error) {
		page, err := call[admin.DLQLsAnswer](ctx, l, admin.DLQLs, req)
		req.From, req.Through, req.Began = page.Next, page.Through, page.Began
		for i := range page.Letters {
			if letter := &page.Letters[i]; most < 0 && err == nil {
				err = complete(ctx, l, letter.DLQ, letter.Seq, &letter.Content)
			}
		}
		return page.Letters, page.More, err
	}))
}

func dlqLs(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "ls QUEUE", Aliases: []string{"list"}, Short: "List dead letters", Args: operands(1, 1),
		Example: "  dsend dlq ls orders\n  dsend dlq ls orders --reason expired --older-than 24h --json",
	}
	p := pickFlags(c)
	c.RunE = p.remote(a, func(ctx context.Context, l *link, pick admin.Pick) error {
		return show(a, letters(ctx, l, pick, 0), "There are no such dead letters.",
			[]string{"SEQ", "QUEUE", "DIED", "REASON", "ATTEMPTS", "REPLAYS", "SUBJECT", "ERROR"},
			func(d admin.Letter) []any {
				return []any{d.Seq, d.OriginQueue, a.since(&d.DiedAt), d.Reason, d.Attempts, d.Replays, d.OriginSubject, short(d.Error, 60)}
			})
	})
	return c
}

func dlqShow(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "show QUEUE SEQ", Short: "Show one dead letter: its story, headers and body", Args: seqOperand,
		Example: "  dsend dlq show orders 7\n  dsend dlq show orders 7 --json | jq -r '.data | @base64d'",
	}
	c.RunE = a.remote(func(ctx context.Context, l *link, args []string) error {
		seq, err := sequence(args[1])
		if err != nil {
			return err
		}
		d, err := call[admin.Letter](ctx, l, admin.DLQShow, admin.MessageRequest{Queue: args[0], Seq: seq})
		if err == nil {
			err = complete(ctx, l, d.DLQ, d.Seq, &d.Content)
		}
		switch {
		case err != nil:
			return err
		case a.json:
			return a.printJSON(d)
		}
		return a.describeLetter(d)
	})
	return c
}

func (a *app) describeLetter(d admin.Letter) error {
	t := a.table()
	t.row("Dead letter", fmt.Sprintf("%d in %s (%s)", d.Seq, d.DLQ, d.State))
	t.row("Message", fmt.Sprintf("%d of %s", d.OriginSeq, d.OriginQueue))
	t.row("Subject", d.OriginSubject)
	t.row("Reason", d.Reason)
	t.row("Error", dash(d.Error))
	t.row("Attempts", d.Attempts)
	t.row("Replays", d.Replays)
	t.row("Published", at(&d.PublishedAt))
	t.row("Died", at(&d.DiedAt))
	if err := t.end(nil); err != nil {
		return err
	}
	if err := a.attempts(d.History); err != nil {
		return err
	}
	return a.content(d.Content)
}

func dlqExport(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "export QUEUE", Short: "Write dead letters with their bodies to stdout", Args: operands(1, 1),
		Long: `Write dead letters with headers and bodies (base64) to stdout: one JSON document a
line, or one array with --json. They stay where they are.`,
		Example: "  dsend dlq export orders > letters.jsonl\n  dsend dlq export orders --error timeout --json > letters.json",
	}
	p := pickFlags(c)
	c.RunE = p.remote(a, func(ctx context.Context, l *link, pick admin.Pick) error {
		all := letters(ctx, l, pick, -1)
		if a.json {
			return showJSON(a, all)
		}
		for letter, err := range all {
			if err != nil {
				return err
			}
			if err := a.printLine(letter); err != nil {
				return err
			}
		}
		return nil
	})
	return c
}
