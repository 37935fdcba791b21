package bench

import (
	"context"
	"fmt"
)

// life is publish, deliver and ack at once.
func (b *comparing) life(ctx context.Context) error {
	r, err := b.turns(ctx, "life", func(s Server, _ Kind) (Result, error) {
		return Run(ctx, s, Load{Publishers: 2, Window: 256, Size: size, Workers: 2, Batch: 256, Duration: b.Plan.Round}, nil)
	}, KindDsend, KindDialect, KindJetStream)
	if err != nil {
		return err
	}
	b.row(Row{
		What: "publish + deliver + ack at once, 2 publishers, 2 workers, ÷ JetStream default", Target: "≥ 2", Limit: 2, AtLeast: true,
		Values: ratios(r[KindDsend], r[KindJetStream], deliverRate),
		Note:   fmt.Sprintf("%s/s ÷ %s/s", thousands(medianOf(r[KindDsend], deliverRate)), thousands(medianOf(r[KindJetStream], deliverRate))),
	})
	b.row(Row{
		What: "its p50 latency, publish to worker, ÷ JetStream default's", Target: "≤ 0.3", Limit: 0.3,
		Values: ratios(r[KindDsend], r[KindJetStream], deliverP50),
		Note:   fmt.Sprintf("%v ÷ %v", time50(r[KindDsend], deliverP50), time50(r[KindJetStream], deliverP50)),
	})
	b.row(Row{
		What: "the same rate by the JetStream API of Dsend ÷ JetStream default", Target: "≥ 2", Limit: 2, AtLeast: true,
		Values: ratios(r[KindDialect], r[KindJetStream], deliverRate),
		Note: fmt.Sprintf("%s/s ÷ %s/s, p50 %v", thousands(medianOf(r[KindDialect], deliverRate)), thousands(medianOf(r[KindJetStream], deliverRate)),
			time50(r[KindDialect], deliverP50)),
	})
	return nil
}

// drainBatch is what the workers of a backlog ask for at once.
const drainBatch = 500

// emptied is the load of two workers that drain n messages.
func emptied(n int) Load { return Load{Workers: 2, Batch: drainBatch, Count: n} }

// filled is the load that makes a backlog of n messages.
func filled(n int) Load { return Load{Publishers: 4, Window: 256, Size: size, Count: n} }

// fillAndDrain makes a backlog, and measures how fast it is drained.
func fillAndDrain(ctx context.Context, s Server, n int) (Result, error) {
	if _, err := Run(ctx, s, filled(n), nil); err != nil {
		return Result{}, err
	}
	return Run(ctx, s, emptied(n), nil)
}

// drain is two workers and a backlog.
func (b *comparing) drain(ctx context.Context) error {
	r, err := b.turns(ctx, "drain", func(s Server, _ Kind) (Result, error) {
		return fillAndDrain(ctx, s, b.Plan.Drain)
	}, KindDsend, KindDialect, KindJetStream)
	if err != nil {
		return err
	}
	for _, row := range []struct {
		kind Kind
		what string
	}{
		{KindDsend, fmt.Sprintf("draining a backlog of %s with 2 workers (pull, batch 500), ÷ JetStream default", many(b.Plan.Drain))},
		{KindDialect, "the same by the JetStream API of Dsend ÷ JetStream default"},
	} {
		b.row(Row{
			What: row.what, Target: "≥ 1.0", Limit: 1, AtLeast: true, Values: ratios(r[row.kind], r[KindJetStream], deliverRate),
			Note: fmt.Sprintf("%s/s ÷ %s/s", thousands(medianOf(r[row.kind], deliverRate)), thousands(medianOf(r[KindJetStream], deliverRate))),
		})
	}
	return nil
}

// spacious is a Dsend that compacts nothing. What is removed after each round
// would make it carry the backlog round, in the next round and beside one Dsend
// only: that is what removing costs, and not what waiting does.
var spacious = []string{"--storage-slack", "1TiB"}

// backlog is a backlog that is not in memory: draining it, and publishing while
// it is there.
func (b *comparing) backlog(ctx context.Context) error {
	return b.alone(ctx, func(none *contender) error {
		return b.alone(ctx, func(deep *contender) error { return b.backlogs(ctx, none.Server, deep.Server) }, spacious...)
	}, spacious...)
}

// backlogs measures with two that take turns: one has nothing waiting, the other
// has the backlog. Both are warm: the first seconds of a process are its slowest.
func (b *comparing) backlogs(ctx context.Context, none, deep Server) error {
	other := deep
	none.Queue, other.Queue, deep.Queue = "other", "other", "deep"
	published := Load{Publishers: 4, Window: 256, Size: size, Duration: b.Plan.Round}
	if _, err := b.lightly(ctx, none, filled(b.Plan.Piece)); err != nil {
		return err
	}
	if _, err := Run(ctx, deep, filled(b.Plan.Backlog), nil); err != nil {
		return err
	}
	var before, with, memory, disk []Result
	for range b.Plan.Rounds {
		for _, turn := range []struct {
			to  *[]Result
			run func() (Result, error)
		}{
			{&before, func() (Result, error) { return b.lightly(ctx, none, published) }},
			{&with, func() (Result, error) { return b.lightly(ctx, other, published) }},
			{&memory, func() (Result, error) { return fillAndDrain(ctx, other, b.Plan.Piece) }},
			{&disk, func() (Result, error) { return Run(ctx, deep, emptied(b.Plan.Piece), nil) }},
		} {
			r, err := turn.run()
			if err != nil {
				return err
			}
			*turn.to = append(*turn.to, r)
			b.Say("backlog: %s", r)
		}
	}
	b.row(Row{
		What: fmt.Sprintf("draining from a backlog of %s that is not in memory, ÷ from memory", many(b.Plan.Backlog)), Target: "≥ 0.7", Limit: 0.7, AtLeast: true,
		Values: ratios(disk, memory, deliverRate),
		Note:   fmt.Sprintf("%s/s ÷ %s/s", thousands(medianOf(disk, deliverRate)), thousands(medianOf(memory, deliverRate))),
	})
	b.row(Row{
		What: fmt.Sprintf("publish rate with %s waiting ÷ with none", many(b.Plan.Backlog)), Target: "≥ 0.95", Limit: 0.95, AtLeast: true,
		Values: ratios(with, before, publishRate),
		Note:   fmt.Sprintf("%s/s ÷ %s/s", thousands(medianOf(with, publishRate)), thousands(medianOf(before, publishRate))),
	})
	return nil
}

// lightly puts a load on a server of which nothing waits afterwards.
func (b *comparing) lightly(ctx context.Context, s Server, l Load) (Result, error) {
	r, err := Run(ctx, s, l, nil)
	if err != nil {
		return r, err
	}
	return r, s.remove(ctx)
}

// crowd is publishing to many queues against one of them.
func (b *comparing) crowd(ctx context.Context) error {
	return b.alone(ctx, func(c *contender) error {
		all, one := c.Server, c.Server
		all.Queues = b.Plan.Queues
		if _, err := Run(ctx, all, filled(b.Plan.Queues), nil); err != nil { // makes them
			return err
		}
		published := Load{Publishers: 4, Window: 256, Size: size, Duration: b.Plan.Round}
		var spread, single []Result
		for range b.Plan.Rounds {
			r, err := Run(ctx, all, published, nil)
			if err != nil {
				return err
			}
			spread = append(spread, r)
			if r, err = Run(ctx, one, published, nil); err != nil {
				return err
			}
			single = append(single, r)
			b.Say("%d queues: %s", b.Plan.Queues, spread[len(spread)-1])
		}
		b.row(Row{
			What: fmt.Sprintf("publish rate spread over %s queues ÷ one queue", many(b.Plan.Queues)), Target: "≥ 0.8", Limit: 0.8, AtLeast: true,
			Values: ratios(spread, single, publishRate),
			Note:   fmt.Sprintf("%s/s ÷ %s/s", thousands(medianOf(spread, publishRate)), thousands(medianOf(single, publishRate))),
		})
		return nil
	})
}

// many is a number for people.
func many(n int) string {
	switch {
	case n >= 1_000_000 && n%1_000_000 == 0:
		return fmt.Sprintf("%d million", n/1_000_000)
	case n >= 1000 && n%1000 == 0:
		return fmt.Sprintf("%d,000", n/1000)
	}
	return fmt.Sprint(n)
}
