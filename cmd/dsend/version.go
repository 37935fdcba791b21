package main

import (
	"fmt"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// build is what is known about this binary.
type build struct {
	Version  string `json:"version"`
	Revision string `json:"revision"`
	Go       string `json:"go"`
}

// version is what the go command wrote into this binary.
func version() build {
	b := build{Version: "devel"}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	b.Go = info.GoVersion
	if v := info.Main.Version; v != "" && v != "(devel)" {
		b.Version = v
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			b.Revision = s.Value
		}
	}
	return b
}

func newVersionCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: operands(0, 0),
		Example: "  dsend version --json",
		RunE: func(*cobra.Command, []string) error {
			v := version()
			return a.say(v, "%s", fmt.Sprintf("dsend %s (%s)", v.Version, v.Go))
		},
	}
}
