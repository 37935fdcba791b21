package wal

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
)

// Recover calls fn for every commit in the log, oldest first. It is called once, before anything else; data is valid
// during the call only. An error from fn ends it and is returned. After any error the log can only be closed.
//
// A torn end of the newest generation is cut. Where a commit that was durable cannot be read, Recover returns *Damage
// and has taken nothing from the disk.
func (l *Log) Recover(fn func(commit uint64, data []byte) error) error {
	if err := l.failed(); err != ErrNotRecovered {
		return errors.Join(errors.New("recover: may be called once, after Open"), err)
	}
	err := l.recover(fn)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil {
		l.err = fmt.Errorf("%w: %w", ErrNotRecovered, err)
		return err
	}
	l.err = nil
	return nil
}

func (l *Log) recover(fn func(uint64, []byte) error) error {
	if err := l.recoverFront(); err != nil {
		return err
	}
	if len(l.gens) == 0 {
		return l.recoverNone()
	}
	if err := l.recoverSealed(fn); err != nil {
		return err
	}
	if err := l.recoverNewest(l.gens[len(l.gens)-1], fn); err != nil {
		return err
	}
	l.durable = l.last
	if err := l.lock.raise(l.mark()); err != nil {
		return err
	}
	return l.lock.renew()
}

// recoverFront finishes the deletion of a generation that Drop had begun with: it has no file any more. Then the log
// must begin where the mark says, or before.
func (l *Log) recoverFront() error {
	begun := len(l.gens) > 1 && l.gens[0].missing
	front := l.gens
	if begun {
		front = l.gens[1:]
	}
	if m := l.lock.mark; len(front) > 0 && m.first > 0 && m.first < front[0].first {
		return &Damage{File: l.dir, Commit: m.first, Reason: fmt.Sprintf(
			"the log begins with commit %d, but the lock file says that it begins with %d", front[0].first, m.first)}
	}
	if begun {
		if err := l.gens[0].removeFolder(); err != nil {
			return err
		}
	}
	l.gens = front
	return nil
}

// recoverNone is for a folder without generations: a new log, or one that has been taken away.
func (l *Log) recoverNone() error {
	if m := l.lock.mark; m.durable > 0 {
		return &Damage{File: l.dir, Commit: max(m.first, 1), Reason: fmt.Sprintf(
			"there is no generation, but the lock file says that commits up to %d were durable", m.durable)}
	}
	return nil
}

// recoverSealed reads the generations that have a successor. Each was durable as a whole before that was begun.
func (l *Log) recoverSealed(fn func(uint64, []byte) error) error {
	sealed := l.gens[:len(l.gens)-1]
	files := readAhead(sealed)
	defer files.stop()
	for i, g := range sealed {
		err := files.each(i, func(e entry) error {
			g.extend(e.end())
			return fn(e.commit, e.data)
		})
		if err != nil {
			return err
		}
		g.seal()
		if err := follows(g, l.gens[i+1].first); err != nil {
			return err
		}
	}
	return nil
}

// follows checks that a generation that begins with commit next comes right behind g.
func follows(g *generation, next uint64) error {
	switch last := g.last(); {
	case last+1 < next:
		return endsEarly(g, last, next-1)
	case last+1 > next:
		return &Damage{File: g.segment(), Offset: g.bytes, Commit: next, Reason: fmt.Sprintf("another generation begins with commit %d", next)}
	}
	return nil
}

// recoverNewest reads the generation that was being written when the log was last in use, mends its end and makes sure
// that all of it is on disk.
func (l *Log) recoverNewest(g *generation, fn func(uint64, []byte) error) error {
	end, torn, err := examine(g)
	if err != nil {
		return err
	}
	if proof := l.lock.mark.proof(g, len(l.gens) == 1, end.Commit, torn); proof != "" {
		end.Reason += ", but " + proof
		return end
	}
	if torn.size > 0 {
		if err := l.cut(g, torn, end); err != nil {
			return err
		}
	}
	l.last = end.Commit - 1
	if end.Commit == g.first {
		return l.removeNewest(g)
	}
	return l.rewrite(g, fn)
}

// examine finds where the whole commits of g end, for what reason, and what lies behind that point.
func examine(g *generation) (end *Damage, torn tail, err error) {
	if g.missing {
		return &Damage{File: g.dir, Commit: g.first, Reason: "it has no segment file"}, torn, nil
	}
	file, err := os.Open(g.segment())
	if err != nil {
		return nil, torn, err
	}
	defer file.Close()
	s, err := scanFile(file, g)
	if err != nil {
		return nil, torn, err
	}
	for err == nil {
		_, err = s.step()
	}
	if err == io.EOF {
		return s.damage("the file ends"), torn, nil
	}
	if !errors.As(err, &end) {
		return nil, torn, err
	}
	torn, err = s.readTail()
	return end, torn, err
}

// proof is the sentence that says how we know that commit, which is not whole in the newest generation g, was durable;
// "" if we do not. torn is what is there instead; only says that there is no other generation.
func (m mark) proof(g *generation, only bool, commit uint64, torn tail) string {
	switch {
	case torn.witness > 0:
		return fmt.Sprintf("commit %d, behind it, was written when it was durable", torn.witness)
	case commit <= m.durable:
		return fmt.Sprintf("the lock file says that commits up to %d were durable", m.durable)
	case only && commit == g.first && commit > 1:
		return "it was durable when the commits before it were dropped"
	}
	return ""
}

// rewrite delivers the whole commits of the newest generation, and writes each over itself on the way: after a failed
// sync the page cache may show bytes that the disk does not have, marked as if it had them, and only a write marks
// them anew; so with its size. What is written is what was just verified, in memory, not what a second read might bring.
func (l *Log) rewrite(g *generation, fn func(uint64, []byte) error) error {
	file, err := os.OpenFile(g.segment(), os.O_RDWR, 0)
	if err != nil {
		return err
	}
	defer file.Close()
	s, err := scanFile(file, g)
	if err != nil {
		return err
	}
	err = s.each(func(e entry) error {
		if _, err := file.WriteAt(e.raw, e.offset); err != nil {
			return err
		}
		g.extend(e.end())
		return fn(e.commit, e.data)
	})
	if err != nil {
		return err
	}
	g.seal()
	return cmp.Or(renewSize(file, g.bytes), file.Sync(), syncDir(g.dir), syncDir(l.dir))
}

// renewSize sets the size that the file has already: what a failed sync has left behind the end of the file on the disk is
// not seen either, and would be damage once the next generation is begun. Between the two calls there is room for one byte.
func renewSize(file *os.File, size int64) error {
	return cmp.Or(file.Truncate(size+1), file.Truncate(size))
}

// removeNewest removes the newest generation, which has no commit: its creation was cut short, or its first commit was.
func (l *Log) removeNewest(g *generation) error {
	l.gens = l.gens[:len(l.gens)-1]
	if err := g.removeFile(); err != nil {
		return err
	}
	return g.removeFolder()
}

// endsEarly is the damage that g has its commits up to last, and should have those up to want.
func endsEarly(g *generation, last, want uint64) *Damage {
	reason := fmt.Sprintf("commits %d to %d are missing", last+1, want)
	if last+1 == want {
		reason = "it is missing"
	}
	return &Damage{File: g.segment(), Offset: g.bytes, Commit: last + 1, Reason: reason}
}
