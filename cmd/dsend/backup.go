package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"dsend/bridge/admin"
	"dsend/durable"
	"dsend/durable/backup"
)

func newBackupCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use: "backup FILE|-", Short: "Write the data of the running server into a file", Args: operands(1, 1),
		Long: `Write the data of the running server into FILE, or to stdout (-), while it goes on:
everything that was answered before the command began. It is a tar file with the
log's files and SHA256SUMS; "dsend restore" makes a data folder of it. A file that is
there is not overwritten, and FILE is there only when it is whole.

One backup is made at a time. It is given up if the server's disk gets so full that
the room is needed.`,
		Example: "  dsend backup orders.tar\n  dsend backup - | zstd >orders.tar.zst",
	}
	c.RunE = a.remote(func(ctx context.Context, l *link, args []string) error {
		if args[0] == "-" {
			if a.json || a.shows {
				return usagef("a backup is no text: send it to a file, without --json")
			}
			_, err := backUp(ctx, l, a.out, a)
			return err
		}
		begun, err := a.backUpTo(ctx, l, args[0])
		if err != nil {
			return err
		}
		done := backedUp{args[0], commitRange{begun.Generations[0].First, begun.Generations[len(begun.Generations)-1].Last}}
		return a.say(done, "%s holds commits %d to %d", clean(done.File), done.Commits.First, done.Commits.Last)
	})
	return c
}

// backedUp is what backup prints.
type backedUp struct {
	File    string      `json:"file"`
	Commits commitRange `json:"commits"`
}

// backUpTo writes a backup beside its name, and gives it the name when it is
// durable.
func (a *app) backUpTo(ctx context.Context, l *link, name string) (begun admin.BackupBegun, err error) {
	if _, err := os.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
		return begun, errors.Join(err, fmt.Errorf("%s is there already", name))
	}
	file, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".*.part")
	if err != nil {
		return begun, err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(file.Name())
		}
	}()
	begun, err = backUp(ctx, l, file, a)
	if err = errors.Join(err, file.Sync(), file.Close()); err != nil {
		return begun, err
	}
	if err := os.Link(file.Name(), name); err != nil { // unlike Rename it overwrites nothing
		return begun, err
	}
	if err := os.Remove(file.Name()); err != nil {
		return begun, err
	}
	return begun, syncFolder(filepath.Dir(name))
}

// syncFolder makes the names in a folder durable.
func syncFolder(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// backUp writes a backup of the server's log.
func backUp(ctx context.Context, l *link, to io.Writer, a *app) (admin.BackupBegun, error) {
	begun, err := call[admin.BackupBegun](ctx, l, admin.BackupBegin, admin.BackupBeginRequest{})
	if err != nil {
		return begun, err
	}
	err = backup.Write(to, remoteLog{ctx, l, begun}, a.now())
	// After an error the server may have ended it already, and would say only that.
	_, ended := call[admin.BackupEnded](context.WithoutCancel(ctx), l, admin.BackupEnd, admin.BackupEndRequest{ID: begun.ID})
	if err == nil {
		err = ended
	}
	return begun, err
}

// remoteLog is the log of a running server as of one commit.
type remoteLog struct {
	ctx   context.Context
	l     *link
	begun admin.BackupBegun
}

// Generations implements backup.Source.
func (r remoteLog) Generations() (all []durable.Generation) {
	for _, g := range r.begun.Generations {
		all = append(all, durable.Generation(g))
	}
	return all
}

// Read implements backup.Source.
func (r remoteLog) Read(first uint64, off int64) ([]byte, error) {
	piece, err := call[admin.BackupPiece](r.ctx, r.l, admin.BackupRead, admin.BackupReadRequest{ID: r.begun.ID, First: first, Offset: off})
	return piece.Data, err
}
