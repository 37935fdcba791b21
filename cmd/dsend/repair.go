package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
)

func newRepairCommand(a *app) *cobra.Command {
	var dry bool
	c := &cobra.Command{
		Use: "repair DIR", Short: "Set damage in the data of a stopped server aside, keep the rest", Args: operands(1, 1),
		Long: `Repair the data folder DIR of a server that is not running. What is whole in its log
is written into a new log beside it, which needs as much room again; the two names
are then exchanged, and the damaged log is kept, untouched, as DIR/log.damaged. What
is lost is told by queue and number, and so is what may be delivered again.

A log without damage is left as it is.

Exit codes: 0 the log is good (now), 1 it is damaged and this was a dry run, or it
could not be repaired, 2 wrong usage.`,
		Example: "  dsend repair --dry-run ./dsend-data\n  dsend repair ./dsend-data && dsend serve",
	}
	c.Flags().BoolVar(&dry, "dry-run", false, "only tell what would be lost")
	c.RunE = func(_ *cobra.Command, args []string) (err error) {
		l, err := examineLog(args[0])
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, l.Close()) }()
		report := l.report()
		if l.good() {
			if err := report.print(a); err != nil || a.json {
				return err
			}
			_, err = fmt.Fprintln(a.out, "nothing to repair")
			return err
		}
		if dry || l.fault != nil {
			return errors.Join(report.print(a), l.damaged(args[0]))
		}
		var more [][]byte
		if l.found.Mending != nil {
			more = append(more, l.found.Mending)
		}
		if report.SetAside, err = l.Repair(more...); err != nil {
			return fmt.Errorf("%s is not repaired, and as it was: %w", args[0], err)
		}
		report.Repaired = true
		if err := report.print(a); err != nil || a.json {
			return err
		}
		_, err = fmt.Fprintf(a.out, "repaired; the damaged log is %s\n", clean(report.SetAside))
		return err
	}
	return c
}
