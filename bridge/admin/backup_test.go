package admin_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"dsend/bridge/admin"
	"dsend/durable"
)

// copied is a log of two files that is held for a backup.
type copied struct {
	released atomic.Bool
	fails    atomic.Pointer[error]
}

var contents = map[uint64][]byte{1: bytes.Repeat([]byte("first"), 300_000), 8: []byte("second")}

func (c *copied) Files() []durable.Generation {
	return []durable.Generation{{First: 1, Last: 7, Bytes: int64(len(contents[1]))}, {First: 8, Last: 9, Bytes: int64(len(contents[8]))}}
}

func (c *copied) Read(first uint64, off int64, p []byte) error {
	if err := c.fails.Load(); err != nil {
		return *err
	}
	if copy(p, contents[first][off:]) < len(p) {
		return errors.New("read beyond the end")
	}
	return nil
}

func (c *copied) Release() { c.released.Store(true) }

// backups serves a store whose log can be held.
func backups(t *testing.T, silence time.Duration) (h *harness, made *atomic.Pointer[copied]) {
	made = &atomic.Pointer[copied]{}
	return serve(t, func(cfg *admin.Config) {
		cfg.Silence = silence
		cfg.Copy = func(context.Context) (admin.Copy, error) {
			if c := made.Load(); c != nil && !c.released.Load() {
				return nil, durable.ErrHeld
			}
			c := &copied{}
			made.Store(c)
			return c, nil
		}
	}), made
}

// TestBackup reads a log in pieces.
func TestBackup(t *testing.T) {
	h, made := backups(t, 0)
	b := get[admin.BackupBegun](t, h, "backup.begin", "")
	if len(b.ID) < 20 || len(b.Generations) != 2 || b.Generations[1] != (admin.Generation{First: 8, Last: 9, Bytes: 6}) {
		t.Fatalf("%+v", b)
	}
	refused(t, h, "backup.begin", "", 409, "another backup")
	pieces := 0
	for _, g := range b.Generations {
		var got []byte
		for int64(len(got)) < g.Bytes {
			p := get[admin.BackupPiece](t, h, "backup.read", fmt.Sprintf(`{"id":%q,"first":%d,"offset":%d}`, b.ID, g.First, len(got)))
			got = append(got, p.Data...)
			pieces++
		}
		if !bytes.Equal(got, contents[g.First]) {
			t.Fatalf("file %d is not what it is", g.First)
		}
	}
	if pieces < 3 || pieces > 6 {
		t.Errorf("%d pieces", pieces)
	}
	for _, request := range []string{`{"id":"` + b.ID + `","first":2}`, `{"id":"` + b.ID + `","first":8,"offset":6}`, `{"id":"` + b.ID + `","first":8,"offset":-1}`} {
		refused(t, h, "backup.read", request, 400, "")
	}
	refused(t, h, "backup.read", `{"id":"other","first":1}`, 404, "this backup has ended")
	refused(t, h, "backup.end", `{"id":"other"}`, 404, "this backup has ended")
	get[admin.BackupEnded](t, h, "backup.end", `{"id":"`+b.ID+`"}`)
	if !made.Load().released.Load() {
		t.Fatal("the log is still held")
	}
	refused(t, h, "backup.read", `{"id":"`+b.ID+`","first":1}`, 404, "this backup has ended")
	get[admin.BackupBegun](t, h, "backup.begin", "") // is ended when the service is stopped
	if err := h.service.Stop(); err != nil {
		t.Fatal(err)
	}
	if !made.Load().released.Load() {
		t.Fatal("the log is held after the end")
	}
}

// TestBackupSilence: a backup that asks for nothing is given up.
func TestBackupSilence(t *testing.T) {
	h, made := backups(t, 20*time.Millisecond)
	b := get[admin.BackupBegun](t, h, "backup.begin", "")
	for end := time.Now().Add(time.Minute); !made.Load().released.Load(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the log is still held")
		}
	}
	refused(t, h, "backup.read", `{"id":"`+b.ID+`","first":1}`, 404, "this backup has ended")
}

// TestBackupGivenUp: what the store says is said in the words of the API.
func TestBackupGivenUp(t *testing.T) {
	h, made := backups(t, 0)
	b := get[admin.BackupBegun](t, h, "backup.begin", "")
	given := durable.ErrGivenUp
	made.Load().fails.Store(&given)
	refused(t, h, "backup.read", `{"id":"`+b.ID+`","first":1}`, 507, "nearly full")
	refused(t, serve(t, nil), "backup.begin", "", 409, "cannot be copied")
}
