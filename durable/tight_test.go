package durable

import "testing"

// On a disk that is nearly full the log gives its garbage back long before it
// is twice as large as what it must keep.
func TestTightDiskIsCompacted(t *testing.T) {
	u := usage{slack: 32 << 20, bytes: 150 << 20, live: 120 << 20, parts: []part{{first: 1, bytes: 2 << 20}, {first: 9}}}
	if _, want := u.start(false); want {
		t.Error("with room, 30 MiB of garbage beside 120 MiB are carried round")
	}
	u.tight = true
	if _, want := u.start(false); !want {
		t.Error("on a tight disk, 30 MiB of garbage stay")
	}
	u = usage{slack: 32 << 20, tight: true, bytes: 127 << 20, live: 120 << 20, parts: u.parts}
	if _, want := u.start(false); want {
		t.Error("a few generations are carried round for ever")
	}
}
