package wal

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"sort"
	"sync"
)

const (
	// The library holds a generation in one slice, and every growth of the slice is a stall; every new generation costs
	// about a millisecond. With commits of 64 KiB, 2 MiB had half the p99 of 4 MiB and more on a small heap (3 against
	// 7 ms, BenchmarkCommit), and the same on a heap of 128 MiB; 1 MiB had no better p99 and a slower median.
	defaultGenerationSize = 2 << 20
	maxGenerationSize     = 1 << 30 // so that offsets in a generation, with one commit of MaxData more, fit 32 bits
)

// Options say how to open a log. The zero value is good.
type Options struct {
	// GenerationSize is the size in bytes at which a generation is closed and the next one begun; a generation is larger
	// than this by at most one commit. 0 is 2 MiB. At most 1 GiB. The log may have been written with another size.
	GenerationSize int64
	// Logger is told when a torn end is cut. nil: nobody is.
	Logger *slog.Logger
}

// Log is an append-only log of commits, numbered from 1. One goroutine may call Append, Sync and Close. Beside it any
// number may call Last, Read, Scan, Generations and Free, and one may call Drop.
type Log struct {
	dir    string
	size   int64 // GenerationSize
	logger *slog.Logger
	lock   *lock

	writer  *writer // nil until the first Append; only the appending goroutine touches it
	readers readers

	mu      sync.Mutex // guards what follows; never held during a write or a sync
	gens    []*generation
	last    uint64 // the last commit
	durable uint64 // the last commit that is known to be durable
	err     error  // why nothing more may be written: not recovered, failed, closed
	closed  bool
}

// Open locks dir for this process, creating it if it is missing. Call Recover next.
//
// It fails with ErrNotFolder, ErrNotWritable, ErrInUse, ErrUnknownFile or ErrVanished, each wrapped with the path it is
// about.
func Open(dir string, o Options) (*Log, error) {
	if o.GenerationSize < 0 || o.GenerationSize > maxGenerationSize {
		return nil, fmt.Errorf("generation size of %d bytes: must be from 1 to %d, or 0 for %d", o.GenerationSize, maxGenerationSize, defaultGenerationSize)
	}
	if o.GenerationSize == 0 {
		o.GenerationSize = defaultGenerationSize
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	dir, err := filepath.Abs(dir) // the process may change its directory
	if err != nil {
		return nil, err
	}
	if err := vanished(dir); err != nil {
		return nil, err
	}
	if err := makeFolder(dir); err != nil {
		return nil, err
	}
	if err := checkWritable(dir); err != nil {
		return nil, err
	}
	lock, err := acquire(dir)
	if err != nil {
		return nil, err
	}
	gens, err := list(dir)
	if err != nil {
		return nil, errors.Join(err, lock.release())
	}
	return &Log{dir: dir, size: o.GenerationSize, logger: o.Logger, lock: lock, gens: gens, err: ErrNotRecovered}, nil
}

// Last is the number of the last commit in the log, durable or not; 0 if there is none.
func (l *Log) Last() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last
}

// Append writes the next commit, number Last()+1, of at most MaxData bytes. It is not durable before Sync. data is not
// kept. ErrTooLarge leaves the log as it was; after any other error the log is dead: every later Append, Sync and Drop
// returns the same error, and what was appended since the last Sync may be found by the next Recover, or not.
func (l *Log) Append(data []byte) error {
	if err := l.failed(); err != nil {
		return err
	}
	if len(data) > MaxData {
		return fmt.Errorf("%w: %d bytes, at most %d", ErrTooLarge, len(data), MaxData)
	}
	if l.writer == nil || l.writer.bytes >= l.size {
		if err := l.roll(); err != nil {
			return l.fail(err)
		}
	}
	end, err := l.writer.write(l.last+1, l.durable, data)
	if err != nil {
		return l.fail(err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.writer.extend(end)
	l.last++
	return nil
}

// Sync makes all appended commits durable. After an error the log is dead, as with Append: the kernel may have dropped
// what it could not write, and a second sync would not say so.
func (l *Log) Sync() error {
	if err := l.failed(); err != nil {
		return err
	}
	if l.durable == l.last {
		return nil
	}
	if err := l.writer.sync(); err != nil {
		return l.fail(fmt.Errorf("sync commit %d: %w", l.last, err))
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.durable = l.last
	return nil
}

// roll starts the next generation, after everything before it is durable.
func (l *Log) roll() error {
	if err := l.Sync(); err != nil {
		return err
	}
	if err := l.closeWriter(); err != nil {
		return err
	}
	w, err := create(l.dir, l.last+1, l.size)
	if err != nil {
		return fmt.Errorf("start the generation of commit %d: %w", l.last+1, err)
	}
	l.mu.Lock()
	l.writer = w
	l.gens = append(l.gens, w.generation)
	m := l.mark()
	l.mu.Unlock()
	return l.lock.raise(m)
}

// mark is what may be said of the log now.
func (l *Log) mark() mark {
	m := mark{durable: l.durable}
	if len(l.gens) > 0 {
		m.first = l.gens[0].first
	}
	return m
}

// closeWriter seals the generation being written, if there is one.
func (l *Log) closeWriter() error {
	w := l.writer
	if w == nil {
		return nil
	}
	l.mu.Lock()
	l.writer = nil
	w.seal()
	l.mu.Unlock()
	if err := w.close(); err != nil {
		return fmt.Errorf("close %s: %w", w.segment(), err)
	}
	return nil
}

// Read fills p with the data of a commit from byte off of it. Nothing is verified: what is read carries checksums of its
// own. ErrNoCommit: the log does not have the commit, or not so many bytes in it.
func (l *Log) Read(commit uint64, off uint32, p []byte) error {
	path, at, size, err := l.locate(commit)
	if err != nil {
		return err
	}
	if int64(off)+int64(len(p)) > size {
		return fmt.Errorf("%w: %d bytes at byte %d of commit %d, which has %d", ErrNoCommit, len(p), off, commit, size)
	}
	err = l.readers.readAt(path, p, at+int64(off))
	if errors.Is(err, fs.ErrNotExist) { // dropped since we looked, or gone without our doing?
		if _, _, _, dropped := l.locate(commit); dropped != nil {
			return dropped
		}
	}
	return err
}

// locate returns the file that has the data of commit, where in it, and how many bytes.
func (l *Log) locate(commit uint64) (path string, offset, size int64, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.unreadable(); err != nil {
		return "", 0, 0, err
	}
	i := sort.Search(len(l.gens), func(i int) bool { return l.gens[i].last() >= commit })
	if i == len(l.gens) || !l.gens[i].contains(commit) {
		return "", 0, 0, fmt.Errorf("%w: %d", ErrNoCommit, commit)
	}
	offset, size = l.gens[i].data(commit)
	return l.gens[i].segment(), offset, size, nil
}

// Generations lists the generations, oldest first. The last one is being written, or will be followed by a new one at
// the next Append.
func (l *Log) Generations() []Generation {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := make([]Generation, len(l.gens))
	for i, g := range l.gens {
		all[i] = g.public()
	}
	return all
}

// Scan calls fn for each commit of the generation that begins with commit first and is not being written. data is valid
// during the call only. An error from fn ends it and is returned; *Damage says that a commit is not what was written.
func (l *Log) Scan(first uint64, fn func(commit uint64, data []byte) error) error {
	g, err := l.sealed(first)
	if err != nil {
		return err
	}
	last := first - 1
	err = scan(g, func(e entry) error {
		last = e.commit
		return fn(e.commit, e.data)
	})
	if err == nil && last != g.last() {
		err = endsEarly(g, last, g.last())
	}
	return err
}

// sealed returns the generation that begins with commit first, unless it is being written.
func (l *Log) sealed(first uint64) (*generation, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.unreadable(); err != nil {
		return nil, err
	}
	for _, g := range l.gens {
		if g.first == first && (l.writer == nil || g != l.writer.generation) {
			return g, nil
		}
	}
	return nil, fmt.Errorf("%w: no sealed generation begins with %d", ErrNoCommit, first)
}

// Drop deletes the oldest generation, which must begin with commit first. The deletion is durable when it returns, so
// that generations disappear in order at any crash. There must be a durable commit behind it, because the numbering goes
// on from there: ErrNoCommit otherwise. After any other error the log is dead, as with Append.
func (l *Log) Drop(first uint64) error {
	if err := l.failed(); err != nil {
		return err
	}
	oldest, m, err := l.takeOldest(first)
	if err != nil {
		return err
	}
	if err := l.delete(oldest, m); err != nil {
		return l.fail(fmt.Errorf("drop generation %s: %w", oldest.dir, err))
	}
	return nil
}

// takeOldest takes the oldest generation out of the list and returns it, with the mark of the log without it.
func (l *Log) takeOldest(first uint64) (*generation, mark, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.gens) < 2 || l.gens[0].first != first || l.gens[1].first > l.durable {
		return nil, mark{}, fmt.Errorf("%w: generation %d is not the oldest, or no durable commit follows it", ErrNoCommit, first)
	}
	oldest := l.gens[0]
	l.gens = append([]*generation(nil), l.gens[1:]...)
	return oldest, l.mark(), nil
}

// delete makes the mark durable, which says that the log begins behind g, and then deletes g.
func (l *Log) delete(g *generation, m mark) error {
	if err := l.lock.raise(m); err != nil {
		return err
	}
	if err := l.lock.sync(); err != nil {
		return err
	}
	if err := g.removeFile(); err != nil {
		return err
	}
	l.readers.forget(g.segment()) // after the deletion: nobody can open it again
	return g.removeFolder()
}

// Close makes everything appended durable, unless the log is dead, and lets others open the folder. Its error is the
// one the log died of, or what closing found.
func (l *Log) Close() error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return ErrClosed
	}
	l.closed = true
	l.mu.Unlock()

	err := l.finish()
	if errors.Is(err, ErrNotRecovered) {
		err = nil
	}
	l.mu.Lock()
	l.err = ErrClosed
	l.mu.Unlock()
	err = cmp.Or(err, l.closeWriter()) // after a failure it may fail for the same reason, and one is enough
	l.readers.close()
	return cmp.Or(err, l.lock.release())
}

// settle makes everything durable, with nothing behind it.
func (l *Log) settle() error {
	if err := l.Sync(); err != nil || l.writer == nil {
		return err
	}
	if err := l.writer.takeRoom(); err != nil {
		return l.fail(fmt.Errorf("take the room behind commit %d: %w", l.last, err))
	}
	return nil
}

// finish makes everything durable and says so in the mark.
func (l *Log) finish() error {
	if err := l.settle(); err != nil {
		return err
	}
	return l.lock.raise(mark{durable: l.durable}) // the first commit is as Recover, roll or Drop left it
}

// failed is why nothing more may be written, or nil.
func (l *Log) failed() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}

// fail makes err the end of the log, unless it has already ended, and returns what it ended with.
func (l *Log) fail(err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err == nil {
		l.err = err
	}
	return l.err
}

// unreadable is why nothing may be read, or nil. A log that failed can be read: what it has is what it had.
func (l *Log) unreadable() error {
	if l.closed {
		return ErrClosed
	}
	if errors.Is(l.err, ErrNotRecovered) {
		return ErrNotRecovered
	}
	return nil
}
