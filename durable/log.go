package durable

// Generation is a part of the log that is dropped as a whole: its commits
// (Last is First-1 if there are none) and its bytes on disk.
type Generation = struct {
	First, Last uint64
	Bytes       int64
}

// Log is an append-only log of commits, numbered from 1. One goroutine appends
// and syncs; one other may Read and one other may Scan and Drop meanwhile.
type Log interface {
	// Recover calls fn for every commit, oldest first. It is called once,
	// before anything else. data is valid during the call.
	Recover(fn func(commit uint64, data []byte) error) error
	// Last is the number of the newest commit; 0 if there is none.
	Last() uint64
	// Append writes the next commit. It is not durable before Sync.
	Append(data []byte) error
	// Sync makes all that was appended durable. After an error of Append or
	// Sync the log must not be used again.
	Sync() error
	// Read fills p from the data of a commit, from byte off on.
	Read(commit uint64, off uint32, p []byte) error
	// Generations lists the generations, oldest first. The last one is being
	// written.
	Generations() []Generation
	// Newest is the generation that is being written.
	Newest() Generation
	// Scan calls fn for each commit of the sealed generation that begins
	// with commit first.
	Scan(first uint64, fn func(commit uint64, data []byte) error) error
	// Drop removes the oldest generation, which begins with commit first.
	// It is durable when Drop returns.
	Drop(first uint64) error
	// Free is how many bytes the file system has left.
	Free() (uint64, error)
	// Close ends the log.
	Close() error
}
