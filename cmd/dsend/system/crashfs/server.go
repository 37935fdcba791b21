//go:build linux

package crashfs

import (
	"bytes"
	"maps"
	"slices"
	"syscall"

	"github.com/hanwen/go-fuse/v2/fuse"
)

// server answers the kernel. Every answer is given under the lock of the disk, and waits for nothing else.
type server struct {
	fuse.RawFileSystem
	*Disk
}

// String is the name of the file system.
func (s *server) String() string { return "crashfs" }

// Forget does nothing: nodes live as long as the power is on.
func (s *server) Forget(uint64, uint64) {}

func (s *server) Access(<-chan struct{}, *fuse.AccessIn) fuse.Status { return fuse.OK }

// Flush comes when a file is closed, from kernels that do not know openFlags. The kernel does not ask again where it is
// not implemented, and so no process has to wait for us to close a file.
func (s *server) Flush(<-chan struct{}, *fuse.FlushIn) fuse.Status { return fuse.ENOSYS }
func (s *server) Release(<-chan struct{}, *fuse.ReleaseIn)         {}
func (s *server) ReleaseDir(*fuse.ReleaseIn)                       {}

func (s *server) StatFs(_ <-chan struct{}, _ *fuse.InHeader, out *fuse.StatfsOut) fuse.Status {
	out.Bsize, out.Frsize, out.NameLen = pieceSize, pieceSize, 255
	out.Blocks, out.Bfree, out.Bavail = 2<<20, 2<<20, 2<<20
	out.Files, out.Ffree = 1<<20, 1<<20
	return fuse.OK
}

func (s *server) Lookup(_ <-chan struct{}, in *fuse.InHeader, name string, out *fuse.EntryOut) fuse.Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, n, status := s.below(in.NodeId, name)
	if status == fuse.OK {
		n.entry(out)
	}
	return status
}

// below finds a folder and what has a name in it.
func (s *server) below(number uint64, name string) (folder, n *node, status fuse.Status) {
	folder, status = s.find(number)
	if status != fuse.OK {
		return nil, nil, status
	}
	if n = folder.entries[name]; n == nil {
		return folder, nil, fuse.ENOENT
	}
	return folder, n, fuse.OK
}

func (s *server) GetAttr(_ <-chan struct{}, in *fuse.GetAttrIn, out *fuse.AttrOut) fuse.Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, status := s.find(in.NodeId)
	if status == fuse.OK {
		n.attr(&out.Attr)
	}
	return status
}

func (s *server) SetAttr(_ <-chan struct{}, in *fuse.SetAttrIn, out *fuse.AttrOut) fuse.Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, status := s.find(in.NodeId)
	if status != fuse.OK {
		return status
	}
	if size, ok := in.GetSize(); ok {
		status := s.do(Call{Kind: Truncate, Path: n.path()}, func() { n.change(change{offset: int64(size)}) })
		if status != fuse.OK {
			return status
		}
	}
	if mode, ok := in.GetMode(); ok {
		n.mode = n.mode&^permMask | mode&permMask
	}
	n.attr(&out.Attr)
	return fuse.OK
}

func (s *server) Mkdir(_ <-chan struct{}, in *fuse.MkdirIn, name string, out *fuse.EntryOut) fuse.Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.make(Mkdir, in.NodeId, name, typeFolder|in.Mode&permMask, out)
}

// make makes a file or a folder.
func (s *server) make(kind Kind, parent uint64, name string, mode uint32, out *fuse.EntryOut) fuse.Status {
	folder, _, status := s.below(parent, name)
	switch status {
	case fuse.OK:
		return fuse.Status(syscall.EEXIST)
	case fuse.ENOENT:
	default:
		return status
	}
	n := &node{name: name, parent: folder}
	return s.do(Call{Kind: kind, Path: n.path()}, func() {
		n = s.add(mode)
		s.rename(rename{to: folder, name: name, node: n})
		n.entry(out)
	})
}

func (s *server) Create(_ <-chan struct{}, in *fuse.CreateIn, name string, out *fuse.CreateOut) fuse.Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	if status := openable(in.Flags); status != fuse.OK {
		return status
	}
	out.OpenFlags = openFlags
	return s.make(Create, in.NodeId, name, typeFile|in.Mode&permMask, &out.EntryOut)
}

// openFlags have the kernel hand on every read and write as it comes: it keeps nothing of a file, tries no failed read
// again, and asks nothing when a file is closed.
const openFlags = fuse.FOPEN_DIRECT_IO | fuse.FOPEN_NOFLUSH

// openable refuses what would need more than this disk does.
func openable(flags uint32) fuse.Status {
	if flags&(syscall.O_DSYNC|syscall.O_SYNC|syscall.O_DIRECT) != 0 {
		return fuse.EINVAL
	}
	return fuse.OK
}

func (s *server) Open(_ <-chan struct{}, in *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	out.OpenFlags = openFlags
	if status := openable(in.Flags); status != fuse.OK {
		return status
	}
	return s.open(Open, in.NodeId)
}

func (s *server) OpenDir(_ <-chan struct{}, in *fuse.OpenIn, _ *fuse.OpenOut) fuse.Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.open(OpenFolder, in.NodeId)
}

func (s *server) open(kind Kind, number uint64) fuse.Status {
	n, status := s.find(number)
	if status != fuse.OK {
		return status
	}
	return s.do(Call{Kind: kind, Path: n.path()}, func() {})
}

func (s *server) Read(_ <-chan struct{}, in *fuse.ReadIn, buf []byte) (result fuse.ReadResult, status fuse.Status) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, status := s.find(in.NodeId)
	if status != fuse.OK {
		return nil, status
	}
	status = s.do(Call{Kind: Read, Path: n.path()}, func() {
		from := min(in.Offset, uint64(len(n.data)))
		result = fuse.ReadResultData(buf[:copy(buf, n.data[from:])])
	})
	return result, status
}

func (s *server) Write(_ <-chan struct{}, in *fuse.WriteIn, data []byte) (written uint32, status fuse.Status) {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, status := s.find(in.NodeId)
	if status != fuse.OK {
		return 0, status
	}
	offset := int64(in.Offset)
	write := func(most int) {
		if data = data[:most]; most > 0 {
			n.change(change{offset, slices.Clone(data)})
		}
	}
	hits := s.hits
	call := Call{Kind: Write, Path: n.path(), Same: n.same(offset, data), Zeros: len(bytes.Trim(data, "\x00")) == 0}
	status = s.do(call, func() { write(len(data)) })
	if status == fuse.OK && s.hits > hits { // the errno 0: a short write
		write(len(data) / 2)
	}
	return uint32(len(data)), status
}

// onlyData is the flag of fdatasync, FUSE_FSYNC_FDATASYNC.
const onlyData = 1

func (s *server) Fsync(_ <-chan struct{}, in *fuse.FsyncIn) fuse.Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, status := s.find(in.NodeId)
	if status != fuse.OK {
		return status
	}
	hits := s.hits
	status = s.do(Call{Kind: Sync, Path: n.path()}, func() { s.syncFile(n, in.FsyncFlags&onlyData != 0) })
	if s.hits > hits {
		n.dirty = nil // it will never be on the disk, and the next sync does not say so
	}
	return status
}

func (s *server) FsyncDir(_ <-chan struct{}, in *fuse.FsyncIn) fuse.Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	n, status := s.find(in.NodeId)
	if status != fuse.OK {
		return status
	}
	return s.do(Call{Kind: SyncFolder, Path: n.path()}, func() { s.syncFolder(n) })
}

func (s *server) Unlink(_ <-chan struct{}, in *fuse.InHeader, name string) fuse.Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.remove(Unlink, in.NodeId, name)
}

func (s *server) Rmdir(_ <-chan struct{}, in *fuse.InHeader, name string) fuse.Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.remove(Rmdir, in.NodeId, name)
}

// remove takes a name away. The kernel has seen to it that rmdir is for folders and unlink is not.
func (s *server) remove(kind Kind, parent uint64, name string) fuse.Status {
	folder, n, status := s.below(parent, name)
	if status != fuse.OK {
		return status
	}
	if len(n.entries) > 0 {
		return fuse.Status(syscall.ENOTEMPTY)
	}
	return s.do(Call{Kind: kind, Path: n.path()}, func() { s.rename(rename{from: folder, old: name, node: n}) })
}

func (s *server) Rename(_ <-chan struct{}, in *fuse.RenameIn, old, name string) fuse.Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	from, n, status := s.below(in.NodeId, old)
	if status != fuse.OK {
		return status
	}
	to, replaced, status := s.below(in.Newdir, name)
	switch {
	case status != fuse.OK && status != fuse.ENOENT:
		return status
	case in.Flags != 0:
		return fuse.EINVAL
	case replaced != nil && len(replaced.entries) > 0:
		return fuse.Status(syscall.ENOTEMPTY)
	}
	target := &node{name: name, parent: to}
	return s.do(Call{Kind: Rename, Path: target.path()}, func() { s.rename(rename{from, to, old, name, n}) })
}

func (s *server) ReadDir(_ <-chan struct{}, in *fuse.ReadIn, out *fuse.DirEntryList) fuse.Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	folder, status := s.find(in.NodeId)
	if status != fuse.OK {
		return status
	}
	return s.do(Call{Kind: ReadFolder, Path: folder.path()}, func() { folder.list(in.Offset, out) })
}

// list adds the names of a folder from one on, by number, until there is no room.
func (n *node) list(from uint64, out *fuse.DirEntryList) {
	names := slices.Sorted(maps.Keys(n.entries))
	for _, name := range names[min(from, uint64(len(names))):] {
		below := n.entries[name]
		if !out.AddDirEntry(fuse.DirEntry{Name: name, Ino: below.number, Mode: below.mode}) {
			return
		}
	}
}
