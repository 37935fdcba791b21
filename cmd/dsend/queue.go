package main

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"dsend/bridge/admin"
)

func newQueueCommand(a *app) *cobra.Command {
	return group("queue", "Look at queues and change them",
		queueLs(a), queueInfo(a), queueAdvise(a), queuePeek(a),
		queuePause(a, "pause", admin.QueuePause, "Stop the deliveries of a queue; publishes go on", "is paused"),
		queuePause(a, "resume", admin.QueueResume, "Start the deliveries of a queue again", "delivers"),
		queuePurge(a), queueRm(a))
}

func queueLs(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "ls", Aliases: []string{"list"}, Short: "List the queues", Args: operands(0, 0),
		Example: "  dsend queue ls\n  dsend queue ls --json | jq '.[] | select(.ready > 100) | .name'",
	}
	c.RunE = a.remote(func(ctx context.Context, l *link, _ []string) error {
		return show(a, queues(ctx, l), "There are no queues.",
			[]string{"NAME", "READY", "IN FLIGHT", "DELAYED", "DEAD", "OLDEST", "SIZE", "STATE"},
			func(q admin.Queue) []any {
				return []any{q.Name, q.Ready, q.InFlight, q.Delayed, q.Dead, oldest(q), size(q.Bytes), state(q)}
			})
	})
	return c
}

func queues(ctx context.Context, l *link) iter.Seq2[admin.Queue, error] {
	var req admin.QueueLsRequest
	return pages(func() ([]admin.Queue, bool, error) {
		page, err := call[admin.QueueLsAnswer](ctx, l, admin.QueueLs, req)
		if n := len(page.Queues); n > 0 {
			req.After = page.Queues[n-1].Name
		}
		return page.Queues, page.More, err
	})
}

func oldest(q admin.Queue) string {
	if q.OldestReadyAt == nil {
		return "-"
	}
	return age(q.OldestReadyAge)
}

func state(q admin.Queue) string {
	var words []string
	if q.Paused {
		words = append(words, "paused")
	}
	if q.Undeclared {
		words = append(words, "not in the configuration")
	}
	if len(words) == 0 {
		return "active"
	}
	return strings.Join(words, ", ")
}

func queueInfo(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "info QUEUE", Short: "Show one queue", Args: operands(1, 1),
		Example: "  dsend queue info orders\n  dsend queue info orders --json | jq .totals",
	}
	c.RunE = a.remote(func(ctx context.Context, l *link, args []string) error {
		q, err := call[admin.Queue](ctx, l, admin.QueueInfo, admin.QueueRequest{Queue: args[0]})
		if err != nil {
			return err
		}
		if a.json {
			return a.printJSON(q)
		}
		return a.describeQueue(q)
	})
	return c
}

// sequenceRange tells the numbers of what is there, and how far they have come.
func sequenceRange(q admin.Queue) string {
	switch {
	case q.LastSeq == 0:
		return "-"
	case q.FirstSeq == 0:
		return fmt.Sprintf("%d was the last", q.LastSeq)
	}
	return fmt.Sprintf("%d to %d", q.FirstSeq, q.LastSeq)
}

func (a *app) describeQueue(q admin.Queue) error {
	t, s := a.table(), q.Settings
	for _, row := range [][2]string{
		{"Queue", q.Name},
		{"State", state(q)},
		{"Declared by", q.Source},
		{"Messages", fmt.Sprintf("%d ready, %d in flight, %d delayed, %d dead", q.Ready, q.InFlight, q.Delayed, q.Dead)},
		{"Dead letters here", fmt.Sprint(q.Letters)},
		{"Size", size(q.Bytes)},
		{"Oldest ready", oldest(q)},
		{"Sequences", sequenceRange(q)},
		{"Workers", fmt.Sprintf("%d pushed to, %d pulls waiting", q.Workers, q.WaitingPulls)},
		{"Dead-letter queue", dash(q.DeadLetterQueue)},
		{"Subjects", dash(strings.Join(s.Subjects, ", "))},
		{"Visibility timeout", visibility(q.VisibilityTimeout, s.VisibilityAuto)},
		{"Max attempts", bound(int64(s.MaxAttempts))},
		{"Max in flight", fmt.Sprint(s.MaxInFlight)},
		{"Max messages", bound(s.MaxMessages)},
		{"Since start", sinceStart(q.Totals)},
	} {
		t.row(row[0], row[1])
	}
	return t.end(nil)
}

func visibility(timeout time.Duration, auto bool) string {
	if auto {
		return timeout.String() + " now, automatic"
	}
	return timeout.String()
}

func sinceStart(t admin.Totals) string {
	return fmt.Sprintf("%d published, %d delivered, %d acked, %d naks, %d timeouts, %d workers gone",
		t.Published, t.Delivered, t.Acked, t.Naked, t.TimedOut, t.Gone)
}

func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func bound(n int64) string {
	if n == 0 {
		return "unlimited"
	}
	return fmt.Sprint(n)
}

func queuePeek(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "peek QUEUE", Short: "Look at messages without taking them", Args: operands(1, 1),
		Long: `Look at messages, in order of sequence, in any state. Nothing changes: no attempt
is counted, nothing is held. With --json bodies are whole, in base64.`,
		Example: "  dsend queue peek orders --limit 20\n  dsend queue peek orders --state delayed\n" +
			"  dsend queue peek orders --limit 0 --json | jq -r '.[].data | @base64d'",
	}
	req := admin.PeekRequest{MaxData: 60}
	limit := c.Flags().Int("limit", 10, "messages at most; 0 is all")
	c.Flags().Uint64Var(&req.From, "from", 0, "first `SEQ`uence")
	c.Flags().StringVar(&req.State, "state", "", "only ready, delayed or in_flight")
	c.PreRunE = func(*cobra.Command, []string) error {
		if *limit < 0 {
			return usagef("--limit %d is negative", *limit)
		}
		return nil
	}
	c.RunE = a.remote(func(ctx context.Context, l *link, args []string) error {
		req.Queue = args[0]
		if a.json {
			req.MaxData = -1
		}
		return show(a, first(*limit, peeked(ctx, a, l, req, *limit)), "There are no such messages.",
			[]string{"SEQ", "STATE", "ATTEMPT", "AGE", "SIZE", "SUBJECT", "BODY"},
			func(m admin.Message) []any {
				return []any{m.Seq, m.State, m.Attempt, a.since(m.PublishedAt), size(int64(m.Size)), m.Subject, preview(m.Data, m.Size)}
			})
	})
	return c
}

func peeked(ctx context.Context, a *app, l *link, req admin.PeekRequest, limit int) iter.Seq2[admin.Message, error] {
	req.Limit = limit
	return pages(func() ([]admin.Message, bool, error) {
		page, err := call[admin.PeekAnswer](ctx, l, admin.QueuePeek, req)
		req.From = page.Next
		for i := range page.Messages {
			if m := &page.Messages[i]; a.json && err == nil {
				err = complete(ctx, l, m.Queue, m.Seq, &m.Content)
			}
		}
		return page.Messages, page.More, err
	})
}

func queuePause(a *app, verb, endpoint, about, sentence string) *cobra.Command {
	c := &cobra.Command{
		Use: verb + " QUEUE", Short: about, Args: operands(1, 1),
		Example: fmt.Sprintf("  dsend queue %s orders", verb),
	}
	c.RunE = a.remote(func(ctx context.Context, l *link, args []string) error {
		q, err := call[admin.Queue](ctx, l, endpoint, admin.QueueRequest{Queue: args[0]})
		if err != nil {
			return err
		}
		return a.say(q, "%s %s", q.Name, sentence)
	})
	return c
}

func queuePurge(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "purge QUEUE", Short: "Remove the messages of a queue, in any state", Args: operands(1, 1),
		Long: `Remove the messages of a queue, whatever their state: also those that are delayed
or with a worker, whose answers then change nothing. Dead letters elsewhere stay.`,
		Example: "  dsend queue purge orders\n  dsend queue purge orders --keep 100 --force",
	}
	var req admin.PurgeRequest
	force := forceFlag(c)
	c.Flags().Uint64Var(&req.Keep, "keep", 0, "leave this many of the newest")
	c.Flags().Uint64Var(&req.Upto, "upto", 0, "remove only up to this `SEQ`uence")
	c.PreRunE = func(*cobra.Command, []string) error { return a.mayDestroy(*force) }
	c.RunE = a.remote(func(ctx context.Context, l *link, args []string) error {
		req.Queue = args[0]
		q, err := call[admin.Queue](ctx, l, admin.QueueInfo, admin.QueueRequest{Queue: req.Queue})
		if err != nil {
			return err
		}
		if err := a.confirm(*force, "Purge queue %s, which has %s?", q.Name, some(q.Messages, "message")); err != nil {
			return err
		}
		gone, err := call[admin.Removed](ctx, l, admin.QueuePurge, req)
		if err != nil {
			return err
		}
		return a.say(gone, "%s of %s removed", some(gone.Removed, "message"), gone.Queue)
	})
	return c
}

func queueRm(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "rm QUEUE", Short: "Remove a queue with all its messages", Args: operands(1, 1),
		Long: `Remove a queue with all its messages. Its dead letters in other queues stay. A queue
that the configuration declares is made again, empty, by the next reload or start.`,
		Example: "  dsend queue rm orders --force",
	}
	force := forceFlag(c)
	c.PreRunE = func(*cobra.Command, []string) error { return a.mayDestroy(*force) }
	c.RunE = a.remote(func(ctx context.Context, l *link, args []string) error {
		q, err := call[admin.Queue](ctx, l, admin.QueueInfo, admin.QueueRequest{Queue: args[0]})
		if err != nil {
			return err
		}
		if err := a.confirm(*force, "Remove queue %s, which has %s?", q.Name, some(q.Messages, "message")); err != nil {
			return err
		}
		gone, err := call[admin.Removed](ctx, l, admin.QueueRm, admin.QueueRequest{Queue: args[0]})
		if err != nil {
			return err
		}
		return a.say(gone, "%s removed, with %s", gone.Queue, some(gone.Removed, "message"))
	})
	return c
}

func forceFlag(c *cobra.Command) *bool {
	return c.Flags().BoolP("force", "f", false, "do not ask")
}
