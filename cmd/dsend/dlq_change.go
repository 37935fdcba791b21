package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"time"

	"github.com/spf13/cobra"

	"dsend/bridge/admin"
	"dsend/dlq"
)

// change is what replay and purge have in common: some letters, or all of them,
// page by page.
type change struct {
	a       *app
	picks   *picks
	all     bool
	dryRun  bool
	rate    float64
	verb    string // of a letter that it was done to: replayed, removed
	page    func(ctx context.Context, l *link, pick admin.Pick, dry bool) (changed, error)
	view    func(changed) any // as JSON
	changed changed
}

// changed is what came of one page, or of all so far.
type changed struct {
	picked   int
	done     int
	skipped  []admin.Skipped
	stopped  *admin.Problem
	progress admin.Progress
}

func changeFlags(a *app, c *cobra.Command) *change {
	x := &change{a: a, picks: pickFlags(c), changed: changed{skipped: []admin.Skipped{}}}
	c.Flags().BoolVar(&x.all, "all", false, "every letter that is there now")
	c.Flags().BoolVar(&x.dryRun, "dry-run", false, "only tell how many")
	return x
}

// wanted is what the operands behind QUEUE and the flags ask for: one pick for
// each operand. Nothing asked for is not everything.
func (x *change) wanted(args []string) ([]admin.Pick, error) {
	pick, err := x.picks.pick(args[0])
	if err != nil {
		return nil, err
	}
	filtered := !reflect.ValueOf(pick.Filter).IsZero()
	plan := x.plan()
	if err := plan.Validate(); err != nil {
		return nil, usageError{err}
	}
	switch seqs := args[1:]; {
	case len(seqs) > 0 && (filtered || x.all):
		return nil, usagef("sequences, filters and --all exclude each other")
	case x.all && filtered:
		return nil, usagef("--all and filters exclude each other")
	case len(seqs) > 0:
		return x.each(pick, seqs)
	case !x.all && !filtered:
		return nil, usagef("which letters? sequences, filters, or --all")
	}
	return []admin.Pick{pick}, nil
}

func (x *change) each(pick admin.Pick, seqs []string) ([]admin.Pick, error) {
	var all []admin.Pick
	for _, text := range seqs {
		from, to, err := sequences(text)
		if err != nil {
			return nil, err
		}
		pick.Filter.FirstSeq, pick.Filter.LastSeq = from, to
		all = append(all, pick)
	}
	return all, nil
}

// run goes through all pages and prints what came of it.
func (x *change) run(ctx context.Context, l *link, wanted []admin.Pick) error {
	plan := x.plan()
	var err error
	for _, pick := range wanted {
		if err = x.pages(ctx, l, pick, &plan); err != nil {
			break
		}
	}
	if x.changed.progress.DLQ == "" {
		return err // not even the first page was answered
	}
	return x.report(ctx, err)
}

// plan is how many letters may be taken, and how fast. Where they end the server
// says, page by page.
func (x *change) plan() dlq.Plan {
	rate := x.rate
	if x.dryRun {
		rate = 0 // a look does not wait
	}
	return dlq.Plan{Limit: x.picks.limit, Rate: rate, Before: math.MaxUint64, Began: time.Now().UnixNano()}
}

// pages goes through one pick, as fast as the plan allows.
func (x *change) pages(ctx context.Context, l *link, pick admin.Pick, plan *dlq.Plan) error {
	before := x.changed.picked
	for more := true; more && !plan.Done(); {
		now := time.Now().UnixNano()
		asked := *plan // to be charged for what is picked, not for what is asked
		if pick.Limit = asked.Take(now, admin.MaxPage); pick.Limit == 0 {
			if err := wait(ctx, plan, now); err != nil {
				return err
			}
			continue
		}
		page, err := x.page(ctx, l, pick, x.dryRun)
		if err != nil {
			return err
		}
		plan.Take(now, page.picked)
		x.add(page)
		if page.stopped != nil {
			return page.stopped
		}
		pick.From, pick.Through, pick.Began = page.progress.Next, page.progress.Through, page.progress.Began
		more = page.progress.More
	}
	f := pick.Filter
	if x.changed.picked == before && f.FirstSeq != 0 && f.FirstSeq == f.LastSeq && !plan.Done() {
		return fmt.Errorf("there is no such dead letter %d in %s", f.FirstSeq, x.changed.progress.DLQ)
	}
	return nil
}

// wait sleeps until the plan allows another letter.
func wait(ctx context.Context, plan *dlq.Plan, now int64) error {
	at, _ := plan.Next(now)
	t := time.NewTimer(time.Duration(at - now))
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (x *change) add(page changed) {
	c := &x.changed
	c.progress, c.stopped = page.progress, page.stopped
	c.picked += page.picked
	c.done += page.done
	c.skipped = append(c.skipped, page.skipped...)
	if x.a.asks && !x.dryRun {
		fmt.Fprintf(x.a.err, "\r%d %s ", c.done, x.verb)
	}
}

// report prints the result; what was not done is an error.
func (x *change) report(ctx context.Context, err error) error {
	c := &x.changed
	if x.a.asks && !x.dryRun {
		fmt.Fprintln(x.a.err)
	}
	if ctx.Err() != nil {
		err = errors.New("interrupted; what was done stands, the same command goes on with the rest")
		c.stopped = &admin.Problem{Code: 499, Kind: "interrupted", Description: "interrupted"}
	}
	sentence := fmt.Sprintf("%s of %s %s", some(c.done, "letter"), c.progress.DLQ, x.verb)
	if x.dryRun {
		sentence = fmt.Sprintf("%s of %s would be %s", some(c.picked, "letter"), c.progress.DLQ, x.verb)
	}
	if failed := x.a.say(x.view(*c), "%s", sentence); err == nil {
		err = failed
	}
	if n := len(c.skipped); err == nil && n > 0 {
		err = fmt.Errorf("%s not %s, the first because %s", some(n, "letter"), x.verb, c.skipped[0].Error)
	}
	return err
}

// replayed is what dlq replay prints as JSON.
type replayed struct {
	DLQ      string          `json:"dlq"`
	DryRun   bool            `json:"dry_run"`
	Picked   int             `json:"picked"`
	Replayed int             `json:"replayed"`
	Skipped  []admin.Skipped `json:"skipped"`
	Stopped  *admin.Problem  `json:"stopped"`
}

// purged is what dlq purge prints as JSON.
type purged struct {
	DLQ     string         `json:"dlq"`
	DryRun  bool           `json:"dry_run"`
	Picked  int            `json:"picked"`
	Removed int            `json:"removed"`
	Stopped *admin.Problem `json:"stopped"`
}

func dlqReplay(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "replay QUEUE [SEQ...]", Short: "Bring dead letters back for a fresh life", Args: operands(1, -1),
		Long: `Bring dead letters back to the queue they died in, or to another: body and headers
unchanged, attempts from 1, one more replay on their record. Say which: by their
sequences (5, 1-100), by filters, or --all. All means all that are dead when the
command begins: what dies again meanwhile stays.

Interrupt it at any time: each letter is replayed or not, and the same command goes
on with those that are left.`,
		Example: "  dsend dlq replay orders 7\n  dsend dlq replay orders --error 'connection refused' --dry-run\n" +
			"  dsend dlq replay orders --all --rate 50",
	}
	x := changeFlags(a, c)
	x.verb = "replayed"
	c.Flags().Float64Var(&x.rate, "rate", 0, "letters per second at most; 0 is no limit")
	target := c.Flags().String("target", "", "bring them to this `QUEUE` instead")
	x.page = func(ctx context.Context, l *link, pick admin.Pick, dry bool) (changed, error) {
		p, err := call[admin.ReplayAnswer](ctx, l, admin.DLQReplay, admin.ReplayRequest{Pick: pick, Target: *target, DryRun: dry})
		return changed{p.Picked, len(p.Replayed), p.Skipped, p.Stopped, p.Progress}, err
	}
	x.view = func(c changed) any {
		return replayed{c.progress.DLQ, x.dryRun, c.picked, c.done, c.skipped, c.stopped}
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		wanted, err := x.wanted(args)
		if err != nil {
			return err
		}
		return a.remote(func(ctx context.Context, l *link, _ []string) error { return x.run(ctx, l, wanted) })(c, args)
	}
	return c
}

func dlqPurge(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "purge QUEUE [SEQ...]", Short: "Remove dead letters for good", Args: operands(1, -1),
		Long: `Remove dead letters for good. Say which: by their sequences (5, 1-100), by filters,
or --all. All means all that are dead when the command begins.`,
		Example: "  dsend dlq purge orders --older-than 720h --dry-run\n  dsend dlq purge orders --all --force",
	}
	x := changeFlags(a, c)
	x.verb = "removed"
	force := forceFlag(c)
	x.page = func(ctx context.Context, l *link, pick admin.Pick, dry bool) (changed, error) {
		p, err := call[admin.DLQPurgeAnswer](ctx, l, admin.DLQPurge, admin.DLQPurgeRequest{Pick: pick, DryRun: dry})
		return changed{p.Picked, p.Removed, nil, p.Stopped, p.Progress}, err
	}
	x.view = func(c changed) any {
		return purged{c.progress.DLQ, x.dryRun, c.picked, c.done, c.stopped}
	}
	c.RunE = func(c *cobra.Command, args []string) error {
		wanted, err := x.wanted(args)
		if err == nil && !x.dryRun {
			err = a.mayDestroy(*force)
		}
		if err != nil {
			return err
		}
		return a.remote(func(ctx context.Context, l *link, _ []string) error {
			if err := x.confirm(ctx, l, wanted, *force); err != nil {
				return err
			}
			return x.run(ctx, l, wanted)
		})(c, args)
	}
	return c
}

// confirm counts the letters and asks, unless nothing would be removed.
func (x *change) confirm(ctx context.Context, l *link, wanted []admin.Pick, force bool) error {
	if force || x.dryRun {
		return nil
	}
	count := change{a: x.a, picks: x.picks, dryRun: true, page: x.page}
	plan := count.plan()
	for _, pick := range wanted {
		if err := count.pages(ctx, l, pick, &plan); err != nil {
			return err
		}
	}
	return x.a.confirm(false, "Remove %s of %s for good?", some(count.changed.picked, "letter"), count.changed.progress.DLQ)
}
