package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"dsend/durable/backup"
)

func newRestoreCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "restore FILE|- DIR", Short: "Make a data folder of a backup", Args: operands(2, 2),
		Long: `Make the data folder DIR of a backup, a file or stdin (-). DIR must be missing or empty.
Everything is proven before there is a log in DIR: the checksums of the files, of each
commit and message, and that each message is in exactly one state.

Two servers with the same backup both deliver its messages: do not run the old one.`,
		Example: "  dsend restore orders.tar ./dsend-data && dsend serve",
	}
	c.RunE = func(_ *cobra.Command, args []string) (err error) {
		from := a.in
		if args[0] != "-" {
			file, err := os.Open(args[0])
			if err != nil {
				return err
			}
			defer file.Close()
			from = file
		}
		found, err := backup.Restore(from, args[1])
		if err != nil {
			return fmt.Errorf("%s: %w", args[0], err)
		}
		done := restored{args[1], found.Last, found.Messages, len(found.Queues)}
		return a.say(done, "%s as of commit %d: %s in %s", clean(done.Dir), done.Commit, some(done.Messages, "message"), some(done.Queues, "queue"))
	}
	return c
}

// restored is what restore prints.
type restored struct {
	Dir      string `json:"dir"`
	Commit   uint64 `json:"commit"`
	Messages int64  `json:"messages"`
	Queues   int    `json:"queues"`
}
