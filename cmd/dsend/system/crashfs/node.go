//go:build linux

package crashfs

import (
	"path"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
)

// node is a file or a folder, as programs see it and as it is on the disk.
type node struct {
	number  uint64
	mode    uint32
	changed time.Time
	name    string
	parent  *node // nil is the root; of what was removed the last one

	data  []byte
	disk  []byte
	dirty []change // from disk to data

	entries map[string]*node // nil is a file
	durable map[string]*node
}

func (n *node) folder() bool { return n.entries != nil }

// path is where the node is, seen from the root.
func (n *node) path() string {
	if n.parent == nil {
		return ""
	}
	return path.Join(n.parent.path(), n.name)
}

// change does something to a file that was not synced yet.
func (n *node) change(c change) {
	n.data = c.apply(n.data)
	n.dirty = append(n.dirty, c)
	n.changed = time.Now()
}

// same tells whether the file has these bytes at that place already.
func (n *node) same(offset int64, data []byte) bool {
	end := offset + int64(len(data))
	return end <= int64(len(n.data)) && string(n.data[offset:end]) == string(data)
}

// sync brings the changes to the disk.
func (n *node) sync() {
	for _, c := range n.dirty {
		n.disk = c.apply(n.disk)
	}
	n.dirty = nil
}

func (n *node) attr(a *fuse.Attr) {
	a.Ino, a.Mode, a.Nlink = n.number, n.mode, 1
	a.Size, a.Blocks, a.Blksize = uint64(len(n.data)), uint64(len(n.data)+511)/512, pieceSize
	a.SetTimes(&n.changed, &n.changed, &n.changed)
}

func (n *node) entry(out *fuse.EntryOut) {
	out.NodeId, out.Generation = n.number, 1
	n.attr(&out.Attr)
}

// change is a write at an offset; without data it is a new length, the offset.
type change struct {
	offset int64
	data   []byte
}

// apply gives the file with the change. It may use its memory.
func (c change) apply(file []byte) []byte {
	if c.data == nil && c.offset <= int64(len(file)) {
		return file[:c.offset]
	}
	if end := c.offset + int64(len(c.data)); end > int64(len(file)) {
		old := len(file)
		if end > int64(cap(file)) {
			file = append(make([]byte, 0, end+end/2), file...)
		}
		file = file[:end]
		clear(file[old:])
	}
	copy(file[c.offset:], c.data)
	return file
}

// pieces are the parts of a write that reach the disk whole or not at all.
func (c change) pieces(yield func(change) bool) {
	for data, offset := c.data, c.offset; len(data) > 0; {
		n := min(pieceSize-int(offset%pieceSize), len(data))
		if !yield(change{offset, data[:n]}) {
			return
		}
		data, offset = data[n:], offset+int64(n)
	}
}

// rename is a name that is not durable yet: what was called one way is called another, or came, or went.
type rename struct {
	from, to  *node  // folders; nil: it came, or went
	old, name string // in from, and in to
	node      *node
}

// folders tells whether it is about one of the names of a folder.
func (r rename) about(folder *node) bool { return r.from == folder || r.to == folder }

// see shows it to programs.
func (r rename) see() {
	if r.from != nil {
		delete(r.from.entries, r.old)
	}
	if r.to != nil {
		r.to.entries[r.name] = r.node
		r.node.parent, r.node.name = r.to, r.name
	}
}

// sync brings it to the disk.
func (r rename) sync() {
	if r.from != nil && r.from.durable[r.old] == r.node {
		delete(r.from.durable, r.old)
	}
	if r.to != nil {
		r.to.durable[r.name] = r.node
	}
}

const (
	typeFolder = syscall.S_IFDIR
	typeFile   = syscall.S_IFREG
	permMask   = 0o7777
)
