package queue

import (
	"reflect"
	"testing"
)

// TestShelfGivesMemoryBack drains a full shelf: what is left must be in a map of
// its size, and all of it.
func TestShelfGivesMemoryBack(t *testing.T) {
	const n = 100_000
	var s shelf[int, int]
	for i := range n {
		s.set(i, -i)
	}
	full := reflect.ValueOf(s.m).Pointer()
	for i := range n - 10 {
		s.drop(i)
	}
	if s.len() != 10 {
		t.Fatalf("%d are left, not 10", s.len())
	}
	for i := n - 10; i < n; i++ {
		if s.get(i) != -i {
			t.Errorf("%d is lost", i)
		}
	}
	if s.peak > 2*shelfKept {
		t.Errorf("the map of %d was made for %d", s.len(), s.peak)
	}
	if reflect.ValueOf(s.m).Pointer() == full {
		t.Error("it is the map that held them all")
	}
}
