package main

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"dsend/durable/queue"
)

func newLogCommand(a *app) *cobra.Command {
	cat := &cobra.Command{
		Use: "cat DIR", Short: "Print the records of a stopped server's log", Args: operands(1, 1),
		Long: `Print every record in the log of the data folder DIR, one a line, oldest first: the
number of its commit, what it is, its fields. A queue is called by its number, which
the queue's own record explains. Bodies are told by their length. With --json each
line is a JSON document. Commits that are lost are told in their place, and then the
exit code is 1.`,
		Example: "  dsend log cat ./dsend-data\n  dsend log cat --json ./dsend-data | jq 'select(.kind == \"die\")'",
	}
	cat.RunE = func(_ *cobra.Command, args []string) (err error) {
		l, err := surveyLog(args[0])
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, l.Close()) }()
		err = l.Commits(func(commit uint64, data []byte) error {
			err := queue.ReadRecords(data, func(r queue.Record) error { return a.printRecord(commit, r) })
			if err != nil {
				return fmt.Errorf("commit %d: %w", commit, err)
			}
			return nil
		}, a.printLost)
		if err == nil && l.Damaged() {
			err = fmt.Errorf("%s is damaged: %s", l.Dir, l.Places[0])
		}
		return err
	}
	return group("log", "Look at the log of a stopped server", cat)
}

func (a *app) printRecord(commit uint64, r queue.Record) error {
	if !a.json {
		_, err := fmt.Fprintf(a.out, "%d %s\n", commit, clean(r.String()))
		return err
	}
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.out, "{\"commit\":%d,\"offset\":%d,%s\n", commit, r.Offset, text[1:])
	return err
}

func (a *app) printLost(first, last uint64) error {
	if a.json {
		return a.printLine(map[string]commitRange{"lost": {first, last}})
	}
	_, err := fmt.Fprintf(a.out, "%d-%d lost\n", first, last)
	return err
}
