//go:build linux

package power

import (
	"fmt"
	"testing"

	"dsend/cmd/dsend/system/crashfs"
)

// The power is cut at every call of the story, under every model. What was confirmed holds, and nothing else is there.
func TestCutAnywhere(t *testing.T) {
	t.Parallel()
	stride := 73
	if storm() {
		stride = 1
	}
	y := newTally(t, "power cut at every call of a story")
	for i, m := range crashfs.Models() {
		t.Run(m.String(), func(t *testing.T) {
			t.Parallel()
			disk, dir := newDisk(t, m, dice(t).Uint64())
			for at := 1 + i*stride/12; ; at += stride {
				if over := cutStory(t, y, disk, dir, m, at, nil); over {
					break
				}
			}
			if stride > 1 && t.Failed() {
				t.Log("TEST_STORM=1 cuts at every call")
			}
		})
	}
	settle(t, y)
}

// settle has the tally checked when the subtests are over.
func settle(t *testing.T, y *tally) {
	t.Cleanup(func() {
		if y.found.bad() {
			t.Errorf("%s: %+v", y.fault, y.found)
		}
	})
}

// cutStory tells the story on an empty disk until the power is cut at a call, and compares. between may break the disk.
// It tells whether the story was over before.
func cutStory(t *testing.T, y *tally, disk *crashfs.Disk, dir string, m crashfs.Model, at int, between func()) (over bool) {
	t.Helper()
	wipe(t, disk, dir, m)
	if between != nil {
		between()
	}
	disk.CutAt(at)
	done, err := tell(dir, story, nil)
	if err == nil {
		return true
	}
	if !isDark(disk) {
		t.Fatalf("cut at call %d: the story ended before it, at step %d: %v", at, done+1, err)
	}
	if err := disk.PowerOn(m); err != nil {
		t.Fatal(err)
	}
	_, found := judge(t, fmt.Sprintf("%v, cut at call %d, in step %d", m, at, done+1), dir, allowed(t, done)...)
	y.add(1, found)
	return false
}

// allowed is what may be there when so many steps were confirmed, and the next one was not.
func allowed(t testing.TB, done int) []view {
	all := told(t)
	return all[done:min(done+2, len(all))]
}
