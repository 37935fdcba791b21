package wal

import "golang.org/x/sys/unix"

// blockSize is the unit of Bavail in bytes. On Linux that is Frsize: Bsize is the size that is best for transfers.
func blockSize(fs *unix.Statfs_t) uint64 { return uint64(fs.Frsize) }
