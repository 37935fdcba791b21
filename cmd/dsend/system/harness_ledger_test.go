package system

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"dsend/testkit"
)

// ledger is what the clients of a test were promised: every message they sent, and
// what was confirmed of it. It may be used from any goroutine.
//
// Five things must never be found, and are counted:
//
//	lost        taken, and nowhere to be found
//	undone      confirmed as acked or removed, and there again or delivered again;
//	            confirmed as dead, and alive
//	invented    never sent, or sent with other headers
//	damaged     sent with another body
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
	// blind: the power is being cut. What is confirmed from now on is not believed.
	blind bool

	lost, undone, invented, damaged, duplicated int
	faults                                      []string
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

// believe tells the ledger whether what is confirmed counts. do is done in between:
// what was noted before it was confirmed before it.
func (l *ledger) believe(yes bool, do func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.blind = !yes
	do()
}

// crowded tells whether much is stored.
func (l *ledger) crowded() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.waiting > 200
}

// fault notes what is wrong.
func (l *ledger) fault(format string, args ...any) {
	l.faults = append(l.faults, fmt.Sprintf(format, args...))
}

// counters are the counters in one line.
func (l *ledger) counters() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return fmt.Sprintf("lost %d, undone %d, invented %d, damaged %d, duplicated %d", l.lost, l.undone, l.invented, l.damaged, l.duplicated)
}

// stormRow prints the row of the table for what was done to the server so many
// times.
func (l *ledger) stormRow(t testing.TB, fault string, count int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	failed := 0
	if t.Failed() {
		failed = 1
	}
	testkit.StormRow(fault, count, l.lost, l.undone, l.invented, l.damaged, failed)
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
