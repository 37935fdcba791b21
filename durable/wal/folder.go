package wal

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	dirPerm  = 0o700
	filePerm = 0o600

	lockName         = "lock"
	generationSuffix = ".gen" // stands for the layout in doc.go: another layout takes another suffix, and is refused by this program
	cutSuffix        = ".cut"
	segmentName      = "00000000000000000001" // the one file in a generation; the library's name for a log that begins at index 1
)

// makeFolder makes sure that dir is a folder we may read and write, and that its name is durable. Each level is made
// durable before the one below it is made, so that a run which is killed here leaves nothing behind that a later run
// would take for durable.
func makeFolder(dir string) error {
	info, err := os.Stat(dir)
	switch {
	case err == nil && !info.IsDir(), errors.Is(err, unix.ENOTDIR):
		return fmt.Errorf("%s: %w", dir, ErrNotFolder)
	case errors.Is(err, fs.ErrNotExist):
		if err := makeFolder(filepath.Dir(dir)); err != nil {
			return err
		}
		if err := os.Mkdir(dir, dirPerm); err != nil && !errors.Is(err, fs.ErrExist) {
			return notWritable(dir, err)
		}
	case err != nil:
		return notWritable(dir, err)
	}
	err = syncDir(filepath.Dir(dir))
	if errors.Is(err, fs.ErrPermission) {
		return nil // a parent that we may not even read was not made by us
	}
	return err
}

// checkWritable reports whether we may list dir and make files in it.
func checkWritable(dir string) error {
	return notWritable(dir, unix.Faccessat(unix.AT_FDCWD, dir, unix.R_OK|unix.W_OK|unix.X_OK, unix.AT_EACCESS))
}

// notWritable puts the sentence ErrNotWritable before an error that says so.
func notWritable(path string, err error) error {
	if errors.Is(err, fs.ErrPermission) || errors.Is(err, unix.EROFS) {
		return fmt.Errorf("%s: %w: %w", path, ErrNotWritable, err)
	}
	return err
}

// syncDir makes the names in dir durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return cmp.Or(d.Sync(), d.Close())
}

// list returns the generations in dir, oldest first. Whatever else the log did not put there is refused by name: the
// library deletes what it finds before or behind a file of the wrong name, so nothing unknown may come near it.
func list(dir string) ([]*generation, error) {
	all, strange, err := enumerate(dir)
	if err == nil && len(strange) > 0 {
		err = fmt.Errorf("%s: %w", strange[0], ErrUnknownFile)
	}
	return all, err
}

// enumerate returns the generations in dir, oldest first, and the paths of what the log did not put there.
func enumerate(dir string) (all []*generation, strange []string, err error) {
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, nil, err
	}
	for _, f := range files {
		path := filepath.Join(dir, f.Name())
		first, ok := parseGenerationName(f.Name())
		switch {
		case ok && f.IsDir():
			g := &generation{first: first, dir: path}
			unknown, err := g.find()
			if err != nil {
				return nil, nil, err
			}
			all, strange = append(all, g), append(strange, unknown...)
		case f.Type().IsRegular() && (f.Name() == lockName || strings.HasSuffix(f.Name(), cutSuffix)):
		default:
			strange = append(strange, path)
		}
	}
	return all, strange, nil // ReadDir sorts by name, and the numbers have a fixed width
}

// find looks for the segment file of g, and returns the paths of what else is there.
func (g *generation) find() (strange []string, err error) {
	files, err := os.ReadDir(g.dir)
	if err != nil {
		return nil, err
	}
	g.missing = true
	for _, f := range files {
		if f.Name() != segmentName || !f.Type().IsRegular() {
			strange = append(strange, filepath.Join(g.dir, f.Name()))
			continue
		}
		info, err := f.Info()
		if err != nil {
			return nil, err
		}
		g.missing, g.bytes = false, info.Size()
	}
	return strange, nil
}

// generationName is the name of the folder of the generation that begins with commit first.
func generationName(first uint64) string { return fmt.Sprintf("%020d%s", first, generationSuffix) }

// parseGenerationName is the inverse of generationName.
func parseGenerationName(name string) (first uint64, ok bool) {
	first, err := strconv.ParseUint(strings.TrimSuffix(name, generationSuffix), 10, 64)
	return first, err == nil && first > 0 && generationName(first) == name
}
