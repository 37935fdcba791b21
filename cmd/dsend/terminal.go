package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
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

// interruptible is a reader that gives up when ctx ends: a signal must not wait
// for somebody to press Enter.
type interruptible struct {
	ctx context.Context
	in  io.Reader
}

func (r *interruptible) Read(p []byte) (int, error) {
	type result struct {
		n   int
		err error
	}
	read, buf := make(chan result, 1), make([]byte, len(p))
	go func() { // ends with the read, or with the process
		n, err := r.in.Read(buf)
		read <- result{n, err}
	}()
	select {
	case got := <-read:
		copy(p, buf[:got.n])
		return got.n, got.err
	case <-r.ctx.Done():
		return 0, context.Cause(r.ctx)
	}
}
