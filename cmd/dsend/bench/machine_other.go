//go:build !linux

package bench

func cpuName() string { return "unknown" }

func fileSystem(string) string { return "unknown" }
