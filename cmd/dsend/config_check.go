package main

import (
	"os"

	"github.com/spf13/cobra"

	"dsend/cmd/dsend/config"
)

func newConfigCommand(a *app) *cobra.Command {
	check := &cobra.Command{
		Use: "check FILE", Short: "Prove a configuration and print what it comes to", Args: operands(1, 1),
		Long: `Prove a configuration file, with the environment (DSEND_…) over it, and print what it
comes to, with the retry timetable of each queue. Whatever is wrong is a line with
file, line and key. No server is asked.`,
		Example: "  dsend config check configs/dsend.yaml",
	}
	check.RunE = func(_ *cobra.Command, args []string) error {
		c, err := config.Load(config.Options{File: args[0], Env: os.Environ()})
		if err != nil {
			return err
		}
		report := c.Check()
		if a.json {
			return a.printJSON(report)
		}
		_, err = a.out.WriteString(report.String())
		return err
	}
	return group("config", "Look at a configuration", check)
}
