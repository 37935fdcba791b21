// Package backup writes a log that is in use into one file, and makes a data
// folder of such a file.
//
//	server ─► Source ─► Write ─► FILE (tar) ─► Restore ─► DIR/log
//
// # What it promises
//
// A backup is the log as of one commit, between the begin and the end of
// Write: with everything that was answered before it began, and of what came
// later a part without gaps. The server goes on meanwhile.
//
// Restore gives a folder its name only after everything in it was proven: the
// checksum of each file, of each commit and message, and each message in
// exactly one state, as dsend verify does. A folder that has something in it is
// refused. Killed in between it leaves no log, and can be repeated.
//
// # The file
//
// An ordinary tar file, written from front to back without going back, so that
// it can be a pipe:
//
//	log/lock                                       which commits the log has
//	log/00000000000000000001.gen/00000000000000000001   its files, oldest first
//	…
//	SHA256SUMS                                     of all of these, as sha256sum has it
//
// So `tar xf FILE && sha256sum -c SHA256SUMS` proves it without Dsend, and the
// folder that tar makes is a data folder. What was damaged on the server's disk
// does not get into a backup: the Source proves each file before it gives it.
//
// # When something fails
//
//	the server stops, or gives up   Write returns the error. The file has no SHA256SUMS
//	                                and is refused by Restore.
//	the file is cut, or hurt        Restore says which of its files, and makes nothing
//	the disk is full, a kill        Restore removes what it made, or the next one does
package backup
