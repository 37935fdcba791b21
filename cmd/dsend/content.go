package main

import (
	"encoding/hex"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"dsend/bridge/admin"
	"dsend/dlq"
)

// attempts prints a history.
func (a *app) attempts(history []dlq.AttemptView) error {
	if len(history) == 0 {
		return nil
	}
	fmt.Fprintln(a.out)
	t := a.table("HANDED OUT", "ENDED AFTER", "OUTCOME", "WORKER", "ERROR")
	for _, h := range history {
		t.row(at(&h.At), age(h.Ended.Sub(h.At)), h.Outcome, h.Worker, h.Error)
	}
	return t.end(nil)
}

// content prints headers and body for a terminal.
func (a *app) content(c admin.Content) error {
	if len(c.Headers) > 0 {
		fmt.Fprintln(a.out)
	}
	for _, h := range c.Headers {
		fmt.Fprintf(a.out, "%s: %s\n", clean(h.Name), clean(h.Value))
	}
	fmt.Fprintf(a.out, "\n%s", body(c.Data))
	return nil // a.out keeps its first error for Flush
}

// body is a body for a terminal: text as it is, anything else as a hex dump.
func body(data []byte) string {
	text := string(data)
	harmless := func(r rune) bool { return r == '\n' || r == '\t' || unicode.IsPrint(r) }
	switch {
	case len(data) == 0:
		return "(no body)\n"
	case !utf8.Valid(data) || strings.ContainsFunc(text, func(r rune) bool { return !harmless(r) }):
		return hex.Dump(data)
	}
	return strings.TrimSuffix(text, "\n") + "\n"
}

// since is how long ago something was, by the clock of this machine.
func (a *app) since(t *time.Time) string {
	if t == nil {
		return "-"
	}
	return age(max(0, a.now().Sub(*t)))
}
