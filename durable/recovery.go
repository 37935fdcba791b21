package durable

import (
	"log/slog"
	"time"
)

const (
	// recoveryStep is after how many bytes of the log somebody is told.
	recoveryStep = 1 << 20
	// recoveryLog is how often a line says how far recovery is.
	recoveryLog = 3 * time.Second
)

// recovery is how far recovery is.
type recovery struct {
	tell        func(done, total int64) error
	log         *slog.Logger
	done, total int64
	told        int64 // of done
	begun       time.Time
	logged      time.Time
}

func (s *Store) recovery() *recovery {
	r := &recovery{tell: s.cfg.Progress, log: s.cfg.Logger, begun: time.Now()}
	if r.logged = r.begun; r.tell == nil {
		r.tell = func(int64, int64) error { return nil }
	}
	for _, g := range s.log.Generations() {
		r.total += g.Bytes
	}
	return r
}

// add counts the bytes of a commit. The error is of who was told: no further.
func (r *recovery) add(bytes int) error {
	if r.done += int64(bytes); r.done < r.told+recoveryStep {
		return nil
	}
	r.told = r.done
	if now := time.Now(); now.Sub(r.logged) >= recoveryLog {
		r.logged = now
		r.log.Info("recovering the log", "percent", r.done*100/max(r.total, 1), "bytes", r.done, "of", r.total)
	}
	return r.tell(r.done, r.total)
}

// end says how long it took, if somebody has been told that it takes time.
func (r *recovery) end(last uint64) {
	if r.logged != r.begun {
		r.log.Info("recovered the log", "bytes", r.total, "commits", last, "took", time.Since(r.begun).Round(time.Millisecond))
	}
}
