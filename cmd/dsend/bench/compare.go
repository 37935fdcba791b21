package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// Row is one line of the comparison: its values are those of the rounds.
type Row struct {
	What    string    `json:"what"`
	Target  string    `json:"target"`
	Unit    string    `json:"unit"`     // of the values
	Limit   float64   `json:"limit"`    // of the median, that the target names
	AtLeast bool      `json:"at_least"` // the limit is the least; else the most
	Values  []float64 `json:"values"`
	Spread  Spread    `json:"spread"`
	Note    string    `json:"note"` // what the values are made of
}

// Reached tells whether the target is.
func (r Row) Reached() bool {
	if r.AtLeast {
		return r.Spread.Median >= r.Limit
	}
	return r.Spread.Median <= r.Limit
}

// Comparison is what a machine gave.
type Comparison struct {
	Date    time.Time `json:"date"`
	Machine Machine   `json:"machine"`
	Plan    Plan      `json:"plan"`
	Device  Latency   `json:"device_sync"`
	Rows    []Row     `json:"rows"`
}

// Comparer runs comparisons.
type Comparer struct {
	Self func(args ...string) *exec.Cmd   // this program, with arguments
	Dir  string                           // where the contenders have their data
	Plan Plan                             // how much is done
	Only string                           // the name of one part; empty is all
	Say  func(format string, args ...any) // a line of progress
}

// comparing is one comparison while it runs.
type comparing struct {
	Comparer
	dir     string
	running map[Kind]*contender // the ones that take turns
	made    int                 // contenders so far
	result  Comparison
}

// part is some rows that are measured together.
type part struct {
	name string
	run  func(*comparing, context.Context) error
}

var parts = []part{
	{"publish", (*comparing).publish},
	{"small", (*comparing).small},
	{"lone", (*comparing).lone},
	{"life", (*comparing).life},
	{"drain", (*comparing).drain},
	{"backlog", (*comparing).backlog},
	{"crowd", (*comparing).crowd},
	{"redelivery", (*comparing).redelivery},
	{"idle", (*comparing).idle},
	{"delay", (*comparing).delay},
}

// Parts are the names of the parts of a comparison, in order.
func Parts() []string {
	names := make([]string, len(parts))
	for i, p := range parts {
		names[i] = p.name
	}
	return names
}

// Compare measures all rows. The contenders' data is below Dir while it runs.
func (c Comparer) Compare(ctx context.Context) (_ Comparison, err error) {
	if err := c.Known(); err != nil {
		return Comparison{}, err
	}
	dir, err := os.MkdirTemp(c.Dir, "dsend-bench-")
	if err != nil {
		return Comparison{}, err
	}
	b := &comparing{Comparer: c, dir: dir, running: map[Kind]*contender{}}
	defer func() { err = errors.Join(err, b.end()) }()
	b.result = Comparison{Date: time.Now().UTC().Truncate(time.Second), Plan: c.Plan, Machine: thisMachine(dir)}
	if b.result.Device, err = Device(dir, c.Plan.Round); err != nil {
		return b.result, err
	}
	for _, p := range parts {
		if c.Only != "" && c.Only != p.name {
			continue
		}
		if err := p.run(b, ctx); err != nil {
			return b.result, fmt.Errorf("%s: %w", p.name, err)
		}
	}
	return b.result, nil
}

// Known refuses a part that there is not.
func (c Comparer) Known() error {
	if c.Only == "" {
		return nil
	}
	for _, p := range parts {
		if p.name == c.Only {
			return nil
		}
	}
	return fmt.Errorf("%q is not a part of the comparison: %s", c.Only, strings.Join(Parts(), ", "))
}

// end stops what runs and removes its data.
func (b *comparing) end() (err error) {
	for _, c := range b.running {
		err = errors.Join(err, c.stop())
	}
	return errors.Join(err, os.RemoveAll(b.dir))
}

// fresh starts a contender with a folder of its own, a Dsend maybe with flags.
func (b *comparing) fresh(ctx context.Context, kind Kind, flags ...string) (*contender, error) {
	b.made++
	return launch(ctx, b.Self, kind, filepath.Join(b.dir, fmt.Sprintf("%d-%s", b.made, kind)), flags...)
}

// alone runs do with a Dsend that nobody else uses.
func (b *comparing) alone(ctx context.Context, do func(*contender) error, flags ...string) (err error) {
	c, err := b.fresh(ctx, KindDsend, flags...)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.stop(), os.RemoveAll(c.data)) }()
	return do(c)
}

// turns lets contenders take turns, with a queue of its own for each turn.
func (b *comparing) turns(ctx context.Context, what string, turn func(Server, Kind) (Result, error), kinds ...Kind) (map[Kind][]Result, error) {
	results := map[Kind][]Result{}
	for round := range b.Plan.Rounds {
		for _, kind := range kinds {
			if b.running[kind] == nil {
				c, err := b.fresh(ctx, kind)
				if err != nil {
					return nil, err
				}
				b.running[kind] = c
			}
			b.made++
			s := b.running[kind].Server
			s.Queue = fmt.Sprintf("bench-%d", b.made)
			r, err := turn(s, kind)
			if err == nil && kind != KindEcho {
				err = s.remove(ctx)
			}
			if err != nil {
				return nil, fmt.Errorf("%s: %w", kind, err)
			}
			results[kind] = append(results[kind], r)
			b.Say("%s, round %d of %d, %s: %s", what, round+1, b.Plan.Rounds, kind, r)
		}
	}
	return results, nil
}

// row adds a row.
func (b *comparing) row(r Row) {
	if r.Unit == "" {
		r.Unit = "×"
	}
	r.Spread = spreadOf(r.Values)
	b.result.Rows = append(b.result.Rows, r)
	b.Say("%s: %.2f %s, target %s", r.What, r.Spread.Median, r.Unit, r.Target)
}

// String is a result in a few words.
func (r Result) String() string {
	text := ""
	if r.Published+r.Delivered == 0 {
		text = "nothing published or delivered"
	}
	if r.Published > 0 {
		text = fmt.Sprintf("%.0f publishes/s, p50 %s, p99 %s", r.PublishRate, short(r.Publish.P50), short(r.Publish.P99))
	}
	if r.Delivered > 0 {
		if text != "" {
			text += "; "
		}
		text += fmt.Sprintf("%.0f deliveries/s", r.DeliverRate)
		if r.Deliver.Count > 0 {
			text += fmt.Sprintf(", p50 %s, p99 %s", short(r.Deliver.P50), short(r.Deliver.P99))
		}
	}
	if r.PerSync > 0 {
		text += fmt.Sprintf("; %.1f messages per sync", r.PerSync)
	}
	return text
}

// short is a duration of three digits or so.
func short(d time.Duration) time.Duration {
	switch {
	case d < time.Millisecond:
		return d.Round(time.Microsecond)
	case d < time.Second:
		return d.Round(10 * time.Microsecond)
	}
	return d.Round(10 * time.Millisecond)
}

// Machine is where it was measured.
type Machine struct {
	OS   string `json:"os"`
	CPU  string `json:"cpu"`
	CPUs int    `json:"cpus"`
	Go   string `json:"go"`
	Disk string `json:"file_system"`
}

func thisMachine(dir string) Machine {
	return Machine{OS: runtime.GOOS + "/" + runtime.GOARCH, CPU: cpuName(), CPUs: runtime.NumCPU(), Go: runtime.Version(), Disk: fileSystem(dir)}
}
