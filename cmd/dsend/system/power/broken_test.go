//go:build linux

package power

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"path"
	"syscall"
	"testing"

	"dsend/cmd/dsend/system/crashfs"
	"dsend/durable/queue"
)

// A check that nothing fails proves nothing. These stores are broken deliberately: what they should have asked the disk for
// does not reach it, which leaves the same disk as not asking. Each must fail the check that the store passes.
func TestBrokenStores(t *testing.T) {
	t.Parallel()
	cut := func(broken func(crashfs.Call) bool) func(*trial) verdict {
		return func(r *trial) verdict {
			y := &tally{}
			cutStory(r.T, y, r.disk, r.dir, r.m, 1+r.rng.IntN(400), func() { r.disk.Ignore(broken) })
			return y.found
		}
	}
	marks := 0
	for name, try := range map[string]func(*trial) verdict{
		"no fsync":            cut(func(c crashfs.Call) bool { return c.Kind == crashfs.Sync || c.Kind == crashfs.SyncFolder }),
		"no fsync of folders": cut(func(c crashfs.Call) bool { return c.Kind == crashfs.SyncFolder }),
		"no fsync of the parent of a folder": cut(func(c crashfs.Call) bool {
			return c.Kind == crashfs.SyncFolder && path.Ext(c.Path) != ".gen"
		}),
		"generations dropped before the mark is durable": cut(func(c crashfs.Call) bool {
			if c.Kind != crashfs.Sync || c.Path != path.Join(logFolder, "lock") {
				return false
			}
			marks++
			return marks%2 == 0 // every second mark becomes durable with the one behind it
		}),
		"a second try after a failed fsync": func(r *trial) verdict {
			found, _ := r.failedSync(crashfs.Fault{Nth: 1 + r.rng.IntN(80), Hidden: true}, nil)
			return found
		},
		"the page cache is trusted after a failed fsync": func(r *trial) verdict {
			found, _ := r.failedSync(crashfs.Fault{Nth: 1 + r.rng.IntN(80)}, func(c crashfs.Call) bool { return c.Same })
			return found
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, names := range []crashfs.Names{crashfs.Strict, crashfs.Ordered} {
				r := newTrial(t, crashfs.Model{Data: crashfs.Nothing, Names: names})
				for n := range 200 {
					if found := try(r); found.bad() {
						t.Logf("found after %d cuts: %+v", n+1, found)
						return
					}
				}
			}
			t.Error("a broken store passed 400 cuts")
		})
	}
}

// A store whose sync failed ends; the next one finds what it wrote in the page cache, and not on the disk. It must not
// build on that. The power is cut in its life, at any call.
func TestFailedSync(t *testing.T) {
	t.Parallel()
	stride, tries := 47, 1
	if storm() {
		stride, tries = 1, 3
	}
	y := newTally(t, "fsync fails, then a power cut in the next life")
	settle(t, y)
	for i, m := range crashfs.Models() {
		t.Run(m.String(), func(t *testing.T) {
			t.Parallel()
			r := newTrial(t, m)
			for nth := 1 + i*stride/12; ; nth += stride {
				for range tries {
					found, over := r.failedSync(crashfs.Fault{Nth: nth}, nil)
					if over {
						return
					}
					y.add(1, found)
				}
			}
		})
	}
}

// The same with every sync of the mark alone: the next store must not believe a mark that the disk does not have.
func TestFailedSyncOfMark(t *testing.T) {
	t.Parallel()
	tries, names := 1, []crashfs.Names{crashfs.Strict}
	if storm() {
		tries, names = 20, []crashfs.Names{crashfs.Strict, crashfs.Ordered, crashfs.Subset}
	}
	y := newTally(t, "fsync of the mark fails, then a power cut")
	settle(t, y)
	for _, names := range names {
		t.Run(string(names), func(t *testing.T) {
			t.Parallel()
			r := newTrial(t, crashfs.Model{Data: crashfs.Nothing, Names: names})
			for nth := 1; ; nth++ {
				for range tries {
					found, over := r.failedSync(crashfs.Fault{Path: path.Join(logFolder, "lock"), Nth: nth}, nil)
					if over {
						return
					}
					y.add(1, found)
				}
			}
		})
	}
}

// trial is a disk for one life after the other.
type trial struct {
	*testing.T
	m    crashfs.Model
	rng  *rand.Rand
	disk *crashfs.Disk
	dir  string
}

func newTrial(t *testing.T, m crashfs.Model) *trial {
	t.Helper()
	r := &trial{T: t, m: m, rng: dice(t)}
	r.disk, r.dir = newDisk(t, m, r.rng.Uint64())
	return r
}

// failedSync has a sync of the story fail, and the power cut later: if it is hidden, so that the store goes on, a few steps
// later; else in the life of the next store, which goes on. broken breaks that one. It tells whether the story was over
// before.
func (r *trial) failedSync(f crashfs.Fault, broken func(crashfs.Call) bool) (found verdict, over bool) {
	r.Helper()
	wipe(r, r.disk, r.dir, r.m)
	f.Kind, f.Errno = crashfs.Sync, syscall.EIO
	r.disk.Inject(f)
	more := 1 + r.rng.IntN(4) // steps
	done, err := tell(r.dir, story, func() {
		if r.disk.Hits() > 0 && f.Hidden {
			if more--; more == 0 {
				r.disk.Cut()
			}
		}
	})
	if r.disk.Hits() == 0 {
		return found, true
	}
	if !f.Hidden && err == nil {
		r.Fatalf("sync %d fails, and the store does not say so", f.Nth)
	}
	what := fmt.Sprintf("%v, sync %d %s failed in step %d", r.m, f.Nth, f.Path, done+1)
	if f.Hidden {
		r.powerOn()
		_, found = judge(r, what, r.dir, allowed(r, done)...)
		return found, false
	}
	return r.nextLife(what, allowed(r, done), broken), false
}

// nextLife has the next store show what it found, work on, and lose its power.
func (r *trial) nextLife(what string, may []view, broken func(crashfs.Call) bool) (found verdict) {
	r.Helper()
	r.disk.Ignore(broken)
	at := 1 + r.rng.IntN(120)
	r.disk.CutAt(at)
	var err error
	watched("a second life", func() { may, found, err = liveOn(r.dir, may) })
	switch {
	case found.bad():
		r.Logf("%s: the next life begins with something else", what)
		return found
	case err == nil:
		r.disk.Cut() // it has come to its end
	case !isDark(r.disk):
		r.Logf("%s: %v", what, err)
		return verdict{failed: 1}
	}
	r.powerOn()
	_, found = judge(r, fmt.Sprintf("%s, and then a cut at call %d", what, at), r.dir, may...)
	return found
}

// liveOn opens the store on a disk, which may hold one of some views, and works on. It gives what the store may hold when
// it is over, and why it ended early.
func liveOn(dir string, may []view) ([]view, verdict, error) {
	s, err := openStore(dir)
	if err != nil {
		return may, verdict{}, err
	}
	now, err := s.view()
	if err != nil {
		return may, verdict{}, errors.Join(err, s.Close())
	}
	if found := compare(now, may); found.bad() {
		return may, found, s.Close()
	}
	for _, m := range sequel {
		next := m.effect(now)
		if err := m.do(s); err != nil {
			return []view{now, next}, verdict{}, errors.Join(err, s.Close())
		}
		now = next
	}
	return []view{now}, verdict{}, s.Close()
}

// move is a step whose effect is known wherever it is done.
type move struct {
	do     step
	effect func(view) view
}

// sequel is what a second life does: messages come and are removed, so that generations are made and dropped.
var sequel = func() []move {
	moves := []move{{declare("sequel"), func(v view) view { v = v.clone(); v.last["sequel"] = 0; return v }}}
	for n := range uint64(12) {
		name := fmt.Sprint("sequel", n)
		moves = append(moves, move{publish("sequel", name), func(v view) view {
			v = v.clone()
			v.last["sequel"] = n + 1
			v.messages[message{name: name, queue: "sequel", seq: n + 1, whole: true}] = true
			return v
		}})
		if n%4 == 3 {
			moves = append(moves, move{purge(queue.Purge{Name: "sequel"}), func(v view) view {
				v = v.clone()
				maps.DeleteFunc(v.messages, func(m message, _ bool) bool { return m.queue == "sequel" })
				return v
			}})
		}
	}
	return moves
}()

func (r *trial) powerOn() {
	r.Helper()
	if err := r.disk.PowerOn(r.m); err != nil {
		r.Fatal(err)
	}
}
