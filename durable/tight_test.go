package durable

import "testing"

// On a disk that is nearly full the log gives its garbage back long before it
// is twice as large as what it must keep.
func TestTightDiskIsCompacted(t *testing.T) {
	old := []part{{first: 1, bytes: 2 * mib, live: mib}, {first: 9}}
	for _, c := range []struct {
		what string
		u    usage
		want bool
	}{
		{"with room, 30 MiB of garbage beside 120 MiB", usage{bytes: 150 * mib}, false},
		{"on a tight disk, 30 MiB of garbage", usage{tight: true, bytes: 150 * mib, room: 3 * mib}, true},
		{"a few generations of garbage", usage{tight: true, bytes: 127 * mib, room: 3 * mib}, false},
		{"without room for what must be carried", usage{tight: true, bytes: 150 * mib, room: 2*mib - 1}, false},
	} {
		c.u.slack, c.u.live, c.u.parts = 64*mib, 120*mib, old
		if _, want := c.u.start(false); want != c.want {
			t.Errorf("%s: compacted is %t", c.what, want)
		}
	}
}
