package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// isTerminal tells whether a file is a terminal: only a terminal has a size in
// rows and columns.
func isTerminal(f *os.File) bool {
	_, err := unix.IoctlGetWinsize(int(f.Fd()), unix.TIOCGWINSZ)
	return err == nil
}

// mayDestroy refuses what destroys messages where nobody can be asked.
func (a *app) mayDestroy(force bool) error {
	if !force && !a.asks {
		return usagef("this removes messages: without a terminal it needs --force")
	}
	return nil
}

// errDeclined is a no to a question.
var errDeclined = fmt.Errorf("nothing was changed")

// confirm asks, unless forced. Anything but y or yes is a no.
func (a *app) confirm(force bool, question string, args ...any) error {
	if force {
		return nil
	}
	fmt.Fprintf(a.err, question+" [y/N] ", args...)
	line, _ := bufio.NewReader(a.in).ReadString('\n') // an early end is a no
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes":
		return nil
	}
	return errDeclined
}
