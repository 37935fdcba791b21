package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
)

// idle is the processor time of a Dsend that has much and does nothing.
func (b *comparing) idle(ctx context.Context) error {
	return b.alone(ctx, func(c *contender) error {
		all := c.Server
		all.Queues = b.Plan.Queues
		if _, err := Run(ctx, all, filled(b.Plan.Queues), nil); err != nil {
			return err
		}
		later := filled(b.Plan.Delayed)
		later.Header = nats.Header{"Dsend-Delay": {"10h"}}
		if _, err := Run(ctx, c.Server, later, nil); err != nil {
			return err
		}
		nc, err := b.waiting(c.Server)
		if err != nil {
			return err
		}
		defer nc.Close()
		pid := c.cmd.Process.Pid
		before, err := processTime(pid)
		if errors.Is(err, errors.ErrUnsupported) {
			b.Say("idle: the time of another process is not known on this system")
			return nil
		}
		if err != nil {
			return err
		}
		begin := time.Now()
		if !sleepUntil(ctx, begin.Add(b.Plan.Idle)) {
			return context.Cause(ctx)
		}
		after, err := processTime(pid)
		if err != nil {
			return err
		}
		b.row(Row{
			What: fmt.Sprintf("CPU at idle with %s queues, %s waiting pulls and %s delayed messages",
				many(b.Plan.Queues), many(b.Plan.Pulls), many(b.Plan.Delayed)),
			Target: "< 2 % of a core", Limit: 2, Unit: "%", Values: []float64{100 * (after - before).Seconds() / time.Since(begin).Seconds()},
		})
		return nil
	})
}

// waiting asks for messages of a queue that has none that are ready.
func (b *comparing) waiting(s Server) (*nats.Conn, error) {
	nc, err := s.connect()
	if err != nil {
		return nil, err
	}
	inbox := nc.NewInbox()
	if _, err = nc.Subscribe(inbox+".*", func(*nats.Msg) {}); err != nil {
		nc.Close()
		return nil, err
	}
	request := fmt.Appendf(nil, `{"batch":1,"expires":%d}`, time.Hour)
	for i := range b.Plan.Pulls {
		if err = nc.PublishRequest(s.pulls(), fmt.Sprintf("%s.%d", inbox, i), request); err != nil {
			break
		}
	}
	if err == nil {
		err = nc.Flush()
	}
	if err != nil {
		nc.Close()
		return nil, err
	}
	return nc, nil
}
