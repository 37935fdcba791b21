package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"dsend/bridge/admin"
)

func newReloadCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "reload", Short: "Have the server read its configuration again", Args: operands(0, 0),
		Long: `Have the server read its configuration again. Queue settings apply at once; if
anything in it cannot change while the server runs, it is named and nothing changes.`,
		Example: "  dsend config check dsend.yaml && dsend reload",
	}
	c.RunE = a.remote(func(ctx context.Context, l *link, _ []string) error {
		r, err := call[admin.Reloaded](ctx, l, admin.ReloadNow, admin.ReloadRequest{})
		if err != nil {
			return err
		}
		if len(r.Changes) == 0 {
			return a.say(r, "nothing changed")
		}
		for i, line := range r.Changes {
			r.Changes[i] = clean(line)
		}
		return a.say(r, "%s", strings.Join(r.Changes, "\n"))
	})
	return c
}
