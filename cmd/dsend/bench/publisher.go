package bench

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
	"github.com/nats-io/nats.go"
)

// publisher is one connection that keeps a window of publishes open. The slot
// of a publish is the last token of its reply subject.
type publisher struct {
	r     *run
	nc    *nats.Conn
	inbox string
	free  chan int // slots, of a load with a rate
	done  chan struct{}

	took *hdrhistogram.Histogram // of the receiving goroutine, until it is done

	mu      sync.Mutex
	msgs    []nats.Msg // by slot
	sent    []int64    // by slot: when it was, or should have been
	targets []string
	next    int // of targets
	open    int
}

func newPublisher(r *run, targets []string, first int) (*publisher, error) {
	p := &publisher{r: r, targets: targets, next: first, took: newHistogram(), done: make(chan struct{})}
	var err error
	if p.nc, err = r.server.connect(); err != nil {
		return nil, err
	}
	p.nc.SetClosedHandler(r.lost)
	p.inbox = p.nc.NewInbox() + "."
	window := r.load.Window
	p.msgs, p.sent, p.free = make([]nats.Msg, window), make([]int64, window), make(chan int, window)
	for i := range p.msgs {
		p.msgs[i] = nats.Msg{Reply: p.inbox + strconv.Itoa(i), Header: r.load.Header, Data: make([]byte, r.load.Size)}
	}
	sub, err := p.nc.Subscribe(p.inbox+"*", p.answered)
	if err == nil {
		err = sub.SetPendingLimits(-1, -1)
	}
	if err == nil {
		err = p.nc.Flush()
	}
	if err != nil {
		p.nc.Close()
		return nil, err
	}
	return p, nil
}

// run publishes until the load is over and everything is answered.
func (p *publisher) run(ctx context.Context) {
	defer p.nc.SetClosedHandler(nil)
	if p.r.load.Rate > 0 {
		p.paced(ctx)
		return
	}
	if p.fill() {
		return
	}
	select {
	case <-p.done:
	case <-ctx.Done():
	}
}

// fill opens the window; none is true if there was nothing to publish.
func (p *publisher) fill() (none bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for slot := range p.msgs {
		if now := time.Now(); p.r.claim(now) {
			p.send(slot, now)
		}
	}
	return p.open == 0
}

// paced publishes at the load's rate. A publish that finds no free slot is late,
// and its latency counts from when it should have been. Those that are still to
// come when the time is over are left out.
func (p *publisher) paced(ctx context.Context) {
	for slot := range p.msgs {
		p.free <- slot
	}
	interval := float64(time.Second) * float64(p.r.load.Publishers) / p.r.load.Rate
	for i := 0; ; i++ {
		due := p.r.begin.Add(time.Duration(float64(i) * interval))
		if p.r.over(time.Now()) || !p.r.claim(due) || !sleepUntil(ctx, due) {
			break
		}
		select {
		case slot := <-p.free:
			p.mu.Lock()
			p.send(slot, due)
			p.mu.Unlock()
		case <-ctx.Done():
			return
		}
	}
	for range p.msgs { // all are answered when all slots are free
		select {
		case <-p.free:
		case <-ctx.Done():
			return
		}
	}
}

func sleepUntil(ctx context.Context, at time.Time) bool {
	d := time.Until(at)
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// send publishes into a slot, for who has mu.
func (p *publisher) send(slot int, at time.Time) {
	m := &p.msgs[slot]
	m.Subject = p.targets[p.next]
	if p.next++; p.next == len(p.targets) {
		p.next = 0
	}
	p.sent[slot] = sinceEpoch(at)
	binary.LittleEndian.PutUint64(m.Data, uint64(p.sent[slot]))
	if err := p.nc.PublishMsg(m); err != nil {
		p.r.fail(fmt.Errorf("publish: %w", err))
		return
	}
	p.open++
}

// errorField is in an answer that refuses.
var errorField = []byte(`"error"`)

// answered is called with every answer, by the connection's goroutine.
func (p *publisher) answered(m *nats.Msg) {
	slot, err := strconv.Atoi(m.Subject[len(p.inbox):])
	switch {
	case err != nil || slot >= len(p.msgs):
		return // not of ours
	case m.Header.Get("Status") == "503":
		p.r.fail(fmt.Errorf("publish on %s: nobody answers there", p.targets[0]))
		return
	case bytes.Contains(m.Data, errorField):
		p.r.fail(fmt.Errorf("publish refused: %s", m.Data))
		return
	}
	now := time.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	record(p.took, sinceEpoch(now)-p.sent[slot])
	p.r.published.Add(1)
	p.open--
	switch {
	case p.r.load.Rate > 0:
		p.free <- slot
	case p.r.claim(now):
		p.send(slot, now)
	case p.open == 0:
		close(p.done)
	}
}
