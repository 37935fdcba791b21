//go:build linux

package crashfs

import (
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
)

// Disk is a disk whose power can be cut. Its methods may be called from any goroutine, except Mount, Unmount and PowerOn,
// which one may call at a time.
type Disk struct {
	mu    sync.Mutex
	rng   *rand.Rand
	model Model
	nodes map[uint64]*node // by number; what was removed may still be open
	last  uint64           // number
	names []rename         // that are not durable, in order

	dark   chan struct{} // closed when the power is cut
	cutAt  int           // the call that it is cut at; 0: none
	calls  int           // that changed or synced something since the power is on
	faults []*Fault
	hits   int
	struck chan struct{} // closed when a fault has struck
	ignore func(Call) bool

	firstHit Call // what a fault has struck first

	mount *mount // nil: not mounted
}

const rootNumber = 1

// New is an empty disk, which is as durable as it looks.
func New(m Model, seed uint64) *Disk {
	d := &Disk{
		rng: rand.New(rand.NewPCG(seed, 0)), model: m, nodes: map[uint64]*node{}, last: rootNumber,
		dark: make(chan struct{}), struck: make(chan struct{}),
	}
	d.nodes[rootNumber] = &node{
		number: rootNumber, mode: typeFolder | 0o755, changed: time.Now(), entries: map[string]*node{}, durable: map[string]*node{},
	}
	return d
}

// Cut cuts the power. From now on every call fails, until PowerOn.
func (d *Disk) Cut() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.cut()
}

// CutAt cuts the power at the n-th call from now that changes or syncs something, counted from 1.
func (d *Disk) CutAt(n int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.cutAt = d.calls + n
}

// Dark is closed when the power has been cut since it was on last.
func (d *Disk) Dark() <-chan struct{} {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.dark
}

// Calls is how many calls have changed or synced something since the power is on.
func (d *Disk) Calls() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.calls
}

// PowerOn cuts the power if it is on, and shows programs what is on the disk. It mounts it again where it was mounted: who
// used it must be gone. The next cut will be of model m. What was told to Inject, Ignore and CutAt is forgotten.
func (d *Disk) PowerOn(m Model) error {
	d.Cut()
	dir := ""
	if d.mount != nil {
		dir = d.mount.dir
		if err := d.Unmount(); err != nil {
			return err
		}
	}
	d.boot(m)
	if dir == "" {
		return nil
	}
	return d.Mount(dir)
}

// cut brings to the disk what the model leaves of what was not synced.
func (d *Disk) cut() {
	if d.isDark() {
		return
	}
	close(d.dark)
	left := d.model.Names.leave(d.rng, len(d.names))
	for i, r := range d.names {
		if left(i) {
			r.sync()
		}
	}
	d.names = nil
	for _, number := range slices.Sorted(maps.Keys(d.nodes)) { // in order, so that a seed leaves one disk
		n := d.nodes[number]
		n.disk = d.model.Data.leave(d.rng, n.disk, n.dirty)
		n.dirty = nil
	}
}

func (d *Disk) isDark() bool {
	select {
	case <-d.dark:
		return true
	default:
		return false
	}
}

// boot begins a life with what is on the disk.
func (d *Disk) boot(m Model) {
	d.mu.Lock()
	defer d.mu.Unlock()
	root := d.nodes[rootNumber]
	d.nodes = map[uint64]*node{}
	d.reach(root)
	d.model, d.dark = m, make(chan struct{})
	d.cutAt, d.calls, d.faults, d.hits, d.struck, d.ignore = 0, 0, nil, 0, make(chan struct{}), nil
}

// reach takes a node and what is below it into the new life.
func (d *Disk) reach(n *node) {
	d.nodes[n.number] = n
	if !n.folder() {
		n.data = slices.Clone(n.disk)
		return
	}
	n.entries = maps.Clone(n.durable)
	for name, below := range n.entries {
		below.parent, below.name = n, name
		d.reach(below)
	}
}

// add makes a node.
func (d *Disk) add(mode uint32) *node {
	d.last++
	n := &node{number: d.last, mode: mode, changed: time.Now()}
	if mode&typeFolder != 0 {
		n.entries, n.durable = map[string]*node{}, map[string]*node{}
	}
	d.nodes[n.number] = n
	return n
}

// rename shows programs a name that is not durable yet.
func (d *Disk) rename(r rename) {
	r.see()
	d.names = append(d.names, r)
}

// syncFile makes the content of a file durable and, unless only the data is asked for, with ordered names all of them.
func (d *Disk) syncFile(n *node, onlyData bool) {
	n.sync()
	if d.model.Names == Ordered && !onlyData {
		d.syncNames(func(rename) bool { return true })
	}
}

// syncFolder makes the names in a folder durable, and with ordered names all of them.
func (d *Disk) syncFolder(n *node) {
	d.syncNames(func(r rename) bool { return d.model.Names == Ordered || r.about(n) })
}

func (d *Disk) syncNames(which func(rename) bool) {
	d.names = slices.DeleteFunc(d.names, func(r rename) bool {
		if which(r) {
			r.sync()
			return true
		}
		return false
	})
}

// find is the node of a number that the kernel was told.
func (d *Disk) find(number uint64) (*node, fuse.Status) {
	if n := d.nodes[number]; n != nil {
		return n, fuse.OK
	}
	return nil, fuse.EIO
}
