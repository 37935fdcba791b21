package wal

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestOpenRefusesWhatItCannotWrite(t *testing.T) {
	top, err := os.MkdirTemp("", "dsend-wal")
	check(t, err)
	t.Cleanup(func() { check(t, os.RemoveAll(top)) })
	check(t, os.Chmod(top, 0o755))
	closed := filepath.Join(top, "closed")
	check(t, os.Mkdir(closed, 0o555))
	locked := filepath.Join(top, "locked") // one that holds a log already, and then is closed
	check(t, open(t, locked, Options{}).Close())
	check(t, os.Chmod(filepath.Join(locked, lockName), 0o666))
	check(t, os.Chmod(locked, 0o555))
	secret := filepath.Join(top, "secret", "log")
	check(t, os.MkdirAll(secret, 0o777))
	check(t, os.Chmod(filepath.Dir(secret), 0o700))

	done := make(chan struct{})
	go func() {
		defer close(done)
		if os.Getuid() == 0 { // root may write everywhere: be somebody else, in this thread, which ends with the goroutine
			runtime.LockOSThread()
			if err := unix.Setfsuid(65534); err != nil {
				t.Error(err)
				return
			}
		}
		for _, dir := range []string{closed, locked, filepath.Join(closed, "log"), secret} {
			if _, err := Open(dir, Options{}); os.Getuid() == 0 || dir != secret {
				if !errors.Is(err, ErrNotWritable) || !strings.Contains(err.Error(), dir) {
					t.Errorf("%s: %v", dir, err)
				}
			}
		}
	}()
	<-done
}
