//go:build !linux

package wal

import "golang.org/x/sys/unix"

// blockSize is the unit of Bavail in bytes.
func blockSize(fs *unix.Statfs_t) uint64 { return uint64(fs.Bsize) }
