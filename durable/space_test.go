package durable

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dsend/durable/queue"
)

// When the disk is nearly full publishes are refused, and everything else goes
// on, until there is a tenth more room than the reserve.
func TestSpace(t *testing.T) {
	play(t, func(t *testing.T) {
		var told bytes.Buffer
		log := newMemLog()
		s, r := open(t, log, func(c *Config) {
			c.Reserve = 1000
			c.Logger = slog.New(slog.NewTextHandler(&told, nil))
		})
		refused := func() bool {
			t.Helper()
			r, err := s.Do(t.Context(), publish("body"))
			must(t, err)
			if r.Err != nil && r.Err.Code != queue.NoSpace {
				t.Fatal(r.Err)
			}
			return r.Err != nil
		}
		steps := []struct {
			free    uint64
			err     error
			refused bool
		}{
			{5000, nil, false}, {1000, nil, false}, {999, nil, true}, {1099, nil, true},
			{5000, errDisk, true}, {5000, errDisk, true}, {1100, nil, false}, {1050, nil, false}, {0, nil, true},
		}
		for _, step := range steps {
			log.setFree(step.free, step.err)
			time.Sleep(spaceInterval)
			synctest.Wait()
			if refused() != step.refused {
				t.Errorf("with %d bytes free (%v) refused is not %t", step.free, step.err, step.refused)
			}
		}
		do(t, s, pull(1))
		do(t, s, answer(r.deliveries()[0], queue.Ack, false))
		do(t, s, &queue.Kill{Name: "q", Seq: 2})
		must(t, s.Close())
		if n := strings.Count(told.String(), "nearly full"); n != 2 {
			t.Errorf("the logger was told %d times that the disk is nearly full", n)
		}
		if n := strings.Count(told.String(), "cannot ask"); n != 1 {
			t.Errorf("the logger was told %d times that the disk cannot be asked", n)
		}
	})
}

// Not even the first publish is taken on a full disk.
func TestSpaceAtStart(t *testing.T) {
	play(t, func(t *testing.T) {
		log := newMemLog()
		log.setFree(10, nil)
		s, _ := open(t, log, func(c *Config) { c.Reserve = 1000 })
		r, err := s.Do(t.Context(), publish("body"))
		must(t, err)
		if r.Err == nil || r.Err.Code != queue.NoSpace {
			t.Errorf("the reply is %+v", r)
		}
		log.setFree(0, errors.New("gone"))
	})
}
