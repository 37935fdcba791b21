package admin

import (
	"context"
	"crypto/rand"
	"errors"
	"sync"
	"time"

	"dsend/durable"
)

// Copy is the log as of one commit: see durable.Hold.
type Copy interface {
	// Files are its generations, oldest first.
	Files() []durable.Generation
	// Read fills p from byte off of the file of a generation.
	Read(first uint64, off int64, p []byte) error
	// Release lets go of it.
	Release()
}

// DefaultSilence is how long a backup may ask for nothing before it is given up.
const DefaultSilence = 30 * time.Second

// BackupBeginRequest asks to hold the log for a backup.
type BackupBeginRequest struct{}

// BackupBegun is the log as of one commit.
type BackupBegun struct {
	ID          string       `json:"id" about:"to be said in backup.read and backup.end"`
	Generations []Generation `json:"generations" about:"the files of the log, oldest first"`
}

// Generation is a file of the log.
type Generation struct {
	First uint64 `json:"first" about:"its first commit"`
	Last  uint64 `json:"last" about:"its last commit"`
	Bytes int64  `json:"bytes"`
}

func (b BackupBegun) outcome() []any { return []any{"id", b.ID, "generations", len(b.Generations)} }

// BackupReadRequest asks for a piece of a file. Files are read in their order:
// those before it may be dropped from then on.
type BackupReadRequest struct {
	ID     string `json:"id"`
	First  uint64 `json:"first" about:"the first commit of the file"`
	Offset int64  `json:"offset"`
}

// BackupPiece is the bytes of a file from the offset on.
type BackupPiece struct {
	Data []byte `json:"data"`
}

// BackupEndRequest ends a backup.
type BackupEndRequest struct {
	ID string `json:"id"`
}

// BackupEnded is the answer to it.
type BackupEnded struct{}

// session is the backup that is being made, if one is.
type session struct {
	mu      sync.Mutex // guards the rest, and is held while the log is read
	id      string
	copy    Copy
	silence *time.Timer
}

var errNoBackup = &Problem{404, "no_backup", "this backup has ended: it was silent for too long, or the server was started again"}

func (s *Service) backupBegin(ctx context.Context, _ BackupBeginRequest) (BackupBegun, error) {
	if s.cfg.Copy == nil {
		return BackupBegun{}, &Problem{409, "no_copy", durable.ErrNoCopy.Error()}
	}
	c, err := s.cfg.Copy(ctx)
	if errors.Is(err, durable.ErrHeld) {
		err = &Problem{409, "backup_runs", "another backup is being made"}
	}
	if err != nil {
		return BackupBegun{}, err
	}
	b := &s.backup
	b.mu.Lock()
	defer b.mu.Unlock()
	if s.ctx.Err() != nil { // Stop has been here
		c.Release()
		return BackupBegun{}, s.ctx.Err()
	}
	b.id, b.copy = rand.Text(), c
	s.busy.Add(1) // of the timer
	b.silence = time.AfterFunc(s.cfg.Silence, func() {
		defer s.busy.Done()
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.copy == c {
			s.cfg.Log.Warn("a backup is given up: it asks for nothing", "id", b.id, "silence", s.cfg.Silence)
			b.release()
		}
	})
	begun := BackupBegun{ID: b.id}
	for _, g := range c.Files() {
		begun.Generations = append(begun.Generations, Generation(g))
	}
	return begun, nil
}

func (b *session) release() {
	b.copy.Release()
	b.id, b.copy = "", nil
}

// endBackup ends a backup and its timer.
func (s *Service) endBackup() {
	b := &s.backup
	if b.silence.Stop() {
		s.busy.Done()
	}
	b.release()
}

// stopBackup ends the backup that is being made, if one is.
func (s *Service) stopBackup() {
	s.backup.mu.Lock()
	defer s.backup.mu.Unlock()
	if s.backup.copy != nil {
		s.endBackup()
	}
}

// during does something in a backup, which is then not silent.
func (s *Service) during(id string, do func(Copy) error) error {
	b := &s.backup
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.copy == nil || b.id != id || !b.silence.Stop() {
		return errNoBackup
	}
	defer b.silence.Reset(s.cfg.Silence)
	return do(b.copy)
}

func (s *Service) backupRead(_ context.Context, req BackupReadRequest) (piece BackupPiece, err error) {
	err = s.during(req.ID, func(c Copy) error {
		for _, g := range c.Files() {
			if g.First != req.First {
				continue
			}
			if req.Offset < 0 || req.Offset >= g.Bytes {
				return badRequest("offset %d is not in a file of %d bytes", req.Offset, g.Bytes)
			}
			piece.Data = make([]byte, min(g.Bytes-req.Offset, int64(max(1, s.room()*3/4-64))))
			return c.Read(g.First, req.Offset, piece.Data)
		}
		return badRequest("no file of this backup begins with commit %d", req.First)
	})
	if errors.Is(err, durable.ErrGivenUp) {
		err = &Problem{507, "given_up", "the backup was given up: the server's disk is nearly full, and its room was needed"}
	}
	return piece, err
}

func (s *Service) backupEnd(_ context.Context, req BackupEndRequest) (BackupEnded, error) {
	b := &s.backup
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.copy == nil || b.id != req.ID {
		return BackupEnded{}, errNoBackup
	}
	s.endBackup()
	return BackupEnded{}, nil
}
