package main

import (
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"
	"unicode/utf8"
)

// printJSON prints the one document of a command.
func (a *app) printJSON(v any) error {
	e := json.NewEncoder(a.out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// say prints a result: the document, or a sentence for people.
func (a *app) say(document any, sentence string, args ...any) error {
	if a.json {
		return a.printJSON(document)
	}
	_, err := fmt.Fprintf(a.out, sentence+"\n", args...)
	return err
}

// show prints a list: as one JSON array, or as a table with a row for each item
// and, for people, a word on stderr if there is none.
func show[Item any](a *app, items iter.Seq2[Item, error], none string, columns []string, row func(Item) []any) error {
	if a.json {
		return showJSON(a, items)
	}
	t := a.table(columns...)
	for item, err := range items {
		if err != nil {
			return t.end(err)
		}
		t.row(row(item)...)
	}
	if t.rows == 0 {
		fmt.Fprintln(a.err, none)
		return nil
	}
	return t.end(nil)
}

// showJSON prints an array item by item, so that it may be larger than memory.
// Once begun it is ended, whatever happens: stdout is a whole document.
func showJSON[Item any](a *app, items iter.Seq2[Item, error]) error {
	n := 0
	for item, err := range items {
		if err != nil {
			return closeArray(a, n, err)
		}
		text, err := indented(item)
		if err != nil {
			return closeArray(a, n, err)
		}
		separator := ",\n  "
		if n == 0 {
			separator = "[\n  "
		}
		if _, err := a.out.WriteString(separator + text); err != nil {
			return err
		}
		n++
	}
	if n == 0 {
		_, err := a.out.WriteString("[]\n")
		return err
	}
	return closeArray(a, n, nil)
}

func closeArray(a *app, n int, err error) error {
	if n > 0 {
		if _, failed := a.out.WriteString("\n]\n"); err == nil {
			err = failed
		}
	}
	return err
}

// indented is the JSON of an item of an array.
func indented(v any) (string, error) {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("  ", "  ")
	err := e.Encode(v)
	return strings.TrimSuffix(b.String(), "\n"), err
}

// table is rows for people.
type table struct {
	w    *tabwriter.Writer
	rows int
	cols []string
}

func (a *app) table(columns ...string) *table {
	return &table{w: tabwriter.NewWriter(a.out, 0, 8, 2, ' ', 0), cols: columns}
}

// row adds a row. Cells are made safe for a terminal.
func (t *table) row(cells ...any) {
	if t.rows == 0 && len(t.cols) > 0 {
		t.line(t.cols)
	}
	t.rows++
	texts := make([]string, len(cells))
	for i, c := range cells {
		texts[i] = clean(fmt.Sprint(c))
	}
	t.line(texts)
}

func (t *table) line(cells []string) {
	_, _ = io.WriteString(t.w, strings.Join(cells, "\t")+"\n") // end tells
}

// end prints the table; err, if any, comes first.
func (t *table) end(err error) error {
	if failed := t.w.Flush(); err == nil {
		err = failed
	}
	return err
}

// clean is a text that neither breaks a line nor commands a terminal.
func clean(s string) string {
	harmless := func(r rune) bool { return r != utf8.RuneError && unicode.IsPrint(r) }
	if strings.IndexFunc(s, func(r rune) bool { return !harmless(r) }) < 0 {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case harmless(r):
			b.WriteRune(r)
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < 0x80:
			fmt.Fprintf(&b, `\x%02x`, r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
		i += n
	}
	return b.String()
}

// oneLine is an error text in one line.
func oneLine(s string) string { return clean(strings.Join(strings.Fields(s), " ")) }

// short is the beginning of a text.
func short(s string, most int) string {
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most-1]) + "…"
}

// preview is the beginning of a body of size bytes in one line.
func preview(data []byte, size int) string {
	text := string(data)
	if size > len(data) { // it may be cut in the middle of a rune
		for n := 0; n < utf8.UTFMax-1 && len(text) > 0 && !utf8.ValidString(text); n++ {
			text = text[:len(text)-1]
		}
	}
	if !utf8.ValidString(text) {
		return fmt.Sprintf("(%d bytes, not text)", size)
	}
	if size > len(data) {
		text += "…"
	}
	return short(clean(text), 50)
}

// some is a number of things.
func some[N int | int64 | uint64](n N, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// age is a duration for people: two units.
func age(d time.Duration) string {
	day := 24 * time.Hour
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Hour:
		return d.Round(time.Second).String()
	case d < day:
		return strings.TrimSuffix(d.Round(time.Minute).String(), "0s")
	}
	return fmt.Sprintf("%dd%dh", d/day, d%day/time.Hour)
}

// size is a number of bytes for people.
func size(n int64) string {
	unit, value := "", float64(n)
	for _, next := range []string{"KiB", "MiB", "GiB", "TiB"} {
		if value < 1024 {
			break
		}
		unit, value = next, value/1024
	}
	if unit == "" {
		return fmt.Sprintf("%dB", n)
	}
	return fmt.Sprintf("%.1f%s", value, unit)
}

// at is a time for people.
func at(t *time.Time) string {
	if t == nil {
		return "-"
	}
	return t.Format("2006-01-02 15:04:05.000Z")
}

// printLine prints one document in one line.
func (a *app) printLine(v any) error {
	e := json.NewEncoder(a.out)
	e.SetEscapeHTML(false)
	return e.Encode(v)
}
