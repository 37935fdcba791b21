package main

import (
	"errors"

	"github.com/spf13/cobra"
)

// newServeCommand is a placeholder: the lead replaces this file.
func newServeCommand() *cobra.Command {
	return &cobra.Command{
		Use: "serve", Short: "Run the queues", Args: operands(0, 0),
		RunE: func(*cobra.Command, []string) error { return errors.New("serve is not built yet") },
	}
}
