package wal

import (
	"bytes"
	"os"
	"testing"
)

// fileSize is the size of the file of a generation.
func fileSize(t *testing.T, dir string, first uint64) int64 {
	t.Helper()
	info, err := os.Stat(segment(dir, first))
	check(t, err)
	return info.Size()
}

// TestRoom: small commits do not let the file grow; a large one does, and has no zeros written for it.
func TestRoom(t *testing.T) {
	dir := folder(t)
	l := open(t, dir, Options{GenerationSize: 3 * roomStep})
	wantSize := func(want int64) {
		t.Helper()
		if got := fileSize(t, dir, 1); got != want {
			t.Fatalf("a file of %d bytes after %d of commits, want %d", got, l.Newest().Bytes, want)
		}
	}
	appendSmall(t, l, 100)
	wantSize(roomStep)
	check(t, l.Append(noise(1, 2*roomStep)))
	wantSize(l.Newest().Bytes)
	check(t, l.Append(noise(1, 10)))
	wantSize(3 * roomStep) // no room beyond the end of the generation
	check(t, l.Append(noise(1, roomFor)))
	for l.Newest().First == 1 {
		check(t, l.Append(noise(1, roomFor/2)))
	}
	wantSize(l.Generations()[0].Bytes)
}

// TestNoRoomIsLeft: sealed and closed files end where their last commit does.
func TestNoRoomIsLeft(t *testing.T) {
	dir := folder(t)
	l := open(t, dir, Options{})
	appendSmall(t, l, 5)
	check(t, l.Seal())
	appendSmall(t, l, 9)
	check(t, l.Close())
	for _, g := range l.Generations() {
		if got := fileSize(t, dir, g.First); got != g.Bytes {
			t.Errorf("a file of %d bytes with %d of commits", got, g.Bytes)
		}
	}
	wantSmall(t, dir, 1, 9)
}

// TestHurtRoom flips each bit of the room that kill -9 leaves: it is not a commit, and is kept as a torn end would be.
// As it was it is nothing worth a word.
func TestHurtRoom(t *testing.T) {
	dir := folder(t)
	l := open(t, dir, Options{GenerationSize: 200})
	appendSmall(t, l, 3)
	kill(l)
	end := l.Newest().Bytes
	file, err := os.ReadFile(segment(dir, 1))
	check(t, err)
	if len(file) != 200 || end > 190 {
		t.Fatalf("a file of %d bytes, with commits up to %d", len(file), end)
	}
	for bit := int(end) * 8; bit < len(file)*8; bit++ {
		hurt := bytes.Clone(file)
		hurt[bit/8] ^= 1 << (bit % 8)
		check(t, os.WriteFile(segment(dir, 1), hurt, filePerm))
		s, _ := surveyed(t, dir)
		if s.Damaged() || s.Torn == nil || s.Torn.Offset != end || s.Torn.Bytes != int64(bit/8+1)-end {
			t.Fatalf("bit %d: %v, torn %v", bit, s.Places, s.Torn)
		}
		check(t, s.Close())
		wantCut(t, copyDir(t, dir), 3, hurt[end:])
	}
	check(t, os.WriteFile(segment(dir, 1), file, filePerm))
	s, _ := surveyed(t, dir)
	if s.Damaged() || s.Torn != nil {
		t.Fatalf("%v, torn %v", s.Places, s.Torn)
	}
	check(t, s.Close())
	wantCut(t, dir, 3, file[end:])
}
