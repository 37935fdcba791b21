package wal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// What a repair, or a restore, leaves beside a log. None of them is ever taken for the log itself.
const (
	damagedSuffix   = ".damaged"   // the damaged log, set aside
	repairingSuffix = ".repairing" // a repaired log that is being written
	repairedSuffix  = ".repaired"  // one that is whole, on its way to the log's name
	RestoringSuffix = ".restoring" // a log from a backup that is being written
)

// vanished is an error where dir is not there and something beside it says that it was.
func vanished(dir string) error {
	if _, err := os.Lstat(dir); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	files, err := os.ReadDir(filepath.Dir(dir))
	if err != nil {
		return nil // there is no folder for it to be in
	}
	for _, f := range files {
		rest, ok := strings.CutPrefix(f.Name(), filepath.Base(dir))
		if !ok {
			continue
		}
		for _, suffix := range []string{damagedSuffix, repairingSuffix, repairedSuffix, RestoringSuffix} {
			if strings.HasPrefix(rest, suffix) {
				return fmt.Errorf("%s: %w: %s is here; rename what shall be the log, or move it away to begin with nothing",
					dir, ErrVanished, f.Name())
			}
		}
	}
	return nil
}

// Repair makes a whole log of what is whole in this one, and puts it in this one's place. Lost commits become empty
// ones, so that the numbering has no gap; more are commits to add behind all others. The damaged log is kept beside it,
// untouched; setAside is its path.
//
// The new log is written and proven beside the old one, which needs as much room again, and the two names are then
// exchanged at once: a crash leaves the one or the other. After an error the damaged log is in its place.
func (s *Survey) Repair(more ...[]byte) (setAside string, err error) {
	if err := s.flock(unix.LOCK_EX); err != nil {
		return "", err
	}
	fresh := s.Dir + repairingSuffix
	if err := discard(fresh); err != nil {
		return "", err
	}
	if err := s.write(fresh, more); err != nil {
		return "", errors.Join(fmt.Errorf("write the repaired log: %w", err), os.RemoveAll(fresh))
	}
	setAside, err = freeName(s.Dir + damagedSuffix)
	if err != nil {
		return "", err
	}
	return setAside, exchange(fresh, s.Dir, setAside)
}

// discard removes what an interrupted repair has left, and nothing that it cannot have left.
func discard(fresh string) error {
	_, strange, err := enumerate(fresh)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return err
	case len(strange) > 0:
		return fmt.Errorf("%s: %w", strange[0], ErrUnknownFile)
	}
	return os.RemoveAll(fresh)
}

// write writes the repaired log and proves it.
func (s *Survey) write(fresh string, more [][]byte) error {
	l, err := Open(fresh, Options{})
	if err != nil {
		return err
	}
	if err := s.fill(l, more); err != nil {
		return errors.Join(err, l.Close())
	}
	last := l.Last()
	if err := l.Close(); err != nil {
		return err
	}
	proof, err := OpenSurvey(fresh)
	if errors.Is(err, ErrNoLog) && last == 0 {
		return nil
	}
	if err != nil {
		return err
	}
	if proof.Damaged() || proof.Last != last {
		err = fmt.Errorf("it does not read as it was written (commits %d to %d): %v", proof.First, proof.Last, proof.Places)
	}
	return errors.Join(err, proof.Close())
}

// fill appends all commits to l. What is lost in front of all others needs no empty commits.
func (s *Survey) fill(l *Log, more [][]byte) error {
	if err := l.Recover(func(uint64, []byte) error { return errors.New("it should be empty") }); err != nil {
		return err
	}
	begun := false
	begin := func(commit uint64) {
		if !begun {
			l.last, l.durable, begun = commit-1, commit-1, true
		}
	}
	err := s.Commits(func(commit uint64, data []byte) error {
		begin(commit)
		return l.Append(data)
	}, func(first, last uint64) error {
		if !begun {
			return nil
		}
		for range last - first + 1 {
			if err := l.Append(nil); err != nil {
				return err
			}
		}
		return nil
	})
	begin(s.Last + 1)
	for _, data := range more {
		if err == nil {
			err = l.Append(data)
		}
	}
	return err
}

// freeName is name, or name.2, name.3, …: the first that is free.
func freeName(name string) (string, error) {
	for n := 1; ; n++ {
		path := name
		if n > 1 {
			path = fmt.Sprintf("%s.%d", name, n)
		}
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			return path, nil
		} else if err != nil {
			return "", err
		}
	}
}

// exchange puts the log fresh in the place of the log old, which is then called aside. A crash on the way leaves a log
// with old's name; and a repaired one that nobody needs, if it was not yet its turn.
func exchange(fresh, old, aside string) error {
	if err := os.Rename(fresh, aside); err != nil {
		return err
	}
	err := swap(aside, old)
	if errors.Is(err, errNoSwap) {
		err = replace(aside, old)
	}
	if err != nil {
		return fmt.Errorf("put the repaired log in its place: %w", err)
	}
	return syncDir(filepath.Dir(old))
}

// replace is swap for a file system that cannot. A crash between its steps leaves no log of that name; Open then says
// so, and does not begin a new one.
func replace(fresh, old string) error {
	whole := old + repairedSuffix
	if err := os.Rename(fresh, whole); err != nil {
		return err
	}
	if err := os.Rename(old, fresh); err != nil {
		return errors.Join(err, os.Rename(whole, fresh))
	}
	return os.Rename(whole, old)
}

// errNoSwap: the system or the file system cannot exchange two names.
var errNoSwap = errors.New("two names cannot be exchanged at once here")
