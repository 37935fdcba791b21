package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"dsend/bridge/admin"
)

func queueAdvise(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "advise QUEUE", Short: "Tell what the visibility timeout should be", Args: operands(1, 1),
		Long: `Tell how long the deliveries of a queue stay unanswered, and what its visibility
timeout should be: above what all but one delivery in a thousand need, with a
margin. A shorter one repeats work whose worker is alive; a longer one lets the
message of a dead worker wait.

What counts is how long a worker says nothing: "in progress" is an answer. A late
answer tells how long was needed after all. Deliveries that are never answered do
not make the timeout longer: their workers are dead, and it is there for them.
(A worker that pulls and goes away gives back what it holds without it.)

What is known is of the last one or two hours, or of the last one or two days
where there are few messages, and of the time since the server started.
"visibility_timeout: auto" in the configuration follows the advice by itself.`,
		Example: "  dsend queue advise orders\n  dsend queue advise orders --json | jq .advised.timeout",
	}
	c.RunE = a.remote(func(ctx context.Context, l *link, args []string) error {
		v, err := call[admin.Advice](ctx, l, admin.QueueAdvise, admin.QueueRequest{Queue: args[0]})
		if err != nil {
			return err
		}
		if a.json {
			return a.printJSON(v)
		}
		if err := a.describeHolds(v); err != nil {
			return err
		}
		return a.describeCosts(v)
	})
	return c
}

// describeHolds tells what the advice comes from.
func (a *app) describeHolds(v admin.Advice) error {
	t := a.table()
	t.row("Queue", v.Queue)
	if v.Answers == 0 {
		t.row("Unanswered for", "not known, as nothing was answered yet")
	} else {
		t.row("Unanswered for", fmt.Sprintf("p50 %s, p99 %s, p99.9 %s", hold(v.Hold50), hold(v.Hold99), hold(v.Hold999)))
		t.row("Of", fmt.Sprintf("%s since %s", some(v.Answers, "answer"), at(v.Since)))
	}
	t.row("Timeouts", timeouts(v))
	if v.Late > 0 {
		t.row("Late answers", fmt.Sprintf("%d, by p50 %s, at most %s", v.Late, hold(v.Late50), hold(v.LateMost)))
	}
	t.row("Visibility timeout", visibility(v.Now.Timeout, v.Auto))
	t.row("Advice", advice(v))
	return t.end(nil)
}

func timeouts(v admin.Advice) string {
	if v.Expired == 0 {
		return "none"
	}
	text := fmt.Sprintf("%d, %d of them with the worker connected", v.Expired, v.Connected)
	if v.Open > 0 {
		text += fmt.Sprintf("; %d may still be answered", v.Open)
	}
	return text
}

func advice(v admin.Advice) string {
	if v.Advised == nil {
		return fmt.Sprintf("none before %d answers", v.Needed)
	}
	return hold(v.Advised.Timeout)
}

// describeCosts tells what the timeout costs that is in force, and the one that
// is advised.
func (a *app) describeCosts(v admin.Advice) error {
	if v.Now.Repeated == nil {
		return nil
	}
	if _, err := fmt.Fprintln(a.out); err != nil {
		return err
	}
	t := a.table("TIMEOUT", "REPEATED", "A DEAD WORKER'S MESSAGE")
	t.row(costs("in force", v.Now, v.Answers)...)
	if v.Advised != nil && v.Advised.Timeout != v.Now.Timeout {
		t.row(costs("advised", *v.Advised, v.Answers)...)
	}
	return t.end(nil)
}

func costs(which string, c admin.TimeoutCost, answers uint64) []any {
	return []any{hold(c.Timeout) + " " + which, share(*c.Repeated, answers), "is delivered again after " + hold(c.Redelivered)}
}

// share is a part of so many things that were seen: of none, it is only known
// that it is less than one of them.
func share(part float64, seen uint64) string {
	if part == 0 {
		return fmt.Sprintf("none of %d", seen)
	}
	return strconv.FormatFloat(100*part, 'g', 2, 64) + " %"
}

// hold is a duration of which three digits are known.
func hold(d time.Duration) string {
	unit := time.Millisecond
	switch {
	case d >= time.Hour:
		unit = time.Minute
	case d >= time.Minute:
		unit = time.Second
	case d >= time.Second:
		unit = 10 * time.Millisecond
	}
	return d.Round(unit).String()
}
