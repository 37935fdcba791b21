package durable

import "sync"

// cache keeps the newest commits in memory, so that the usual delivery does
// not read the disk.
type cache struct {
	mu    sync.Mutex
	limit int64
	size  int64
	first uint64 // commit of list[0]
	list  [][]byte
}

func newCache(limit int64) *cache { return &cache{limit: limit} }

// add keeps the data of a commit, which must not change any more.
func (c *cache) add(commit uint64, data []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.list) == 0 {
		c.first = commit
	}
	c.list = append(c.list, data)
	c.size += int64(cap(data))
	for c.size > c.limit && len(c.list) > 1 {
		c.size -= int64(cap(c.list[0]))
		c.list[0] = nil
		c.list = c.list[1:]
		c.first++
	}
}

// get gives size bytes of a commit; nil if it is not there.
func (c *cache) get(commit uint64, off, size uint32) []byte {
	c.mu.Lock()
	defer c.mu.Unlock()
	if commit < c.first || commit-c.first >= uint64(len(c.list)) {
		return nil
	}
	data := c.list[commit-c.first]
	if uint64(off)+uint64(size) > uint64(len(data)) {
		return nil
	}
	return data[off : off+size : off+size]
}
