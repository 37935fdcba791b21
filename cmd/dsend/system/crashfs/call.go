//go:build linux

package crashfs

import (
	"path"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fuse"
)

// Kind is a kind of call.
type Kind string

// The kinds of calls. The last four change and sync nothing: they may fail, but the power is not cut at them.
const (
	Create     Kind = "create"
	Write      Kind = "write"
	Truncate   Kind = "truncate"
	Sync       Kind = "fsync"
	SyncFolder Kind = "fsync of a folder"
	Mkdir      Kind = "mkdir"
	Rename     Kind = "rename"
	Unlink     Kind = "unlink"
	Rmdir      Kind = "rmdir"

	Open       Kind = "open"
	OpenFolder Kind = "open of a folder"
	Read       Kind = "read"
	ReadFolder Kind = "read of a folder"
)

// changes tells whether such calls change or sync something.
func (k Kind) changes() bool {
	switch k {
	case Open, OpenFolder, Read, ReadFolder:
		return false
	}
	return true
}

// Call is a call of a program.
type Call struct {
	Kind  Kind
	Path  string // of the file or folder that it is about, from the root; "" is the root; of a rename the new one
	Same  bool   // it writes what is there already
	Zeros bool   // it writes zeros
}

// Fault says which calls fail, and how.
type Fault struct {
	Kind  Kind
	Path  string // a pattern of path.Match for all of it; "" is every path
	Nth   int    // the one that fails, counted from 1 from now on
	Every bool   // and all after it
	// Errno is how it fails. A write with the errno 0 is short: it writes half of what it should, rounded down.
	Errno syscall.Errno
	// Hidden is for syncs: the caller is told that all is well, as one is who tries again.
	Hidden bool
}

// matches counts a call and tells whether it fails.
func (f *Fault) matches(c Call) bool {
	if f.Kind != c.Kind {
		return false
	}
	if ok, _ := path.Match(f.Path, c.Path); !ok && f.Path != "" {
		return false
	}
	f.Nth--
	return f.Nth == 0 || f.Nth < 0 && f.Every
}

// Inject makes calls fail. Several faults may be injected; the first one that fits strikes.
func (d *Disk) Inject(f Fault) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.faults = append(d.faults, &f)
}

// Heal forgets the faults.
func (d *Disk) Heal() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.faults = nil
}

// Hits is how often faults have struck since the power is on.
func (d *Disk) Hits() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.hits
}

// FirstHit is the call that a fault struck first since the power is on.
func (d *Disk) FirstHit() Call {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.firstHit
}

// Struck is closed when a fault has struck since the power is on.
func (d *Disk) Struck() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.struck
}

// Ignore swallows those writes and syncs for which which is true: the caller is told that they were done. which must not
// use the disk; nil ends it.
func (d *Disk) Ignore(which func(Call) bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ignore = which
}

// do is what every call goes through: it has its effect, or fails, or the power is cut at it.
func (d *Disk) do(c Call, effect func()) fuse.Status {
	if d.isDark() {
		return fuse.EIO
	}
	if f := d.strikes(c); f != nil {
		return d.fail(c, f)
	}
	if c.Kind.changes() {
		d.calls++
	}
	switch syncs := c.Kind == Sync || c.Kind == SyncFolder; {
	case d.calls == d.cutAt && c.Kind.changes():
		if !syncs {
			effect()
		}
		d.cut()
		return fuse.EIO
	case d.ignore != nil && (syncs || c.Kind == Write) && d.ignore(c):
		return fuse.OK
	}
	effect()
	return fuse.OK
}

// strikes gives the fault that the call meets, or nil. Every fault counts every call.
func (d *Disk) strikes(c Call) (hit *Fault) {
	for _, f := range d.faults {
		if f.matches(c) && hit == nil {
			hit = f
		}
	}
	return hit
}

// fail is a call that meets a fault.
func (d *Disk) fail(c Call, f *Fault) fuse.Status {
	if d.hits++; d.hits == 1 {
		d.firstHit = c
		close(d.struck)
	}
	if f.Hidden {
		return fuse.OK
	}
	return fuse.Status(f.Errno)
}
