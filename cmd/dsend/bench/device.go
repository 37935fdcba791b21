package bench

import (
	"errors"
	"fmt"
	"os"
	"time"
)

// deviceWrite is how many bytes are appended before each sync: about those of
// one small message in the log.
const deviceWrite = 512

// Device measures the sync of data that was appended to a file in dir, alone, one
// after the other, for a time.
func Device(dir string, d time.Duration) (Latency, error) {
	file, err := os.CreateTemp(dir, "device-")
	if err != nil {
		return Latency{}, fmt.Errorf("measure the device: %w", err)
	}
	took := newHistogram()
	err = appendAndSync(file, d, func(ns int64) { record(took, ns) })
	if err := errors.Join(err, file.Close(), os.Remove(file.Name())); err != nil {
		return Latency{}, fmt.Errorf("measure the device: %w", err)
	}
	return latencyOf(took), nil
}

func appendAndSync(file *os.File, d time.Duration, tell func(ns int64)) error {
	data := make([]byte, deviceWrite)
	for end := time.Now().Add(d); ; {
		begin := time.Now()
		if begin.After(end) {
			return nil
		}
		if _, err := file.Write(data); err != nil {
			return err
		}
		if err := syncData(file); err != nil {
			return err
		}
		tell(int64(time.Since(begin)))
	}
}
