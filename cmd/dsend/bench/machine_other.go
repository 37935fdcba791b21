//go:build !linux

package bench

import (
	"errors"
	"time"
)

func cpuName() string { return "unknown" }

func fileSystem(string) string { return "unknown" }

func processTime(int) (time.Duration, error) { return 0, errors.ErrUnsupported }
