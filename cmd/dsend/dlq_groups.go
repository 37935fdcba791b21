package main

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"github.com/spf13/cobra"

	"dsend/bridge/admin"
	"dsend/dlq"
)

func dlqGroups(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "groups QUEUE", Short: "Count dead letters by cause", Args: operands(1, 1),
		Long: `Count dead letters by cause: equal reason, subject and error, but for the numbers
and ids in them. SUBJECT fits --subject of the other commands.`,
		Example: "  dsend dlq groups orders\n  dsend dlq groups orders --newer-than 1h",
	}
	p := pickFlags(c)
	c.RunE = p.remote(a, func(ctx context.Context, l *link, pick admin.Pick) error {
		groups, err := causes(ctx, l, pick)
		if err != nil {
			return err
		}
		return show(a, each(groups), "There are no such dead letters.",
			[]string{"COUNT", "REASON", "FIRST", "LAST", "SUBJECT", "ERROR", "SAMPLE"},
			func(g dlq.GroupView) []any {
				return []any{g.Count, g.Reason, a.since(&g.First), a.since(&g.Last), g.Subject, short(g.Error, 60), g.SampleSeq}
			})
	})
	return c
}

// causes gathers the groups of all pages, the largest first.
func causes(ctx context.Context, l *link, pick admin.Pick) ([]dlq.GroupView, error) {
	type cause struct {
		reason         dlq.Reason
		error, subject string
	}
	all, order := map[cause]*dlq.GroupView{}, []*dlq.GroupView{}
	limit, counted := pick.Limit, 0
	for more := true; more; {
		page, err := call[admin.DLQGroupsAnswer](ctx, l, admin.DLQGroups, pick)
		if err != nil {
			return nil, err
		}
		for _, g := range page.Groups {
			key := cause{g.Reason, g.Error, g.Subject}
			if known := all[key]; known != nil {
				join(known, g)
				continue
			}
			all[key] = &g
			order = append(order, &g)
		}
		pick.From, pick.Through, pick.Began = page.Next, page.Through, page.Began
		counted += page.Letters
		pick.Limit = max(0, limit-counted)
		more = page.More && (limit == 0 || counted < limit)
	}
	slices.SortStableFunc(order, func(a, b *dlq.GroupView) int { return cmp.Compare(b.Count, a.Count) })
	groups := make([]dlq.GroupView, len(order))
	for i, g := range order {
		groups[i] = *g
	}
	return groups, nil
}

// join adds a group to another of the same cause.
func join(to *dlq.GroupView, g dlq.GroupView) {
	to.Count += g.Count
	if g.First.Before(to.First) {
		to.First = g.First
	}
	if g.Last.After(to.Last) {
		to.Last, to.Sample, to.SampleSeq = g.Last, g.Sample, g.SampleSeq
	}
}

// each yields what is there already.
func each[Item any](items []Item) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		for _, item := range items {
			if !yield(item, nil) {
				return
			}
		}
	}
}
