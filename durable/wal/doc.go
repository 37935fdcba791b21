// Package wal is the append-only log of commits below a store, on the library github.com/tidwall/wal.
//
// # The promise
//
// A commit is whatever the store wants to make durable at once: some bytes, whole or absent, numbered from 1 without
// gaps. When [Log.Sync] has returned nil, every commit appended before it is found by [Log.Recover] after any kill or
// power cut, unchanged, until [Log.Drop] deletes its generation. A commit that was appended and not synced is found
// whole or not at all, and only if all before it are found. Bytes that were damaged on disk are never delivered as good
// by Recover or [Log.Scan]. What was durable is never cut away to make a start possible.
//
// # The shape
//
// The log is a row of generations, each a directory with one file in it. Commits are appended to the newest; at
// GenerationSize bytes it is closed and the next one begun; Drop deletes whole generations, from the front.
//
//	            dropped next                                 appended here
//	                 ▼                                             ▼
//	   commits  1 … 40        41 … 97        98 … 160       161 … 171
//	          ┌──────────┐  ┌──────────┐   ┌──────────┐   ┌──────────┐
//	          │ sealed   │  │ sealed   │   │ sealed   │   │ newest   │
//	          └──────────┘  └──────────┘   └──────────┘   └──────────┘
//	          all of it was durable before the next one was begun
//
//	<dir>/                                   0700
//	   lock                                  locked by flock; one line of text, the mark
//	   00000000000000000001.gen/             a generation: the number of its first commit, 20 digits
//	      00000000000000000001               its segment file, written by the library (index 1 of the library's log)
//	   00000000000000000041.gen/
//	      00000000000000000001
//	   …
//	   00000000000000000172-5c9d1a02.cut     a torn end that was cut: the first commit in it, CRC-32C of the bytes
//
// Nothing else may be in there: an unknown file is refused by name, because the library would take some of them for
// orders to delete.
//
// # The bytes
//
// A segment file is a row of entries without anything between or before them. Behind them may be zeros, in the newest
// generation: the room for more. An entry is what the library
// makes of a frame: the length of the frame as a canonical uvarint, and the frame. The frame is ours; numbers are little-endian:
//
//	byte  size
//	   0     1  version, 1
//	   1     8  salt: random, the same in all frames of a generation
//	   9     8  commit: its number
//	  17     8  watermark: the highest commit known to be durable when this one was written
//	  25     4  length of the data
//	  29     4  CRC-32C (Castagnoli) of the data
//	  33     4  CRC-32C of bytes 0 to 32
//	  37        data
//
// The two checksums together cover everything after the length prefix, and the prefix must agree with the length. The
// header has its own because it testifies: "commits up to the watermark were durable" is true however torn its data may
// be. The salt is there because the data comes from strangers: nobody who publishes can know it, so no message can
// contain what recovery would take for testimony. Another layout of these bytes would take another suffix than .gen, so
// that an older program refuses it by name and does not take it for a torn end.
//
// The mark in the lock file is "begins with commit F, durable up to commit D", with a CRC-32C, written over itself in
// place. It is the tripwire for whole generations that have gone missing at either end. It lags behind (it is written
// when a generation is begun or dropped and by Recover and Close, and synced only by Recover and Drop) and so never claims
// too much; where it is missing or torn nothing is concluded from it. To go on with a log whose end is really lost, say one
// from an older backup, remove the lock file.
//
// # Torn or damaged
//
// A power cut or a full disk leaves a torn end: bytes that were written and never durable. Damage is the opposite: bytes
// that were durable and are not there any more. The first is cut, the second refused, and they are told apart so. Where
// the file stops being a row of good entries, at commit N say:
//
//   - in a generation that has a successor it is damage: all of it was durable before the successor was begun;
//   - if a header anywhere behind that point has a watermark of N or more, it is damage;
//   - if the mark says that N was durable, it is damage;
//   - if there are only zeros it is room that was made for more commits, which is not worth a word;
//   - otherwise it is torn. Whole commits behind that point are torn too: nothing was answered for them.
//
// One case cannot be told apart by one machine: damage to the very last commit before a kill, when nothing was written
// after it. It is cut, and kept in the side file like every torn end, but if all of it is zeros: then it cannot be told
// from room. Side files are for people and may be removed.
//
// # Survey and repair
//
// A [Survey] reads a closed log without changing anything, and goes on behind damage: it finds every place with file and
// byte, and every commit that is still whole, also in a file that lies in another one's place. Behind damage an entry is
// found by its header; what a stranger published is not taken for one, because it must bear the salt of the generation.
// Where the salt is lost with the head of the file, see scanner.trusts; in the newest generation the whole commits
// behind a lost head are then set aside, too.
//
// [Survey.Repair] writes a whole log beside the damaged one, with an empty commit for each lost one, reads it once more
// to prove it, and exchanges the two names at once. The damaged log is untouched and is then called
//
//	<dir>.damaged                           or .damaged.2, .damaged.3, …
//
// A crash on the way leaves the damaged log in its place, or the repaired one. A file system that cannot exchange two
// names may be left without any <dir>; Open then returns ErrVanished and does not begin an empty log beside what is
// left of one. Only a folder with something that only a log has, a generation or a mark, is surveyed at all.
//
// A running log is copied by [Log.Seal], [Log.Generations] and [Log.ReadFile]: sealed files do not change until they are
// dropped. The caller sees to it that they are not.
//
// # Durability, in order
//
// Of a new generation nothing is durable before the first Sync, which syncs the file, then its name in its directory,
// then the directory's name in the log. Before a generation is begun, everything before it is synced. Drop makes the new
// mark durable, deletes the file, then the directory, and syncs the folder before it returns; a power cut on the way
// leaves the oldest generation whole or without its file, and Recover finishes the work. Recover writes the newest generation over
// itself, and the mark, and syncs both before it returns: after a failed sync the page cache may hold bytes that the disk
// does not.
//
// The sync of a file that has grown has more to write than data: sizes and blocks, or a commit of the journal. So zeros
// are written 256 KiB ahead of small commits, and the commits over them (see makeRoom). A generation ends behind the
// last of its room; where it ends before, by Seal or Close, its file is cut to its length, durably. A sync on Linux is
// fdatasync, which includes the size.
//
// After a restart nothing is appended to an old generation: the first Append begins a new one.
//
// # What happens at each failure
//
//	a write or a sync fails        the log is dead: every Append, Sync and Drop returns that first error; reads go on.
//	                               Restart the process. What was not synced may or may not be found.
//	no room on the disk for zeros  commits are written without, as long as there is room for these.
//	kill -9, power cut             Recover cuts the torn end, keeps it in a side file and warns once.
//	disk full at recovery          the same, but the torn end is not kept if there is no room for it.
//	a bit flips, a block is lost,
//	a file is cut or is missing    Recover and Scan return *Damage; nothing is changed on disk. Read does not verify.
//	a file cannot be read          Recover and Scan return the error with the file's name; nothing is changed.
//	a second server                Open returns ErrInUse. A lock does not outlive its process.
//	an unknown file                Open returns ErrUnknownFile and its path.
//	the folder is gone             Open makes a new one, but not beside what a repair or a restore has left: ErrVanished.
//
// # What is assumed
//
// A sync that returned nil has moved the data to stable storage, and one that could not said so once to every open
// descriptor (Linux 4.16 and later). Writing the same bytes over themselves does not hurt them, even if power fails
// meanwhile. Nothing is assumed about the order in which unsynced writes, sizes and names reach the disk, nor about what a
// block that did not reach it holds. The folder is on a local file system with flock, and only this package writes to it.
//
// # Reading ahead
//
// Recover has two goroutines read whole generations and prove their checksums while its caller works on the one before.
// Together they hold five generations of a few MiB; a larger one is read piece by piece. They have ended when Recover
// returns.
//
// # The library
//
// tidwall/wal v1.2.1 refuses a log with a torn end, has no checksums, goes on after failed writes, and deletes segments
// because of the names of stray files. So it is only ever opened on an empty directory, and then only asked to write;
// its segment never rolls; reading, syncing, recovery and deletion are done here. It keeps what it wrote in memory until
// the generation ends, which is one reason for generations of a few MiB.
package wal
