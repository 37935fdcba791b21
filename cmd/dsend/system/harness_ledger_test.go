package system

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

// ledger is what the clients of a test were promised: every message they sent, and
// what was confirmed of it. It may be used from any goroutine.
//
// Four things must never be found, and are counted:
//
//	lost        taken, and nowhere to be found
//	undone      confirmed as acked or removed, and there again or delivered again;
//	            confirmed as dead, and alive
//	invented    never sent, or sent with another body or other headers
//	duplicated  in two places, or one delivery handed out twice
type ledger struct {
	mu      sync.Mutex
	rng     *rand.Rand
	noise   *rand.ChaCha8
	items   map[string]*item
	waiting int             // about how many are stored
	numbers map[string]bool // deliveries seen, by queue and number
	lives   map[string]turn // the newest one, by queue and sequence
	replays time.Time       // when the last replay was over

	// visibility is how long a delivery of a queue is owned, by which the ledger
	// knows when it was handed out; empty is any queue that is not named.
	visibility map[string]time.Duration
	// gives back: naks that are not counted are used, so an attempt may come twice.
	givesBack bool

	lost, undone, invented, duplicated int
	faults                             []string
}

// turn is a delivery of a message.
type turn struct{ number, attempt uint64 }

// item is one message and what is known of it.
type item struct {
	out   // its body is forgotten when it is gone
	id    string
	sum   [sha256.Size]byte // of its body
	taken bool              // it is stored for certain
	none  bool              // it was refused for certain
	home  string            // where it was published to, and its number there; empty if not known
	seq   uint64
	gone  time.Time // when it was confirmed that it is done or removed
	dead  time.Time // when the answer or command was sent that was confirmed to kill it
	maybe bool      // something was not confirmed that may have removed it
}

func newLedger(rng *rand.Rand, visibility time.Duration) *ledger {
	var seed [32]byte
	for k := range seed {
		seed[k] = byte(rng.Uint32())
	}
	return &ledger{
		rng: rand.New(rand.NewPCG(rng.Uint64(), rng.Uint64())), noise: rand.NewChaCha8(seed),
		items: map[string]*item{}, numbers: map[string]bool{}, lives: map[string]turn{},
		visibility: map[string]time.Duration{"": visibility},
	}
}

// bulky is the queue whose messages are large.
const bulky = "bulk"

// draw makes a message of random content, with what options add to it.
func (l *ledger) draw(queue string, options ...func(out) out) *item {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := &item{id: fmt.Sprintf("%s#%d", queue, len(l.items)+1)}
	i.out = plain(queue, i.id+"|")
	size := l.rng.IntN(200)
	switch {
	case queue == bulky:
		size = l.rng.IntN(200_000)
	case l.rng.IntN(20) == 0:
		size = l.rng.IntN(20_000)
	}
	random := make([]byte, size)
	_, _ = l.noise.Read(random) // never fails
	i.body = append(i.body, random...)
	i.sum = sha256.Sum256(i.body)
	if l.rng.IntN(3) == 0 {
		i.header = nats.Header{"Order": {i.id}, "Twice": {"first", fmt.Sprint(l.rng.Uint32())}, "empty": {""}}
	}
	for _, f := range options {
		i.out = f(i.out)
	}
	l.items[i.id] = i
	return i
}

// idOf is what a body begins with.
func idOf(body []byte) string {
	id, _, _ := strings.Cut(string(body[:min(len(body), 100)]), "|")
	return id
}

// publish sends a message and notes the answer.
func (l *ledger) publish(c *client, i *item) error {
	ack, err := c.publish(i.out)
	l.answered(i, ack, err)
	return err
}

// put publishes n random messages at once, which must all be taken.
func (l *ledger) put(t testing.TB, c *client, queue string, n int) []*item {
	t.Helper()
	items, outs := make([]*item, n), make([]out, n)
	for k := range items {
		items[k] = l.draw(queue)
		outs[k] = items[k].out
	}
	answers, err := c.publishAll(outs)
	for k, a := range answers {
		l.answered(items[k], a.ack, a.err)
		err = errors.Join(err, a.err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return items
}

// answered notes the answer to a publish. Only a refusal that says that the
// request itself is wrong says for certain that nothing is stored.
func (l *ledger) answered(i *item, ack pubAck, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	var refused *refusal
	switch {
	case err == nil:
		i.taken, i.home, i.seq = true, ack.Stream, ack.Seq
		l.waiting++
	case errors.As(err, &refused) && refused.Code < 500:
		i.none = true
	}
}

// saw notes a delivery, checks it, and gives its message; nil if it is not known.
func (l *ledger) saw(d *delivery) *item {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := l.known(d.Data, d.Header, d.String())
	if i == nil {
		return nil
	}
	if handed := l.handed(d); !i.gone.IsZero() && handed.After(i.gone) {
		l.undone++
		l.fault("%v was handed out at %v, but confirmed as gone at %v", d, handed, i.gone)
	}
	key := fmt.Sprintf("%s/%d", d.queue, d.number)
	if l.numbers[key] {
		l.duplicated++
		l.fault("delivery %d of queue %s came twice: %v", d.number, d.queue, d)
	}
	l.numbers[key] = true
	l.count(d)
	return i
}

// of is the message of a delivery that was seen.
func (l *ledger) of(d *delivery) *item {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.items[idOf(d.Data)]
}

// known finds the message of a body, and checks that it is what was sent. It is
// stored for certain from then on.
func (l *ledger) known(body []byte, header nats.Header, where string) *item {
	i := l.items[idOf(body)]
	switch {
	case i == nil:
		l.invented++
		l.fault("%s was never published", where)
		return nil
	case i.none:
		l.invented++
		l.fault("%s was refused", where)
	case sha256.Sum256(body) != i.sum:
		l.invented++
		l.fault("%s has another body than was published", where)
	case !sameHeader(header, i.header):
		l.invented++
		l.fault("%s has other headers than were published: %v, not %v", where, header, i.header)
	}
	i.taken = true
	return i
}

// sameHeader compares without what Dsend adds.
func sameHeader(got, sent nats.Header) bool {
	n := 0
	for key, values := range got {
		if _, ours := sent[key]; !ours && strings.HasPrefix(key, "Dsend-") {
			continue
		}
		if n++; strings.Join(values, "\n") != strings.Join(sent[key], "\n") || len(values) != len(sent[key]) {
			return false
		}
	}
	return n == len(sent)
}

// handed is when a delivery was handed out, by the server's clock.
func (l *ledger) handed(d *delivery) time.Time {
	visibility, ok := l.visibility[d.queue]
	if !ok {
		visibility = l.visibility[""]
	}
	if deadline := d.deadline(); visibility > 0 && !deadline.IsZero() {
		return deadline.Add(-visibility)
	}
	return d.at
}

// count checks that the attempts of a message only grow.
func (l *ledger) count(d *delivery) {
	key := fmt.Sprintf("%s/%d", d.queue, d.seq)
	last, again := l.lives[key]
	if last.number < d.number {
		l.lives[key] = turn{d.number, d.attempt}
	}
	if !again || l.givesBack {
		return
	}
	if (last.number < d.number) != (last.attempt < d.attempt) {
		l.duplicated++
		l.fault("%v is delivery %d, but delivery %d was attempt %d", d, d.number, last.number, last.attempt)
	}
}

// answer answers a delivery, waits for the result and notes it.
func (l *ledger) answer(d *delivery, answer string) (string, error) {
	sent := time.Now()
	l.mayEnd(d, answer)
	result, err := d.ask(answer)
	if err != nil {
		return "", err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	i := l.items[idOf(d.Data)]
	switch {
	case i == nil:
	case answer == ack && (result == "ok" || result == "late") && i.gone.IsZero():
		l.end(i)
	case strings.HasPrefix(answer, term) && result == "ok" && d.Header.Get("Dsend-Dead-Reason") == "":
		i.dead = sent
	}
	return result, nil
}

// end notes that a message is gone for certain.
func (l *ledger) end(i *item) {
	i.gone, i.body = time.Now(), nil
	l.waiting--
}

// crowded tells whether much is stored.
func (l *ledger) crowded() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.waiting > 200
}

// mayEnd notes that an answer is on its way which may be the end of a message.
func (l *ledger) mayEnd(d *delivery, answer string) {
	if answer != ack {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := l.items[idOf(d.Data)]; i != nil {
		i.maybe = true
	}
}

// fault notes what is wrong.
func (l *ledger) fault(format string, args ...any) {
	l.faults = append(l.faults, fmt.Sprintf(format, args...))
}

// counters are the four counters in one line.
func (l *ledger) counters() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return fmt.Sprintf("lost %d, undone %d, invented %d, duplicated %d", l.lost, l.undone, l.invented, l.duplicated)
}

// check fails the test with all that was found wrong so far.
func (l *ledger) check(t testing.TB) {
	t.Helper()
	l.mu.Lock()
	faults := l.faults
	l.faults = nil
	l.mu.Unlock()
	for _, f := range faults[:min(len(faults), 20)] {
		t.Error(f)
	}
	if len(faults) > 20 {
		t.Errorf("and %d faults more", len(faults)-20)
	}
	if len(faults) > 0 {
		t.FailNow()
	}
}

// item is the message that was seen in a queue.
func (l *ledger) item(m stored) *item {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.items[idOf(m.Data)]
}
