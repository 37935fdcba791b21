//go:build !linux

package ballast

import "os"

// reserve has no common name outside Linux.
func reserve(*os.File, int64) error { return nil }
