package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// redelivery is a log of large messages that all come again: due in the order
// of the log, and in random order.
//
//	attempt 1   as they are ready; naks that fall due in order
//	attempt 2   in order, timed;   naks that fall due in random order
//	attempt 3   random, timed
func (b *comparing) redelivery(ctx context.Context) error {
	return b.alone(ctx, func(c *contender) error {
		n := int(b.Plan.LogBytes / int64(b.Plan.LargeSize))
		fill, err := Run(ctx, c.Server, Load{Publishers: 4, Window: 64, Size: b.Plan.LargeSize, Count: n}, nil)
		if err != nil {
			return err
		}
		took := time.Duration(fill.Seconds * float64(time.Second))
		var rates [3]float64
		start := time.Now()
		for i := range rates {
			p := pass{attempt: int64(i + 1), n: n, start: start, next: rand.Perm(n)}
			if i == 0 {
				p.next = nil
			}
			// More falls due than can be delivered, or it would be the naks' own rate.
			p.hold, p.gap = max(3*took, 2*time.Second), took*4/5/time.Duration(n)
			if took, err = p.run(ctx, c.Server); err != nil {
				return err
			}
			start = p.due
			rates[i] = float64(n) / took.Seconds()
			b.Say("redelivery, attempt %d: %.0f messages/s", p.attempt, rates[i])
		}
		b.row(Row{
			What:   fmt.Sprintf("random redelivery out of a log of %d MB: naks with due times in random order ÷ in order", b.Plan.LogBytes>>20),
			Target: "≥ 0.3", Limit: 0.3, AtLeast: true, Values: []float64{rates[2] / rates[1]},
			Note: fmt.Sprintf("%s/s ÷ %s/s, messages of %d KiB", thousands(rates[2]), thousands(rates[1]), b.Plan.LargeSize>>10),
		})
		return nil
	})
}

// pass is all messages delivered once, and all of them refused.
type pass struct {
	attempt int64
	n       int
	start   time.Time     // when the first of them is due
	hold    time.Duration // from start until the first is due again: longer than the pass takes
	gap     time.Duration // between two that are due again
	next    []int         // by sequence: the place in the order in which they are due again; nil is in order

	mu          sync.Mutex
	due         time.Time // when the first is due again
	first, last time.Time
	early       int // came again within this pass
}

// run gives the time from the first to the last delivery.
func (p *pass) run(ctx context.Context, s Server) (time.Duration, error) {
	if !sleepUntil(ctx, p.start) {
		return 0, context.Cause(ctx)
	}
	p.due = time.Now().Add(p.hold)
	load := emptied(p.n)
	load.answer = p.refuse
	if _, err := Run(ctx, s, load, nil); err != nil {
		return 0, err
	}
	if p.early > 0 {
		return 0, fmt.Errorf("attempt %d took longer than %v: the machine is too busy", p.attempt, p.hold)
	}
	return p.last.Sub(p.first), nil
}

func (p *pass) refuse(m *nats.Msg) []byte {
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.first.IsZero() {
		p.first = now
	}
	p.last = now
	if told(m.Reply, tokenAttempt) > p.attempt {
		p.early++
	}
	place := int(told(m.Reply, tokenSeq)-1) % p.n
	if p.next != nil {
		place = p.next[place]
	}
	return fmt.Appendf(nil, `-NAK {"delay":%d}`, max(1, p.due.Add(time.Duration(place)*p.gap).Sub(now)))
}

// Tokens of the reply subject of a delivery, as JetStream has them.
const (
	tokenAttempt   = 6
	tokenSeq       = 7
	tokenPublished = 9
)

// told is a number that the reply subject of a delivery tells; 0 if it does not.
func told(reply string, token int) int64 {
	for range token {
		_, reply, _ = strings.Cut(reply, ".")
	}
	text, _, _ := strings.Cut(reply, ".")
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0
	}
	return n
}
