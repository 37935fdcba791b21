package wal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"
)

// Survey is a closed log as it lies on disk: every commit in it that is whole, and every place that is not. Nothing on
// disk is changed by it, but by Repair. Its lock keeps servers off until Close.
//
// Where Recover stops at the first damage, a survey goes on behind it:
//
//	file of commits 41 … 97     41 ▒▒▒▒ 45 46 47 …… 97
//	                               ▲    ▲
//	                               │    the next whole entry with the salt of this generation
//	                               Places: file, byte, bytes;  Lost: commits 42 to 44
type Survey struct {
	Dir    string  // of the log
	First  uint64  // its first commit, whole or lost; 0: it never had one
	Last   uint64  // its last commit, whole or lost
	Places []Place // all damage, oldest generation first
	Lost   []Lost  // the commits that are nowhere, in order
	Torn   *Place  // the torn end that Recover would cut, without the zeros behind it; nil: none. It is not damage

	lock  *os.File // nil: there is no lock file
	mark  mark
	gens  []*generation
	whole []stretch
}

// Place is where something is wrong in a closed log.
type Place struct {
	Damage
	Bytes int64 // how many bytes there hold no whole commit; 0: something is missing there, or should not be there
}

// String says where and what.
func (p Place) String() string {
	if p.Commit == 0 {
		return fmt.Sprintf("%s: %s", p.File, p.Reason)
	}
	if p.Bytes == 0 {
		return p.Error()
	}
	return fmt.Sprintf("%s (%d bytes)", p.Error(), p.Bytes)
}

// Lost is a row of commits that were in the log and are not any more.
type Lost struct{ First, Last uint64 }

// stretch is a row of whole commits in a file.
type stretch struct {
	path        string
	start       spot // of its first entry
	first, last uint64
	from        uint64 // the first one that is not in an earlier stretch
	strayed     bool   // the file lies where another one belongs
}

// OpenSurvey looks at a closed log. ErrNoLog: the folder has nothing that only a log has. ErrInUse: a server, or a
// repair, has it open. What cannot be read is damage, not an error, where the system names the file that it is in.
func OpenSurvey(dir string) (*Survey, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	if err := vanished(dir); err != nil {
		return nil, err
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return nil, err
	}
	gens, strange, err := enumerate(dir)
	if errors.Is(err, unix.ENOTDIR) {
		return nil, fmt.Errorf("%s: %w", dir, ErrNotFolder)
	}
	if err != nil {
		return nil, err
	}
	s := &Survey{Dir: dir, gens: gens}
	if err := s.openLock(); err != nil {
		return nil, err
	}
	if len(gens) == 0 && s.mark == (mark{}) {
		return nil, errors.Join(fmt.Errorf("%s: %w", dir, ErrNoLog), s.Close())
	}
	for _, path := range strange {
		s.Places = append(s.Places, Place{Damage: Damage{File: path, Reason: ErrUnknownFile.Error()}})
	}
	if err := s.read(); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// openLock keeps servers off, if there is a lock file, and reads the mark. Others may look at the same time.
func (s *Survey) openLock() (err error) {
	path := filepath.Join(s.Dir, lockName)
	s.lock, err = os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0) // a pipe is not waited for
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, unix.ELOOP) {               // a link is among what is strange
		s.lock = nil
		return nil
	}
	if err != nil {
		return err
	}
	if err := s.flock(unix.LOCK_SH); err != nil {
		return errors.Join(err, s.Close())
	}
	if info, err := s.lock.Stat(); err != nil || !info.Mode().IsRegular() {
		return err
	}
	if s.mark, err = readMark(s.lock); err != nil {
		return errors.Join(fmt.Errorf("%s cannot be read: %w", path, err), s.Close())
	}
	return nil
}

// flock locks the lock file: LOCK_SH beside others that look, LOCK_EX alone.
func (s *Survey) flock(how int) error {
	if s.lock == nil {
		return nil
	}
	err := unix.Flock(int(s.lock.Fd()), how|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		err = ErrInUse
	}
	if err != nil {
		return fmt.Errorf("%s: %w", s.Dir, err)
	}
	return nil
}

// Close lets servers in.
func (s *Survey) Close() error {
	if s.lock == nil {
		return nil
	}
	return s.lock.Close()
}

// Damaged tells whether a server would refuse the log.
func (s *Survey) Damaged() bool { return len(s.Places) > 0 }

// Size is how many bytes the generations have.
func (s *Survey) Size() (bytes int64) {
	for _, g := range s.gens {
		bytes += g.bytes
	}
	return bytes
}

// read reads all generations, and puts together what is whole in them.
func (s *Survey) read() error {
	if len(s.gens) > 1 && s.gens[0].missing {
		s.gens = s.gens[1:] // a deletion that was cut short, as Recover has it
	}
	for i, g := range s.gens {
		next := uint64(0)
		if i+1 < len(s.gens) {
			next = s.gens[i+1].first
		}
		if err := s.readGeneration(g, next); err != nil {
			return err
		}
	}
	s.join()
	return nil
}

// join puts the stretches of all files in a row. Two of one commit are one: a file was copied.
func (s *Survey) join() {
	slices.SortStableFunc(s.whole, func(a, b stretch) int {
		switch {
		case a.first < b.first, a.first == b.first && !a.strayed && b.strayed:
			return -1
		case a.first == b.first && a.strayed == b.strayed:
			return 0
		}
		return 1
	})
	horizon := max(s.Last, s.mark.durable) // so far Last is what the torn and the damaged ends testify
	s.First = s.begin()
	next := s.First
	all := s.whole
	s.whole = nil
	for _, r := range all {
		if r.last < next {
			continue
		}
		s.lose(next, r.first)
		r.from = max(next, r.first)
		s.whole, next = append(s.whole, r), r.last+1
	}
	s.lose(next, horizon+1)
	s.Last = max(next-1, horizon)
	if s.First == 0 {
		s.Last = 0
	}
	s.forgetFront()
	s.tellFront()
}

// begin is the first commit that the log has, or should have.
func (s *Survey) begin() uint64 {
	first := s.mark.first
	consider := func(commit uint64) {
		if first == 0 || commit < first {
			first = commit
		}
	}
	for _, g := range s.gens {
		consider(g.first)
	}
	for _, r := range s.whole {
		consider(r.first)
	}
	if first == 0 && s.mark.durable > 0 {
		return 1
	}
	return first
}

// lose notes that the commits from next up to the one before behind are nowhere.
func (s *Survey) lose(next, behind uint64) {
	if next > 0 && next < behind {
		s.Lost = append(s.Lost, Lost{next, behind - 1})
	}
}

// forgetFront leaves out what was lost below the mark's first commit, and all before it: Drop writes the mark before it
// deletes, so nothing there was needed any more.
func (s *Survey) forgetFront() {
	for len(s.Lost) > 0 && s.Lost[0].Last < s.mark.first {
		s.First = s.Lost[0].Last + 1
		s.Lost = s.Lost[1:]
	}
	s.whole = slices.DeleteFunc(s.whole, func(r stretch) bool { return r.last < s.First })
}

// tellFront names the folder where no file is left to be named: whole generations are missing in front.
func (s *Survey) tellFront() {
	var d Damage
	switch {
	case len(s.gens) == 0:
		d = Damage{File: s.Dir, Commit: max(s.mark.first, 1), Reason: fmt.Sprintf(
			"there is no generation, but the lock file says that commits up to %d were durable", s.mark.durable)}
		if s.mark.durable == 0 {
			return
		}
	case s.mark.first > 0 && s.mark.first < s.gens[0].first:
		d = Damage{File: s.Dir, Commit: s.mark.first, Reason: fmt.Sprintf(
			"the log begins with commit %d, but the lock file says that it begins with %d", s.gens[0].first, s.mark.first)}
	default:
		return
	}
	s.Places = slices.Insert(s.Places, 0, Place{Damage: d})
}

// Commits calls whole for each commit that is there, and lost for each row of those that are not, first to last, in order.
// data is valid during the call. An error of either ends it and is returned; *Damage says that the log has changed meanwhile.
func (s *Survey) Commits(whole func(commit uint64, data []byte) error, lost func(first, last uint64) error) error {
	gaps := s.Lost
	for _, r := range s.whole {
		for len(gaps) > 0 && gaps[0].First < r.from {
			if err := lost(gaps[0].First, gaps[0].Last); err != nil {
				return err
			}
			gaps = gaps[1:]
		}
		if err := r.read(whole); err != nil {
			return err
		}
	}
	for _, l := range gaps {
		if err := lost(l.First, l.Last); err != nil {
			return err
		}
	}
	return nil
}
