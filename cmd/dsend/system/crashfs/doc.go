// Package crashfs is a disk for tests: a FUSE file system that loses, at a power cut, what was not synced.
//
// # What it is
//
// A Disk holds every file and folder twice: as programs see it (the page cache), and as it is on the disk. Writes, new
// lengths, new names, renames and removals change the first; fsync makes the second follow. At a cut the disk gets of
// the rest what its Model and its seed say, and nothing can be read or written any more until PowerOn shows what is left.
//
//	write, truncate        create, mkdir, rename, unlink, rmdir
//	       │                              │
//	  seen by programs               seen by programs
//	       │ fsync of the file            │ fsync of the folder
//	       ▼                              ▼
//	  on the disk ◄── cut: a part ──► on the disk
//
// A Model is one of four for data times one of three for names.
//
//	data      of the writes that were not synced, the disk has
//	nothing   none
//	torn      the first ones, and the next one up to some byte
//	pieces    any pieces of 4 KiB; where others should be are zeros, or the file ends
//	garbage   any pieces of 4 KiB; where others should be behind the old end are zeros, or anything
//
//	names     of the names that were not synced, the disk has
//	strict    none: a name is durable when its folder was synced, and not before (POSIX)
//	ordered   the first ones; and any fsync, but not fdatasync, makes all names before it durable (ext4, XFS)
//	subset    any of them
//
// The call that the cut strikes is one of those that were not synced; a sync that it strikes did nothing.
//
// # What else it does
//
// Inject makes the N-th call of a kind fail, or that one and all later ones, or write only half. A sync of a file that
// fails does what Linux does ("fsyncgate"): what was not synced is gone from the disk for good, programs still see it,
// and the next sync succeeds. Ignore makes the disk swallow calls: together with it a correct program is a broken one,
// as one that does not call fsync, and that is how checks are checked.
//
// # What it promises
//
// What was synced survives every cut. The same calls under the same model and seed leave the same disk. A fault that was
// injected is counted when it strikes (Hits).
//
// # What it assumes
//
// Linux, root, /dev/fuse. Everything is in memory. The process that serves the disk may use it as well, and may start
// other processes meanwhile: the disk's device is closed in these, and closing a file asks the disk for nothing
// (while the Go runtime forks, it may hold up the very goroutines that would answer). It must not map its files into memory.
// Killed in the middle of a call of its own, it stays as a zombie until the mount is taken away: umount -f.
//
// What is not there is refused with an error: links, special files, extended attributes, O_SYNC, O_DIRECT.
package crashfs
