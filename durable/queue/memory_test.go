package queue

import (
	"testing"
	"time"

	"dsend/testkit"
)

// TestWaitingMessagesAreSmall measures the memory of a backlog: 4 bytes for
// each message that was committed in a batch, 32 at the worst. What was
// published one by one has times of its own, also when it is carried in batches.
func TestWaitingMessagesAreSmall(t *testing.T) {
	const n = 30_000
	subjects := []string{"orders.new", "orders.eu.new", "o"}
	plays := []struct {
		name     string
		bound    float64
		batch    int
		sizes    int // that many
		mixed    bool
		compacts bool
	}{
		{name: "batches", bound: 4, batch: perCommit},
		{name: "batches of varying sizes", bound: 4, batch: perCommit, sizes: 4096},
		{name: "one by one", bound: 32, batch: 1},
		{name: "one by one, varying sizes, mixed priorities and subjects", bound: 32, batch: 1, sizes: 20_000, mixed: true},
		{name: "batches, varying sizes, mixed priorities and subjects", bound: 16, batch: perCommit, sizes: 4096, mixed: true},
		{name: "one by one, carried forward", bound: 20, batch: 1, sizes: 1024, compacts: true},
	}
	for _, p := range plays {
		t.Run(p.name, func(t *testing.T) {
			random := testkit.Dice(t)
			d := drive(benchConfig())
			op := plain()
			large := make([]byte, max(p.sizes, 256))
			for i := range n {
				if op.Body = large[:256]; p.sizes > 0 {
					op.Body = large[:random.IntN(p.sizes)]
				}
				if p.mixed {
					op.Subject = []byte(subjects[random.IntN(len(subjects))])
					op.HasPriority, op.Priority = true, uint8(random.IntN(maxPriority+1))
				}
				d.Step(&op, d.now, &d.out)
				if i%p.batch == p.batch-1 {
					d.now += random.Int64N(int64(time.Second)) // late enough for any time to differ
					d.keep = p.compacts
					d.next()
				}
			}
			if p.compacts {
				d.carryAll()
			}
			d.Match(d.now, &d.out)
			d.next()
			if err := d.Check(); err != nil {
				t.Fatal(err)
			}
			if i, _ := d.Info("q"); i.Ready != n {
				t.Fatalf("%d messages wait", i.Ready)
			}
			s := d.State
			d.State, d.log = nil, nil
			each := heapOf(&s) / n
			t.Logf("%.2f bytes each", each)
			if each > p.bound {
				t.Errorf("a waiting message takes %.2f bytes, not %v at the most", each, p.bound)
			}
		})
	}
}

// carryAll compacts the log of a driven State.
func (d *driven) carryAll() {
	carry, through := &Carry{}, d.log[len(d.log)-1].number
	flush := func() {
		carry.Through = through
		d.Step(carry, d.now, &d.out)
		carry = &Carry{}
		d.keep = false
		d.next()
	}
	for _, e := range d.log {
		for offset, record := range Messages(e.data) {
			if carry.Add(e.number, offset, record); len(carry.found) == perCommit {
				flush()
			}
		}
	}
	carry.Finish = true
	flush()
}

// TestABacklogIsDelivered takes a backlog out again that lies in many blocks,
// at random and from the front, and everything of it is there.
func TestABacklogIsDelivered(t *testing.T) {
	const n = 10_000
	d := drive(benchConfig())
	op := plain()
	for i := range n {
		op.Body = body256[:i%200]
		op.HasPriority, op.Priority = true, uint8(i%3)
		d.Step(&op, d.now, &d.out)
		if i%10 == 0 {
			d.next()
		}
	}
	for seq := uint64(1); seq <= n; seq += 7 {
		d.Step(&Delete{Name: "q", Seq: seq}, d.now, &d.out)
	}
	if err := d.Check(); err != nil {
		t.Fatal(err)
	}
	settings := Defaults()
	settings.MaxInFlight = n
	d.Step(&Declare{Name: "q", Settings: settings, Source: FromAPI}, d.now, &d.out)
	d.next()
	d.Step(&Pull{Queue: "q", Consumer: PullConsumer, Inbox: "in", Peer: "p", Batch: n, NoWait: true}, d.now, &d.out)
	got, last := map[uint64]bool{}, [3]uint64{}
	for more := true; more; more = d.Next() <= d.now {
		d.Match(d.now, &d.out)
		for _, sp := range d.out.Speech {
			if sp.Status != 0 {
				continue
			}
			p := (sp.Seq - 1) % 3
			if got[sp.Seq] || sp.Seq%7 == 1 || sp.Seq <= last[p] {
				t.Fatalf("message %d is delivered behind %v", sp.Seq, last)
			}
			got[sp.Seq], last[p] = true, sp.Seq
		}
		d.next()
	}
	if want := n - (n+6)/7; len(got) != want {
		t.Errorf("%d of %d messages were delivered", len(got), want)
	}
}
