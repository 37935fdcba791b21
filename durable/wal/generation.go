package wal

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
)

// Generation is one file of the log.
type Generation = struct {
	First uint64 // its first commit
	Last  uint64 // its last commit; First-1 if it holds none yet
	Bytes int64  // size of its file
}

// generation is one directory with one segment file in it.
type generation struct {
	first   uint64   // its first commit
	dir     string   // path of its directory
	bytes   int64    // size of its segment file
	ends    []uint32 // the byte behind each of its commits in the file
	missing bool     // its directory was found without a segment file
}

func (g *generation) segment() string { return filepath.Join(g.dir, segmentName) }

// last is its last commit, or first-1.
func (g *generation) last() uint64 { return g.first - 1 + uint64(len(g.ends)) }

// extend notes the next commit, which ends at byte end of the file.
func (g *generation) extend(end int64) {
	g.ends = append(g.ends, uint32(end))
	g.bytes = end
}

// seal gives back the memory that was kept for more commits.
func (g *generation) seal() { g.ends = slices.Clone(g.ends) }

// data is where the data of commit lies in the file, in bytes.
func (g *generation) data(commit uint64) (offset, size int64) {
	i := commit - g.first
	end, start := int64(g.ends[i]), int64(0)
	if i > 0 {
		start = int64(g.ends[i-1])
	}
	size = int64(dataSize(int(end - start)))
	return end - size, size
}

// public is what callers see of it.
func (g *generation) public() Generation {
	return Generation{First: g.first, Last: g.last(), Bytes: g.bytes}
}

// removeFile deletes its segment file, if it has one.
func (g *generation) removeFile() error {
	if err := os.Remove(g.segment()); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// removeFolder deletes its directory, which must be empty, durably. A power cut before the end leaves the generation
// whole, or without its file, or gone.
func (g *generation) removeFolder() error {
	if err := os.Remove(g.dir); err != nil {
		return err
	}
	return syncDir(filepath.Dir(g.dir))
}

// contains says whether commit is in g.
func (g *generation) contains(commit uint64) bool { return commit >= g.first && commit <= g.last() }
