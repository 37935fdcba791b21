//go:build linux

package power

import (
	"fmt"
	"syscall"
	"testing"

	"dsend/cmd/dsend/system/crashfs"
)

// faults are the ways in which each kind of call fails; a write with the errno 0 is short.
var faults = []struct {
	kind   crashfs.Kind
	errnos []syscall.Errno
}{
	{crashfs.Write, []syscall.Errno{syscall.EIO, syscall.ENOSPC, 0}},
	{crashfs.Sync, []syscall.Errno{syscall.EIO, syscall.ENOSPC}},
	{crashfs.SyncFolder, []syscall.Errno{syscall.EIO}},
	{crashfs.Create, []syscall.Errno{syscall.ENOSPC, syscall.EMFILE, syscall.EROFS}},
	{crashfs.Mkdir, []syscall.Errno{syscall.ENOSPC, syscall.EROFS}},
	{crashfs.Truncate, []syscall.Errno{syscall.EIO}},
	{crashfs.Rename, []syscall.Errno{syscall.EIO, syscall.EROFS}},
	{crashfs.Unlink, []syscall.Errno{syscall.EIO, syscall.EROFS}},
	{crashfs.Rmdir, []syscall.Errno{syscall.EIO}},
	{crashfs.Open, []syscall.Errno{syscall.EMFILE, syscall.EIO}},
	{crashfs.OpenFolder, []syscall.Errno{syscall.EMFILE}},
	{crashfs.Read, []syscall.Errno{syscall.EIO}},
	{crashfs.ReadFolder, []syscall.Errno{syscall.EIO}},
}

// eachFault calls try with every fault at the N-th call for N = 1, 2, 3 and so on, or at every stride-th one, until it says
// that the fault did not strike any more. It runs the kinds side by side.
func eachFault(t *testing.T, stride int, try func(*trial, crashfs.Fault) (struck bool)) {
	for k, f := range faults {
		t.Run(string(f.kind), func(t *testing.T) {
			t.Parallel()
			r := newTrial(t, crashfs.Models()[k%len(crashfs.Models())])
			ways := 2 * len(f.errnos)
			for way := range ways {
				fault := crashfs.Fault{Kind: f.kind, Errno: f.errnos[way/2], Every: way%2 == 1}
				for fault.Nth = 1 + way*stride/ways; try(r, fault); fault.Nth += stride {
				}
			}
		})
	}
}

// Every call of a store fails once, or from then on: from its first life until the story ends. Nothing of a commit that
// failed was confirmed, the store ends by itself, and the next one has what was confirmed.
func TestStoreErrors(t *testing.T) {
	t.Parallel()
	stride := 61
	if storm() {
		stride = 1
	}
	y := newTally(t, "an error at the N-th call of a store")
	settle(t, y)
	eachFault(t, stride, func(r *trial, f crashfs.Fault) bool {
		wipe(r, r.disk, r.dir, r.m)
		r.disk.Inject(f)
		done, err := tell(r.dir, story, nil)
		if r.disk.Hits() == 0 {
			return false
		}
		what := fmt.Sprintf("%+v, step %d", f, done+1)
		if err == nil && fatal(f, r.disk.FirstHit()) {
			r.Errorf("%s: the store did not say so", what)
		}
		y.add(1, r.afterError(what, allowed(r, done)...))
		return true
	})
}

// The same while a store recovers from a power cut that has torn its log, reads what it has, and works on.
func TestRecoveryErrors(t *testing.T) {
	t.Parallel()
	stride := 31
	if storm() {
		stride = 1
	}
	y := newTally(t, "an error at the N-th call of a recovery")
	settle(t, y)
	eachFault(t, stride, func(r *trial, f crashfs.Fault) bool {
		struck, found := r.recoveryError(f)
		if struck {
			y.add(1, found)
		}
		return struck
	})
}

// The first sync of a recovery fails, time and again: what it should have taken off the end of the log must not come back.
func TestFirstSyncOfRecovery(t *testing.T) {
	t.Parallel()
	y := newTally(t, "the first sync of a recovery fails")
	settle(t, y)
	for _, m := range crashfs.Models() {
		r := newTrial(t, m)
		for range 5 {
			struck, found := r.recoveryError(crashfs.Fault{Kind: crashfs.Sync, Nth: 1, Errno: syscall.EIO})
			if !struck {
				t.Fatal("the fault did not strike")
			}
			y.add(1, found)
		}
	}
}

// recoveryError has a fault strike the recovery from a power cut somewhere in the story, or the life after it, and tells
// what is found after that.
func (r *trial) recoveryError(f crashfs.Fault) (struck bool, found verdict) {
	r.Helper()
	wipe(r, r.disk, r.dir, r.m)
	r.disk.CutAt(50 + r.rng.IntN(250))
	done, err := tell(r.dir, story, nil)
	if err == nil {
		r.Fatal("the story was not cut")
	}
	r.powerOn()
	r.disk.Inject(f)
	may := allowed(r, done)
	watched("a recovery with an error", func() { may, found, err = liveOn(r.dir, may) })
	if r.disk.Hits() == 0 {
		return false, found
	}
	what := fmt.Sprintf("%+v in a recovery", f)
	if found.bad() || err == nil && fatal(f, r.disk.FirstHit()) {
		r.Errorf("%s: %+v, %v", what, found, err)
	}
	return true, found.plus(r.afterError(what, may...))
}

// fatal tells whether no store may go on after a fault that struck a call first: what it wrote is not on the disk. Zeros,
// the room for commits, need not be there; if there is none for them, but again for the commits, nobody need know.
func fatal(f crashfs.Fault, first crashfs.Call) bool {
	switch {
	case f.Kind == crashfs.Write && f.Errno == syscall.ENOSPC && !f.Every:
		return !first.Zeros
	case f.Kind == crashfs.Write:
		return f.Errno != 0
	}
	return f.Kind == crashfs.Sync || f.Kind == crashfs.SyncFolder
}

// afterError has the disk work again, and the next store show what it finds; and the power cut after that, and the same
// shown again.
func (r *trial) afterError(what string, may ...view) (found verdict) {
	r.Helper()
	r.disk.Heal()
	v, found := judge(r, what, r.dir, may...)
	if found.bad() {
		return found
	}
	r.powerOn()
	var again view
	var err error
	watched("recovery", func() { again, err = look(r.dir, nil) })
	if err != nil {
		r.Logf("%s, and a power cut in the life after that: %v", what, err)
		return verdict{failed: 1}
	}
	return compare(again, []view{v})
}
