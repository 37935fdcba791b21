package wal

import (
	"errors"
	"fmt"
)

// The errors of this package. Each is wrapped with the folder or file it is about; test with errors.Is.
var (
	// ErrInUse: Open found that another process (or another Log of this one) has the folder open.
	ErrInUse = errors.New("the folder is in use by another server")
	// ErrNotFolder: Open found a file where the folder should be.
	ErrNotFolder = errors.New("there is a file where the folder should be")
	// ErrNotWritable: Open may not read and write the folder, or the file system is mounted read-only.
	ErrNotWritable = errors.New("the folder cannot be written")
	// ErrUnknownFile: Open found something in the folder that the log did not put there.
	ErrUnknownFile = errors.New("unknown file in the log's folder; move it away")
	// ErrNoLog: OpenSurvey found nothing in the folder that only a log has.
	ErrNoLog = errors.New("there is no log here")
	// ErrVanished: Open found no log where there was one: only what a repair or a restore leaves beside it.
	ErrVanished = errors.New("the log is gone, but there was one")
	// ErrNotRecovered: Append, Sync, Read, Scan or Drop was called before Recover had succeeded.
	ErrNotRecovered = errors.New("the log has not been recovered")
	// ErrNoCommit: Read, Scan or Drop was asked for a commit or a generation that the log does not have (any more),
	// or may not touch: the generation being written is neither scanned nor dropped.
	ErrNoCommit = errors.New("no such commit")
	// ErrTooLarge: Append was given more than MaxData bytes. Nothing was written and the log goes on.
	ErrTooLarge = errors.New("commit is too large")
	// ErrClosed: the log has been closed.
	ErrClosed = errors.New("the log is closed")
)

// Damage says that commits which were durable cannot be read any more. Recover and Scan return it; nothing has been
// changed on disk, and nothing is until a person decides.
type Damage struct {
	File   string // the segment file, or the folder where whole files are missing
	Offset int64  // byte in File where the first bad or missing commit would begin
	Commit uint64 // number of the first bad or missing commit
	Reason string // one sentence part, without full stop
}

// Error names the file, the offset, the commit and the reason.
func (d *Damage) Error() string {
	return fmt.Sprintf("%s is damaged at byte %d (commit %d): %s", d.File, d.Offset, d.Commit, d.Reason)
}
