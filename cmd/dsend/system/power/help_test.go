//go:build linux

package power

import (
	"context"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"
	"testing"
	"time"

	"dsend/cmd/dsend/system/crashfs"
	"dsend/testkit"
)

func TestMain(m *testing.M) {
	flag.Parse()
	dir, err := os.MkdirTemp("", "dsend-power-")
	if err != nil {
		panic(err)
	}
	workshop = dir
	code := m.Run()
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// workshop is a folder for what all tests share.
var workshop string

// patience is how long anything may take before a test gives up: a limit for failures, nothing waits for it to pass.
const patience = 60 * time.Second

// Words of all tests.
var dice, storm = testkit.Dice, testkit.Storm

// newDisk mounts an empty disk at a folder, until the end of the test.
func newDisk(t testing.TB, m crashfs.Model, seed uint64) (disk *crashfs.Disk, dir string) {
	t.Helper()
	missing := crashfs.Missing()
	testkit.Need(t, missing == "", missing)
	disk, dir = crashfs.New(m, seed), t.TempDir()
	if err := disk.Mount(dir); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := disk.Unmount(); err != nil {
			t.Error(err, disk.Discard())
		}
	})
	return disk, dir
}

// watched does something that must not stand still. If it does, the test program ends with the stacks of all goroutines.
func watched(what string, do func()) {
	alarm := time.AfterFunc(patience, func() {
		debug.SetTraceback("all")
		panic(what + " stands still")
	})
	defer alarm.Stop()
	do()
}

// tally counts what a storm did and found. It may be used from any goroutine.
type tally struct {
	mu    sync.Mutex
	fault string
	count int // cuts, or errors
	found verdict
}

// verdict counts what is wrong.
type verdict struct{ lost, undone, invented, damaged, failed int }

func (v verdict) bad() bool { return v != verdict{} }

func (v verdict) plus(o verdict) verdict {
	return verdict{v.lost + o.lost, v.undone + o.undone, v.invented + o.invented, v.damaged + o.damaged, v.failed + o.failed}
}

// add counts so many cuts or errors, and what was found after them.
func (y *tally) add(count int, v verdict) {
	y.mu.Lock()
	defer y.mu.Unlock()
	y.count += count
	y.found = y.found.plus(v)
}

// newTally prints the line of the table at the end of a test, and checks that there was a fault at all.
func newTally(t testing.TB, fault string) *tally {
	t.Helper()
	y := &tally{fault: fault}
	t.Cleanup(func() {
		if t.Skipped() {
			return
		}
		f := y.found
		testkit.StormRow(y.fault, y.count, f.lost, f.undone, f.invented, f.damaged, f.failed)
		if y.count == 0 && !t.Failed() {
			t.Errorf("%s: there was none", y.fault)
		}
	})
	return y
}

var background = context.Background()

// wipe makes a disk empty, for a life under a model.
func wipe(t testing.TB, disk *crashfs.Disk, dir string, m crashfs.Model) {
	t.Helper()
	disk.Heal()
	if err := errors.Join(os.RemoveAll(filepath.Join(dir, "data")), syncFolder(dir), disk.PowerOn(m)); err != nil {
		t.Fatal(err)
	}
}

func syncFolder(dir string) error {
	f, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// isDark tells whether the power of a disk was cut.
func isDark(disk *crashfs.Disk) bool {
	select {
	case <-disk.Dark():
		return true
	default:
		return false
	}
}
