package durable

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"testing"
)

var errDisk = errors.New("the disk is broken")

// memLog is a Log in memory that breaks when it is told to, and notes every
// breach of Log's contract.
type memLog struct {
	size     int64        // of a generation: the next Append begins a new one
	boundary func(string) // is called after each Append, Sync and Drop: a place to crash
	reading  func()       // is called before each Read

	mu       sync.Mutex
	gens     []memGen
	last     uint64
	synced   uint64
	free     uint64
	freeErr  error
	peak     int64
	calls    map[string]int
	fails    map[string]int // the call that fails, by its number
	happened int            // faults
	held     chan struct{}  // Sync waits until it is closed; nil: it does not
	fresh    bool           // the next commit begins a generation
	broken   error          // after it nothing may be written
	closed   bool
	breaches []string
}

type memGen struct {
	first   uint64
	commits [][]byte
	bytes   int64
}

// frame is what a commit costs beside its data.
const frame = 37

func newMemLog() *memLog {
	return &memLog{size: math.MaxInt64, free: math.MaxUint64, calls: map[string]int{}, fails: map[string]int{}}
}

// call counts a call and gives its fault, if it is its turn.
func (l *memLog) call(name string) error {
	l.calls[name]++
	if l.calls[name] == l.fails[name] {
		l.happened++
		return fmt.Errorf("%s %d: %w", name, l.calls[name], errDisk)
	}
	return nil
}

// failNext has the n-th call from now on fail.
func (l *memLog) failNext(name string, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fails[name] = l.calls[name] + n
}

func (l *memLog) count(name string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.calls[name]
}

func (l *memLog) faults() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.happened
}

// hold lets Sync wait from now on, until release.
func (l *memLog) hold() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held = make(chan struct{})
}

func (l *memLog) release() {
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.held)
	l.held = nil
}

// crash gives what a power cut leaves: what was synced, and the first n of the
// other commits.
func (l *memLog) crash(n int) *memLog {
	l.mu.Lock()
	defer l.mu.Unlock()
	left := newMemLog()
	left.size, left.last = l.size, min(l.last, l.synced+uint64(n))
	left.synced = left.last
	for _, g := range l.gens {
		if g.first > left.last {
			break
		}
		g.commits = slices.Clone(g.commits[:min(uint64(len(g.commits)), left.last-g.first+1)])
		g.bytes = 0
		for _, data := range g.commits {
			g.bytes += int64(len(data)) + frame
		}
		left.gens = append(left.gens, g)
	}
	return left
}

// begin has the next commit begin a generation, as after a restart.
func (l *memLog) begin() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fresh = true
}

// bytes is how many bytes it has.
func (l *memLog) bytes() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sum()
}

// most is how many bytes it had at the most.
func (l *memLog) most() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.peak
}

func (l *memLog) sum() (n int64) {
	for _, g := range l.gens {
		n += g.bytes
	}
	return n
}

func (l *memLog) breach(format string, args ...any) {
	l.breaches = append(l.breaches, fmt.Sprintf(format, args...))
}

// check fails the test if the store did what a Log forbids.
func (l *memLog) check(t testing.TB) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, b := range l.breaches {
		t.Errorf("breach of Log's contract: %s", b)
	}
	if !l.closed {
		t.Errorf("the log was not closed")
	}
}

func (l *memLog) Recover(fn func(uint64, []byte) error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.call("Recover"); err != nil {
		return err
	}
	for _, g := range l.gens {
		for i, data := range g.commits {
			lent := bytes.Clone(data)
			if err := fn(g.first+uint64(i), lent); err != nil {
				return err
			}
			clear(lent) // it was valid during the call only
		}
	}
	return nil
}

func (l *memLog) Last() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls["Last"]++
	return l.last
}

func (l *memLog) Append(data []byte) error {
	err := l.append(data)
	l.at("Append", err)
	return err
}

// at is a place to crash, if the call went well.
func (l *memLog) at(name string, err error) {
	if err == nil && l.boundary != nil {
		l.boundary(name)
	}
}

func (l *memLog) append(data []byte) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.broken != nil || l.closed {
		l.breach("Append after %v, closed %t", l.broken, l.closed)
	}
	if len(data) == 0 {
		l.breach("Append of nothing")
	}
	if err := l.call("Append"); err != nil {
		l.broken = err
		return err
	}
	if n := len(l.gens); n == 0 || l.gens[n-1].bytes >= l.size || l.fresh {
		l.synced = l.last // what was before is synced on the way
		l.gens = append(l.gens, memGen{first: l.last + 1})
		l.fresh = false
	}
	g := &l.gens[len(l.gens)-1]
	g.commits = append(g.commits, bytes.Clone(data))
	g.bytes += int64(len(data)) + frame
	l.last++
	l.peak = max(l.peak, l.sum())
	return nil
}

func (l *memLog) Sync() error {
	err := l.sync()
	l.at("Sync", err)
	return err
}

func (l *memLog) sync() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.broken != nil || l.closed {
		l.breach("Sync after %v, closed %t", l.broken, l.closed)
	}
	err, held, last := l.call("Sync"), l.held, l.last
	if held != nil {
		l.mu.Unlock()
		<-held
		l.mu.Lock()
	}
	if err != nil {
		l.broken = err
		return err
	}
	l.synced = max(l.synced, last)
	return nil
}

// generation gives the index of the one that has a commit.
func (l *memLog) generation(commit uint64) int {
	return slices.IndexFunc(l.gens, func(g memGen) bool {
		return commit >= g.first && commit < g.first+uint64(len(g.commits))
	})
}

func (l *memLog) Read(commit uint64, off uint32, p []byte) error {
	if l.reading != nil {
		l.reading()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if commit > l.synced {
		l.breach("Read of commit %d, which is not durable", commit)
	}
	if err := l.call("Read"); err != nil {
		return err
	}
	i := l.generation(commit)
	if i < 0 {
		return fmt.Errorf("no such commit: %d", commit)
	}
	data := l.gens[i].commits[commit-l.gens[i].first]
	if int(off)+len(p) > len(data) {
		return fmt.Errorf("commit %d has %d bytes", commit, len(data))
	}
	copy(p, data[off:])
	return nil
}

// damage flips a bit of a commit.
func (l *memLog) damage(commit uint64, off int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	g := l.gens[l.generation(commit)]
	g.commits[commit-g.first][off] ^= 1
}

func (g memGen) public() Generation {
	return Generation{First: g.first, Last: g.first + uint64(len(g.commits)) - 1, Bytes: g.bytes}
}

func (l *memLog) Generations() (all []Generation) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, g := range l.gens {
		all = append(all, g.public())
	}
	return all
}

func (l *memLog) Newest() Generation {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.gens[len(l.gens)-1].public()
}

func (l *memLog) Scan(first uint64, fn func(uint64, []byte) error) error {
	l.mu.Lock()
	err, i := l.call("Scan"), l.generation(first)
	if i < 0 || i == len(l.gens)-1 {
		l.breach("Scan of %d, which is not sealed", first)
	}
	g := l.gens[i]
	l.mu.Unlock()
	for i, data := range g.commits {
		if err == nil {
			lent := bytes.Clone(data)
			err = fn(g.first+uint64(i), lent)
			clear(lent)
		}
	}
	return err
}

func (l *memLog) Drop(first uint64) error {
	err := l.drop(first)
	l.at("Drop", err)
	return err
}

func (l *memLog) drop(first uint64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.gens) < 2 || l.gens[0].first != first || l.closed {
		l.breach("Drop of %d, which is not the oldest", first)
	}
	if err := l.call("Drop"); err != nil {
		return err
	}
	l.gens = slices.Clone(l.gens[1:])
	return nil
}

func (l *memLog) Free() (uint64, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls["Free"]++
	return l.free, l.freeErr
}

func (l *memLog) setFree(n uint64, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.free, l.freeErr = n, err
}

func (l *memLog) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		l.breach("Close twice")
	}
	l.closed = true
	if l.broken != nil {
		return l.broken
	}
	if err := l.call("Close"); err != nil {
		return err
	}
	l.synced = l.last
	return nil
}

// unsynced is how many commits a power cut may take.
func (l *memLog) unsynced() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return int(l.last - l.synced)
}
