package durable

import "log/slog"

// ballast is the janitor's: a Ballast, or none, and whether it obeys.
type ballast struct {
	Ballast
	logger *slog.Logger
	broken bool // it did not obey last time
}

// held is how many bytes it holds.
func (b *ballast) held() uint64 {
	if b.Ballast == nil || !b.Held() {
		return 0
	}
	return uint64(b.Size())
}

// trim gives the ballast back when there is less room than it has, and takes it
// again when the disk is not low any more. The disk is then as low as before:
// the ballast counts as free.
func (b *ballast) trim(free uint64, low bool) {
	switch {
	case b.Ballast == nil || b.Size() == 0:
	case b.Held():
		if free < uint64(b.Size()) && b.obeys(b.Give()) {
			b.logger.Warn("the disk is full: the ballast is given back", "free_bytes", free, "ballast_bytes", b.Size())
		}
	case !low && b.obeys(b.Take()):
		b.logger.Debug("the ballast is taken", "ballast_bytes", b.Size())
	}
}

// obeys says once that the ballast does not obey. It is tried again.
func (b *ballast) obeys(err error) bool {
	if err != nil && !b.broken {
		b.logger.Warn("the ballast does not obey; the server goes on without it", "error", err)
	}
	b.broken = err != nil
	return err == nil
}
