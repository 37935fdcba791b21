package wal

import (
	"io"
	"os"
	"sync"
)

const (
	// aheadReaders is how many goroutines read ahead: one would wait for the disk and for the checksums in turn.
	aheadReaders = 2
	// aheadMax is the largest generation that is read ahead, in bytes: each reader holds two. A larger one, written with
	// another GenerationSize or because of a large commit, is read piece by piece when its turn comes.
	aheadMax = 8 << 20
)

// ahead reads generations, in order, before they are asked for: files are read and checksums proven by a few goroutines
// while the caller works on what came before.
//
//	reader 0:  generation 0   2   4 …  ─┐
//	reader 1:  generation 1   3   5 …  ─┴─► next, in order
type ahead struct {
	gens    []*generation
	from    []chan *loaded // of each reader, with room for one
	spare   chan *loaded   // memory to be used again
	quit    chan struct{}
	running sync.WaitGroup
}

// loaded is a generation in memory.
type loaded struct {
	file    []byte  // what the segment file holds
	entries []entry // its verified entries; their bytes are part of file
	err     error   // what lies behind them; nil if that is the end of the file
	large   bool    // it was not read
}

// readAhead starts to read generations. The caller calls next for each, and stop at the end.
func readAhead(gens []*generation) *ahead {
	a := &ahead{gens: gens, quit: make(chan struct{}), spare: make(chan *loaded, 2*aheadReaders+1)}
	for range min(aheadReaders, len(gens)) {
		a.from = append(a.from, make(chan *loaded, 1))
	}
	for i := range a.from {
		a.running.Go(func() { a.read(i) })
	}
	return a
}

// stop ends the readers and waits for them.
func (a *ahead) stop() {
	close(a.quit)
	a.running.Wait()
}

// read reads every aheadReaders-th generation from the first one on.
func (a *ahead) read(first int) {
	for i := first; i < len(a.gens); i += aheadReaders {
		l := a.memory()
		l.load(a.gens[i])
		select {
		case a.from[first] <- l:
		case <-a.quit:
			return
		}
	}
}

// each calls fn for each commit of the i-th generation, which follows the one that was asked for before.
func (a *ahead) each(i int, fn func(entry) error) error {
	l := <-a.from[i%aheadReaders]
	defer func() { a.spare <- l }()
	if l.large {
		return scan(a.gens[i], fn)
	}
	for _, e := range l.entries {
		if err := fn(e); err != nil {
			return err
		}
	}
	return l.err
}

func (a *ahead) memory() *loaded {
	select {
	case l := <-a.spare:
		return l
	default:
		return &loaded{}
	}
}

// load reads a generation.
func (l *loaded) load(g *generation) {
	l.entries, l.err, l.large = l.entries[:0], nil, false
	if g.missing {
		return // follows says what is missing
	}
	file, err := os.Open(g.segment())
	if err != nil {
		l.err = err
		return
	}
	defer file.Close()
	s, err := scanFile(file, g)
	switch {
	case err != nil:
		l.err = err
	case s.size > aheadMax:
		l.large = true
	default:
		l.err = l.scan(s)
	}
}

// scan reads all of a file and proves its entries.
func (l *loaded) scan(s *scanner) error {
	if int64(cap(l.file)) < s.size {
		l.file = make([]byte, s.size)
	}
	l.file = l.file[:s.size]
	if n, err := s.file.ReadAt(l.file, 0); err != nil && (err != io.EOF || int64(n) < s.size) {
		return s.unreadable(err)
	}
	s.buf = l.file
	return s.each(func(e entry) error {
		l.entries = append(l.entries, e)
		return nil
	})
}
