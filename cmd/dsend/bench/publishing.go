package bench

import (
	"context"
	"fmt"
	"math"
	"time"
)

// size is the body of all rows but where it is said.
const size = 256

// publish is the rate with many publishes open, against all contenders.
func (b *comparing) publish(ctx context.Context) error {
	r, err := b.turns(ctx, "publish", func(s Server, _ Kind) (Result, error) {
		return Run(ctx, s, Load{Publishers: 4, Window: 256, Size: size, Duration: b.Plan.Round}, nil)
	}, KindDsend, KindEcho, KindJetStream, KindAlways)
	if err != nil {
		return err
	}
	dsend := r[KindDsend]
	for _, row := range []struct {
		kind   Kind
		what   string
		target string
		limit  float64
	}{
		{KindEcho, "durable publishes/s ÷ echo without storage, 4 connections × 256 outstanding", "≥ 0.85", 0.85},
		{KindJetStream, "the same ÷ JetStream default (no fsync)", "≥ 1.15", 1.15},
		{KindAlways, "the same ÷ JetStream `always`", "≥ 40", 40},
	} {
		b.row(Row{
			What: row.what, Target: row.target, Limit: row.limit, AtLeast: true, Values: ratios(dsend, r[row.kind], publishRate),
			Note: fmt.Sprintf("%s/s ÷ %s/s", thousands(medianOf(dsend, publishRate)), thousands(medianOf(r[row.kind], publishRate))),
		})
	}
	b.row(Row{
		What: "publish p99 at that load ÷ JetStream default's p99", Target: "≤ 1.2", Limit: 1.2, Values: ratios(dsend, r[KindJetStream], publishP99),
		Note: fmt.Sprintf("%v ÷ %v; %.0f messages per sync", time50(dsend, publishP99), time50(r[KindJetStream], publishP99),
			medianOf(dsend, func(r Result) float64 { return r.PerSync })),
	})
	return nil
}

// small is the rate with few publishes open.
func (b *comparing) small(ctx context.Context) error {
	r, err := b.turns(ctx, "64 outstanding", func(s Server, _ Kind) (Result, error) {
		return Run(ctx, s, Load{Publishers: 4, Window: 16, Size: size, Duration: b.Plan.Round}, nil)
	}, KindDsend, KindJetStream)
	if err != nil {
		return err
	}
	b.row(Row{
		What: "64 outstanding in all, ÷ JetStream default", Target: "≥ 0.6", Limit: 0.6, AtLeast: true,
		Values: ratios(r[KindDsend], r[KindJetStream], publishRate),
		Note:   fmt.Sprintf("%s/s ÷ %s/s", thousands(medianOf(r[KindDsend], publishRate)), thousands(medianOf(r[KindJetStream], publishRate))),
	})
	return nil
}

// lone is one publisher that waits for each answer, against the path without
// storage and the device alone.
func (b *comparing) lone(ctx context.Context) error {
	var device []time.Duration
	r, err := b.turns(ctx, "one synchronous publisher", func(s Server, kind Kind) (Result, error) {
		if kind == KindEcho {
			d, err := Device(b.dir, b.Plan.Round)
			if err != nil {
				return Result{}, err
			}
			device = append(device, d.P50)
		}
		return Run(ctx, s, Load{Publishers: 1, Window: 1, Size: size, Duration: b.Plan.Round}, nil)
	}, KindDsend, KindEcho)
	if err != nil {
		return err
	}
	values, floor := make([]float64, len(device)), make([]float64, len(device))
	for i := range device {
		values[i] = publishP50(r[KindDsend][i]) / (publishP50(r[KindEcho][i]) + float64(device[i]))
		floor[i] = float64(device[i])
	}
	b.row(Row{
		What: "one synchronous publisher, p50 ÷ (echo p50 + fdatasync p50)", Target: "≤ 1.15", Limit: 1.15, Values: values,
		Note: fmt.Sprintf("%v ÷ (%v + %v)", time50(r[KindDsend], publishP50), time50(r[KindEcho], publishP50),
			short(time.Duration(spreadOf(floor).Median))),
	})
	return nil
}

func time50(results []Result, value func(Result) float64) time.Duration {
	return short(time.Duration(medianOf(results, value)))
}

// thousands is a rate for people.
func thousands(rate float64) string {
	if rate < 10_000 {
		return fmt.Sprintf("%.0f", rate)
	}
	return fmt.Sprintf("%.0f k", math.Round(rate/1000))
}
