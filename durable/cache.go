package durable

import (
	"bytes"
	"sync"
)

// cache keeps the newest commits in memory, so that the usual delivery does
// not read the disk.
type cache struct {
	mu    sync.Mutex
	limit int64
	size  int64
	first uint64 // commit of list[0]
	list  [][]byte
}

// entryCost is the memory of a commit beside its data, in bytes.
const entryCost = 32

func newCache(limit int64) *cache { return &cache{limit: limit} }

// add keeps a copy of the data of a commit, of one without messages only the
// place. The newest commit is kept in any case.
func (c *cache) add(commit uint64, data []byte, messages bool) {
	var kept []byte
	if messages {
		kept = bytes.Clone(data)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.list) == 0 {
		c.first = commit
	}
	c.list = append(c.list, kept)
	c.size += cost(kept)
	for c.size > c.limit && len(c.list) > 1 {
		c.size -= cost(c.list[0])
		c.list[0] = nil
		c.list = c.list[1:]
		c.first++
	}
}

func cost(data []byte) int64 { return int64(cap(data)) + entryCost }

// oldest is the first commit that is kept. Only add changes it.
func (c *cache) oldest() uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.first
}

// get gives size bytes of a commit; nil if it is not there. They never change.
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
