package bench

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// Print writes a comparison for a terminal.
func (c Comparison) Print(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "MIN\tMEDIAN\tMAX\t\tTARGET\t\tWHAT")
	for _, r := range c.Rows {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", digits(r.Spread.Min), digits(r.Spread.Median), digits(r.Spread.Max),
			r.Unit, r.Target, r.verdict(), r.plain())
	}
	return t.Flush()
}

// plain is what was measured, and what it is made of, without Markdown.
func (r Row) plain() string {
	text := strings.ReplaceAll(r.What, "`", "")
	if r.Note == "" {
		return text
	}
	return text + " (" + r.Note + ")"
}

func (r Row) verdict() string {
	if r.Reached() {
		return "reached"
	}
	return "missed"
}

// digits is a number with about three of them.
func digits(v float64) string {
	switch {
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

const preface = `# Benchmarks

Dsend answers a publish after fsync. The table compares it with what answers without: ratios in one run, contenders
taking turns in each round, server and load sharing the machine, messages of 256 B unless said. What exactly is
measured is in [doc.go](doc.go).

To repeat it on a clean clone: ` + "`make bench`" + ` (%s), or ` + "`make bench BENCH=--short`" + ` (about a minute, and less to be
trusted). ` + "`dsend bench pub`, `work` and `life`" + ` put one load on one server; ` + "`dsend bench compare --only PART`" + ` measures
one part of this table. What is not in it: ` + "`make bench-recovery`" + ` (the start after kill -9 with millions of messages) and
` + "`make bench-backlog`" + ` (publishing beside compaction).

`

// Markdown writes a comparison as BENCHMARKS.md has it.
func (c Comparison) Markdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, preface, "up to 20 minutes")
	fmt.Fprintf(&b, "| | |\n|---|---|\n| date | %s |\n| plan | %s: %d rounds of %v for each contender |\n",
		c.Date.Format("2006-01-02 15:04 MST"), c.Plan.Name, c.Plan.Rounds, c.Plan.Round)
	fmt.Fprintf(&b, "| machine | %d × %s, %s, %s |\n| data on | %s; fdatasync of an append alone: p50 %v, p99 %v |\n\n",
		c.Machine.CPUs, c.Machine.CPU, c.Machine.OS, c.Machine.Go, c.Machine.Disk, short(c.Device.P50), short(c.Device.P99))
	b.WriteString("| what | target | min | median | max | | made of |\n|---|---|---|---|---|---|---|\n")
	for _, r := range c.Rows {
		fmt.Fprintf(&b, "| %s | %s | %s | **%s** %s | %s | %s | %s |\n", r.What, r.Target,
			digits(r.Spread.Min), digits(r.Spread.Median), r.Unit, digits(r.Spread.Max), r.verdict(), r.Note)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
