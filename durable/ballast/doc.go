// Package ballast is a file that does nothing but hold room on the disk, so that
// there is something to give back when others have filled it.
//
//	            ┌───── reserve ─────┐
//	disk  ██████████████████        ▒▒▒
//	      log, others       free    ballast     publishes are taken
//	      ████████████████████████  ▒▒▒         publishes are refused
//	      █████████████████████████████         given back: acks, deaths and
//	                                            compaction use it, and free more
//
// # What it promises
//
// While the ballast is held, its size in bytes is really allocated, and free
// within the time of a deletion. A part of a file, left by a process that was
// killed or by a full disk, is not taken for a ballast.
//
// # What it assumes
//
// The file is on the disk that it is to hold room on. Whoever deletes it only
// takes that room: the next Take makes it anew.
//
// # When something fails
//
//	Take fails    nothing is held and no part of the file stays; the error says why
//	Give fails    what is still there is held
//
// Nothing that is durable depends on either.
package ballast
