package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"dsend/bridge/admin"
)

func newMsgCommand(a *app) *cobra.Command {
	return group("msg", "Look at one message, remove it, or give it up", msgGet(a), msgRm(a), msgKill(a))
}

// sequence reads the operand SEQ.
func sequence(text string) (uint64, error) {
	seq, err := strconv.ParseUint(text, 10, 64)
	if err != nil || seq == 0 {
		return 0, usagef("%q is not a sequence: a number from 1", text)
	}
	return seq, nil
}

// seqOperand checks the second operand before anybody is asked.
func seqOperand(c *cobra.Command, args []string) error {
	if err := operands(2, 2)(c, args); err != nil {
		return err
	}
	_, err := sequence(args[1])
	return err
}

func msgGet(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "get QUEUE SEQ", Short: "Show one message", Args: seqOperand,
		Long: `Show one message: on a terminal with its headers, and its body as text or a hex
dump. With --raw, or when stdout is not a terminal, the body alone is written,
byte for byte. With --json the body is in base64, and headers are in order.`,
		Example: "  dsend msg get orders 42\n  dsend msg get orders 42 > body.bin\n  dsend msg get orders 42 --json | jq .headers",
	}
	raw := c.Flags().Bool("raw", false, "write the body alone, byte for byte")
	c.RunE = a.remote(func(ctx context.Context, l *link, args []string) error {
		seq, err := sequence(args[1])
		if err != nil {
			return err
		}
		m, err := call[admin.Message](ctx, l, admin.MsgGet, admin.GetRequest{Queue: args[0], Seq: seq})
		if err == nil {
			err = complete(ctx, l, m.Queue, m.Seq, &m.Content)
		}
		switch {
		case err != nil:
			return err
		case a.json:
			return a.printJSON(m)
		case *raw || !a.shows:
			_, err = a.out.Write(m.Data)
			return err
		}
		return a.describeMessage(m)
	})
	return c
}

func (a *app) describeMessage(m admin.Message) error {
	t := a.table()
	t.row("Queue", m.Queue)
	t.row("Sequence", m.Seq)
	t.row("State", m.State)
	t.row("Subject", m.Subject)
	t.row("Published", at(m.PublishedAt))
	t.row("Attempt", m.Attempt)
	t.row("Priority", m.Priority)
	if m.Key != "" {
		t.row("Key", m.Key)
	}
	if m.Blocked {
		t.row("Waits for", "an earlier message of its key")
	}
	for _, row := range []struct {
		name string
		time *time.Time
	}{{"Ready", m.ReadyAt}, {"Deadline", m.Deadline}, {"Expires", m.ExpiresAt}} {
		if row.time != nil {
			t.row(row.name, at(row.time))
		}
	}
	if m.Worker != "" {
		t.row("Worker", m.Worker)
	}
	if m.Letter != nil {
		t.row("Dead", fmt.Sprintf("%s in %s: %s", m.Letter.Reason, m.Letter.OriginQueue, m.Letter.Error))
	}
	if err := t.end(nil); err != nil {
		return err
	}
	if err := a.attempts(m.History); err != nil {
		return err
	}
	return a.content(m.Content)
}

func msgRm(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "rm QUEUE SEQ", Short: "Remove one message, in any state", Args: seqOperand,
		Example: "  dsend msg rm orders 42 --force",
	}
	force := forceFlag(c)
	c.PreRunE = func(*cobra.Command, []string) error { return a.mayDestroy(*force) }
	c.RunE = a.remote(func(ctx context.Context, l *link, args []string) error {
		seq, err := sequence(args[1])
		if err != nil {
			return err
		}
		if err := a.confirm(*force, "Remove 1 message, %d of %s?", seq, args[0]); err != nil {
			return err
		}
		gone, err := call[admin.Removed](ctx, l, admin.MsgRm, admin.MessageRequest{Queue: args[0], Seq: seq})
		if err != nil {
			return err
		}
		return a.say(gone, "message %d of %s removed", seq, gone.Queue)
	})
	return c
}

func msgKill(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "kill QUEUE SEQ", Short: "Move one message to the dead-letter queue now", Args: seqOperand,
		Long:    `Move one message to the dead-letter queue now, whatever its state. dlq replay brings it back.`,
		Example: "  dsend msg kill orders 42 --error 'bad customer number'",
	}
	why := c.Flags().String("error", "", "why; kept with the dead letter")
	c.RunE = a.remote(func(ctx context.Context, l *link, args []string) error {
		seq, err := sequence(args[1])
		if err != nil {
			return err
		}
		dead, err := call[admin.Killed](ctx, l, admin.MsgKill, admin.KillRequest{Queue: args[0], Seq: seq, Error: *why})
		if err != nil {
			return err
		}
		return a.say(dead, "message %d of %s is in %s", dead.Seq, dead.Queue, dead.DLQ)
	})
	return c
}
