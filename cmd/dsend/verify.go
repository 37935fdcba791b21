package main

import (
	"errors"

	"github.com/spf13/cobra"
)

func newVerifyCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "verify DIR", Short: "Prove the data of a stopped server", Args: operands(1, 1),
		Long: `Prove the data folder DIR of a server that is not running: the checksum of every
commit and every message, that each message is in exactly one state, and how many
of each queue are in which. Nothing is changed.

A torn end, as a power cut leaves it, is no damage: nothing in it was answered.
One thing cannot be told from it: damage to the very last commit before a kill.

Exit codes: 0 good, 1 damaged (or not readable), 2 wrong usage.`,
		Example: "  dsend verify ./dsend-data",
	}
	c.RunE = func(_ *cobra.Command, args []string) (err error) {
		l, err := examineLog(args[0])
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, l.Close()) }()
		if err := l.report().print(a); err != nil {
			return err
		}
		if !l.good() {
			return l.damaged(args[0])
		}
		return nil
	}
	return c
}
