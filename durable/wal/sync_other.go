//go:build !linux

package wal

import "os"

// syncData makes the content of file durable.
func syncData(file *os.File) error { return file.Sync() }
