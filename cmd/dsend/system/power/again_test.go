//go:build linux

package power

import (
	"fmt"
	"testing"

	"dsend/cmd/dsend/system/crashfs"
)

// The power is cut in the story, and then again and again while the store recovers: at its first call, at its second one,
// and so on until it recovers before it is cut.
func TestCutAgain(t *testing.T) {
	t.Parallel()
	stride := 421
	if storm() {
		stride = 7
	}
	y := newTally(t, "power cut again at every call of recovery")
	settle(t, y)
	for i, m := range crashfs.Models() {
		t.Run(m.String(), func(t *testing.T) {
			t.Parallel()
			disk, dir := newDisk(t, m, dice(t).Uint64())
			for at := 1 + i*stride/12; ; at += stride {
				wipe(t, disk, dir, m)
				disk.CutAt(at)
				done, err := tell(dir, story, nil)
				if err == nil {
					break
				}
				cuts := cutRecovery(t, disk, dir, m)
				_, found := judge(t, fmt.Sprintf("%v, cut at call %d, and %d times more", m, at, cuts), dir, allowed(t, done)...)
				y.add(cuts, found)
			}
		})
	}
}

// cutRecovery cuts the power at the first call of recovery, then at the second one, and so on.
func cutRecovery(t *testing.T, disk *crashfs.Disk, dir string, m crashfs.Model) (cuts int) {
	t.Helper()
	for ; ; cuts++ {
		if err := disk.PowerOn(m); err != nil {
			t.Fatal(err)
		}
		disk.CutAt(cuts + 1)
		if _, err := look(dir, nil); err == nil || !isDark(disk) {
			break // if it failed without a cut, the judge will say why
		}
	}
	if err := disk.PowerOn(m); err != nil {
		t.Fatal(err)
	}
	return cuts
}
