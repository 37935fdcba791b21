package backup

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"golang.org/x/sys/unix"

	"dsend/durable"
	"dsend/durable/queue"
	"dsend/durable/wal"
)

var (
	// ErrNotBackup is returned by Restore for what is no whole backup.
	ErrNotBackup = errors.New("not a whole backup")
	// ErrNotEmpty is returned by Restore for a folder that has something in it.
	ErrNotEmpty = errors.New("the folder is not empty")
)

// maxSums bounds SHA256SUMS in bytes: a million files.
const maxSums = 128 << 20

// Restore makes dir, or fills it if it is empty, from a backup, and tells what
// is in it. After an error dir has no log.
func Restore(from io.Reader, dir string) (found *durable.Examination, err error) {
	made, err := prepare(dir)
	if err != nil {
		return nil, err
	}
	log := filepath.Join(dir, folder)
	fresh := log + wal.RestoringSuffix
	defer func() {
		if err == nil {
			return
		}
		err = errors.Join(err, os.RemoveAll(fresh))
		if made {
			_ = os.Remove(dir) // unless something is in it
		}
	}()
	if err := unpack(from, fresh); err != nil {
		return nil, err
	}
	if found, err = prove(fresh); err != nil {
		return nil, err
	}
	if err := syncDir(fresh); err != nil {
		return nil, err
	}
	if err := os.Rename(fresh, log); err != nil {
		return nil, err
	}
	return found, errors.Join(syncDir(dir), syncDir(filepath.Dir(dir)))
}

// prepare makes dir, or proves that it is empty, but for what an interrupted
// restore has left.
func prepare(dir string) (made bool, err error) {
	err = os.Mkdir(dir, 0o700)
	if !errors.Is(err, fs.ErrExist) {
		return err == nil, err
	}
	files, err := os.ReadDir(dir)
	if errors.Is(err, unix.ENOTDIR) {
		err = fmt.Errorf("%s: %w", dir, wal.ErrNotFolder)
	}
	if err != nil {
		return false, err
	}
	for _, f := range files {
		switch f.Name() {
		case folder + wal.RestoringSuffix:
			if err := os.RemoveAll(filepath.Join(dir, f.Name())); err != nil {
				return false, err
			}
		case "lost+found": // a file system's own
		default:
			return false, fmt.Errorf("%s: %w: there is %s", dir, ErrNotEmpty, f.Name())
		}
	}
	return false, nil
}

// unpack writes the files of a backup into the folder of a log, and compares
// their checksums.
func unpack(from io.Reader, log string) error {
	if err := os.Mkdir(log, 0o700); err != nil {
		return err
	}
	archive := tar.NewReader(from)
	var sums bytes.Buffer
	for {
		h, err := archive.Next()
		if err == io.EOF {
			return fmt.Errorf("%w: it ends without %s", ErrNotBackup, sumsName)
		}
		if err != nil {
			return fmt.Errorf("%w: %w", ErrNotBackup, err)
		}
		if h.Typeflag != tar.TypeReg {
			return fmt.Errorf("%w: %q is not a file", ErrNotBackup, h.Name)
		}
		if h.Name == sumsName {
			return compare(archive, sums.Bytes())
		}
		name, ok := inLog(h.Name)
		if !ok {
			return fmt.Errorf("%w: %q is not a file of a log", ErrNotBackup, h.Name)
		}
		sum, err := write(filepath.Join(log, name), archive, h.Size)
		if err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%x  %s\n", sum, h.Name)
	}
}

// inLog is the name below the log's folder of a file in a backup.
func inLog(name string) (string, bool) {
	dir, file := path.Split(name)
	if dir == folder+"/" && file == wal.LockName {
		return file, true
	}
	if len(name) <= len(folder)+1 || name[:len(folder)+1] != folder+"/" {
		return "", false
	}
	local := filepath.FromSlash(name[len(folder)+1:])
	_, ok := wal.ParseFileName(local)
	return local, ok
}

// compare reads SHA256SUMS and names the first file for which it has another
// checksum.
func compare(r io.Reader, sums []byte) error {
	stored, err := io.ReadAll(io.LimitReader(r, maxSums))
	if err != nil {
		return fmt.Errorf("%w: %s: %w", ErrNotBackup, sumsName, err)
	}
	if bytes.Equal(stored, sums) {
		return nil
	}
	theirs, ours := bytes.Split(stored, []byte("\n")), bytes.Split(sums, []byte("\n"))
	for i := range min(len(theirs), len(ours)) {
		if _, name, ok := bytes.Cut(ours[i], []byte("  ")); ok && !bytes.Equal(theirs[i], ours[i]) {
			return fmt.Errorf("%w: %s is not what %s says", ErrNotBackup, name, sumsName)
		}
	}
	return fmt.Errorf("%w: %s has %d lines, for %d files", ErrNotBackup, sumsName, len(theirs)-1, len(ours)-1)
}

// write makes a durable file of size bytes, and gives its checksum.
func write(name string, r io.Reader, size int64) (sum []byte, err error) {
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("%w: %s is in it twice", ErrNotBackup, filepath.Base(filepath.Dir(name)))
	}
	if err != nil {
		return nil, err
	}
	hash := sha256.New()
	n, err := io.Copy(io.MultiWriter(file, hash), r)
	if err == io.ErrUnexpectedEOF || err == nil && n != size {
		err = fmt.Errorf("%w: it ends within %s", ErrNotBackup, filepath.Base(filepath.Dir(name)))
	}
	return hash.Sum(nil), errors.Join(err, file.Sync(), file.Close(), syncDir(filepath.Dir(name)))
}

// prove proves a log as dsend verify does.
func prove(log string) (found *durable.Examination, err error) {
	survey, err := wal.OpenSurvey(log)
	if errors.Is(err, wal.ErrNoLog) {
		err = fmt.Errorf("%w: there is no log in it", ErrNotBackup)
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, survey.Close()) }()
	if survey.Damaged() {
		return nil, fmt.Errorf("%w: %s", ErrNotBackup, survey.Places[0])
	}
	if survey.Torn != nil {
		return nil, fmt.Errorf("%w: its end is torn: %s", ErrNotBackup, survey.Torn)
	}
	found, err = durable.Examine(survey, queue.Config{Defaults: queue.Defaults()})
	if err == nil && found.Mending != nil {
		err = fmt.Errorf("%w: commits 1 to %d are missing", ErrNotBackup, found.Front)
	}
	return found, err
}

// syncDir makes the names in a folder durable.
func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}
