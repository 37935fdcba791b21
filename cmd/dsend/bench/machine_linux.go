package bench

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// cpuName is what the kernel calls the processor.
func cpuName() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "unknown"
	}
	for line := range strings.Lines(string(text)) {
		if key, value, _ := strings.Cut(line, ":"); strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return "unknown"
}

// clockTick is the unit of times in /proc: USER_HZ, the same for all programs.
const clockTick = 10 * time.Millisecond

// processTime is how long a process has used processors.
func processTime(pid int) (time.Duration, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(text), ") ") // behind the name
	const user, system = 11, 12
	fields := strings.Fields(rest)
	if len(fields) <= system {
		return 0, fmt.Errorf("/proc/%d/stat is not what it was", pid)
	}
	var ticks int64
	for _, field := range fields[user : system+1] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("/proc/%d/stat: %w", pid, err)
		}
		ticks += n
	}
	return time.Duration(ticks) * clockTick, nil
}

var fileSystems = map[int64]string{
	unix.EXT4_SUPER_MAGIC: "ext4", unix.XFS_SUPER_MAGIC: "xfs", unix.BTRFS_SUPER_MAGIC: "btrfs",
	unix.TMPFS_MAGIC: "tmpfs (in memory: a sync costs nothing)", unix.OVERLAYFS_SUPER_MAGIC: "overlayfs", unix.NFS_SUPER_MAGIC: "nfs",
}

// fileSystem is what the folder is on.
func fileSystem(dir string) string {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return "unknown"
	}
	if name, ok := fileSystems[int64(s.Type)]; ok {
		return name
	}
	return fmt.Sprintf("%#x", s.Type)
}
