package bench

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
)

// delayTime is the delay of the messages whose delay is measured.
const delayTime = time.Second

// delay is how late delayed messages come while half of what can be published
// is published.
func (b *comparing) delay(ctx context.Context) error {
	return b.alone(ctx, func(c *contender) error {
		most, err := Run(ctx, c.Server, Load{Publishers: 4, Window: 256, Size: size, Duration: b.Plan.Round}, nil)
		if err != nil {
			return err
		}
		timed := c.Server
		timed.Queue = "timed"
		d := delays{n: b.Plan.DelayTimed, rate: float64(b.Plan.DelayTimed) / (float64(b.Plan.Rounds) * b.Plan.Round.Seconds())}
		late, err := d.under(ctx, timed, func(ctx context.Context) error {
			half := Load{Publishers: 2, Window: 256, Size: size, Rate: most.PublishRate / 2, Duration: time.Hour}
			_, err := Run(ctx, c.Server, half, nil)
			return err
		})
		if err != nil {
			return err
		}
		b.row(Row{
			What: "delay of due messages under half load, p99 late", Target: "≤ 20 ms, never early", Limit: 20, Unit: "ms",
			Values: []float64{late.P99.Seconds() * 1000},
			Note:   fmt.Sprintf("p50 %v, max %v of %d; %s publishes/s beside", short(late.P50), short(late.Max), late.Count, thousands(most.PublishRate/2)),
		})
		return nil
	})
}

// delays is a stream of delayed messages.
type delays struct {
	n     int
	rate  float64
	early atomic.Int64
}

// errDone ends the load beside when everything is measured.
var errDone = errors.New("measured")

// under measures the delays while something else is done.
func (d *delays) under(ctx context.Context, s Server, beside func(context.Context) error) (Latency, error) {
	loaded, stop := context.WithCancelCause(ctx)
	ended := make(chan error, 1)
	go func() { ended <- beside(loaded) }()
	late, err := d.measure(ctx, s)
	stop(errDone)
	if besides := <-ended; !errors.Is(besides, errDone) {
		err = errors.Join(err, besides)
	}
	if n := d.early.Load(); n > 0 {
		err = errors.Join(err, fmt.Errorf("%d of %d messages came before they were due", n, d.n))
	}
	return late, err
}

// measure publishes and receives.
func (d *delays) measure(ctx context.Context, s Server) (Latency, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	published := make(chan error, 1)
	go func() {
		_, err := Run(ctx, s, Load{
			Publishers: 1, Window: 256, Size: size, Rate: d.rate, Count: d.n, Header: nats.Header{"Dsend-Delay": {delayTime.String()}},
		}, nil)
		if err != nil {
			cancel(err)
		}
		published <- err
	}()
	r, err := Run(ctx, s, Load{Workers: 1, Batch: 256, Count: d.n, latency: d.late}, nil)
	if err != nil {
		cancel(err)
	}
	return r.Deliver, errors.Join(err, <-published)
}

// late is how late a delivery is. When it was due is known from the server's
// time; whether it is early, from the time it was sent by the clock that does not
// jump.
func (d *delays) late(m *nats.Msg, now time.Time) int64 {
	sent := int64(binary.LittleEndian.Uint64(m.Data))
	if sinceEpoch(now)-sent < int64(delayTime) {
		d.early.Add(1)
	}
	return max(0, now.UnixNano()-told(m.Reply, tokenPublished)-int64(delayTime))
}
