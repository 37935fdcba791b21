package ballast

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

const size = 1 << 20

func fresh(t *testing.T) *Ballast { return New(filepath.Join(t.TempDir(), "ballast"), size) }

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// blocks is how many bytes of the disk the file takes.
func blocks(t *testing.T, b *Ballast) int64 {
	t.Helper()
	var s syscall.Stat_t
	must(t, syscall.Stat(b.path, &s))
	return s.Blocks * 512
}

func TestTakeAndGive(t *testing.T) {
	b := fresh(t)
	for range 2 {
		must(t, b.Give()) // there is none
		if b.Held() {
			t.Fatal("it is held before it was taken")
		}
		must(t, b.Take())
		must(t, b.Take()) // once more does no harm
		if n := blocks(t, b); !b.Held() || n < size || n > size+64<<10 {
			t.Fatalf("held is %t, the file takes %d bytes", b.Held(), n)
		}
		if again := New(b.path, size); !again.Held() {
			t.Error("the next process does not know it")
		}
		must(t, b.Give())
		if _, err := os.Stat(b.path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("afterwards the file is there: %v", err)
		}
	}
}

// What is not all there is not taken for it, and is replaced.
func TestPartsAreNotHeld(t *testing.T) {
	parts := map[string]func(path string) error{
		"nothing in it": func(path string) error { return os.WriteFile(path, nil, 0o600) },
		"half of it":    func(path string) error { return os.WriteFile(path, bytes.Repeat([]byte{1}, size/2), 0o600) },
		"a larger one":  func(path string) error { return os.WriteFile(path, bytes.Repeat([]byte{1}, 2*size), 0o600) },
		"a hole": func(path string) error {
			return errors.Join(os.WriteFile(path, nil, 0o600), os.Truncate(path, size))
		},
		"a link": func(path string) error { return os.Symlink("/etc/passwd", path) },
	}
	for name, leave := range parts {
		t.Run(name, func(t *testing.T) {
			b := fresh(t)
			must(t, leave(b.path))
			if b.Held() {
				t.Error("it is held")
			}
			must(t, b.Take())
			if !b.Held() {
				t.Error("it is not held after it was taken")
			}
		})
	}
}

// A file system that cannot reserve blocks gets them written.
func TestWithoutReservation(t *testing.T) {
	b := fresh(t)
	file, err := os.Create(b.path)
	must(t, err)
	must(t, errors.Join(b.write(file), file.Sync(), file.Close()))
	if !b.Held() {
		t.Errorf("the file takes %d bytes", blocks(t, b))
	}
}

// Where it cannot be taken nothing of it stays.
func TestTakeFails(t *testing.T) {
	b := New(filepath.Join(t.TempDir(), "no such folder", "ballast"), size)
	if err := b.Take(); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the error is %v", err)
	}
	b = fresh(t)
	b.size = 1 << 60
	if err := b.Take(); err == nil {
		t.Error("a ballast larger than the disk was taken")
	}
	if _, err := os.Stat(b.path); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a part of it stays: %v", err)
	}
	must(t, os.Mkdir(b.path, 0o700))
	must(t, os.WriteFile(filepath.Join(b.path, "a file"), nil, 0o600))
	if err := b.Give(); err == nil {
		t.Error("a folder with something in it was given back")
	}
}

func TestSizeFor(t *testing.T) {
	for reserve, want := range map[int64]int64{0: 0, 4: 1, 16 << 20: 4 << 20, 32 << 20: Most, 1 << 40: Most} {
		if got := SizeFor(reserve); got != want {
			t.Errorf("for a reserve of %d bytes: %d, want %d", reserve, got, want)
		}
	}
}
