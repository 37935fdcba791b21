//go:build !linux

package wal

// swap exchanges the names of two folders at once.
func swap(string, string) error { return errNoSwap }
