package wal

import "golang.org/x/sys/unix"

// Free is the number of bytes that the file system still has for us; what it reserves for root does not count.
func (l *Log) Free() (uint64, error) {
	var fs unix.Statfs_t
	if err := unix.Statfs(l.dir, &fs); err != nil {
		return 0, err
	}
	return uint64(max(0, int64(fs.Bavail))) * blockSize(&fs), nil
}
