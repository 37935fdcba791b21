package durable

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dsend/durable/queue"
)

// A write that failed ends the store: nothing of it is said, and everybody who
// waits or comes later is told why.
func TestAFailedWriteEndsTheStore(t *testing.T) {
	for _, call := range []string{"Append", "Sync"} {
		t.Run(call, func(t *testing.T) {
			play(t, func(t *testing.T) {
				log := newMemLog()
				s, r := open(t, log)
				do(t, s, publish("the first"))
				log.hold()
				submit(t, s, publish("the second"))
				synctest.Wait()

				log.failNext(call, 1) // the one that is under way goes well
				submit(t, s, publish("the third"), pull(9), &queue.Declare{Name: "new", Settings: queue.Defaults()})
				waiters := make(chan error, 3)
				go func() { _, err := s.Do(background, publish("the fourth")); waiters <- err }()
				go func() { waiters <- s.View(background, func(*queue.State) { t.Error("viewed after the failure") }) }()
				go func() { _, _, err := s.Message(background, "q", 1); waiters <- err }()
				synctest.Wait()
				log.release()
				<-s.Done()

				if log.faults() != 1 {
					t.Fatalf("%d faults happened", log.faults())
				}
				for range cap(waiters) {
					failedBecause(t, <-waiters)
				}
				if a := r.answers(); len(a) != 1 || string(a[0].Op.(*queue.Publish).Body) != "the second" {
					t.Errorf("these were answered: %v", a)
				}
				if len(r.spoken) != 0 || len(r.changed) != 1 { // q
					t.Errorf("something of the failed commit was said")
				}
				refuses(t, s)
			})
		})
	}
}

// failedBecause tells whether an error says that the store stopped, and why.
func failedBecause(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, ErrStopped) || !errors.Is(err, errDisk) {
		t.Errorf("the error is %v", err)
	}
}

// refuses proves that a failed store says so to everybody, for ever.
func refuses(t *testing.T, s *Store) {
	t.Helper()
	ctx := context.Background()
	for range 2 {
		failedBecause(t, s.Submit([]queue.Op{publish("late")}, 4))
		failedBecause(t, s.Submit([]queue.Op{pull(1)}, 0))
		failedBecause(t, s.View(ctx, func(*queue.State) { t.Error("viewed after the end") }))
		_, err := s.Do(ctx, publish("late"))
		failedBecause(t, err)
		_, _, err = s.Message(ctx, "q", 1)
		failedBecause(t, err)
		soon(t, "Close", func() { err = s.Close() })
		if err != s.Err() || !errors.Is(err, errDisk) || errors.Is(err, ErrStopped) {
			t.Errorf("Close: %v; Err: %v", err, s.Err())
		}
		if n := strings.Count(err.Error(), errDisk.Error()); n != 1 || strings.Contains(err.Error(), "\n") {
			t.Errorf("not one clear line: %q", err)
		}
	}
}

// While the store lives, Err has nothing to say.
func TestErr(t *testing.T) {
	play(t, func(t *testing.T) {
		s, _ := open(t, newMemLog())
		if err := s.Err(); err != nil {
			t.Errorf("before the end: %v", err)
		}
		must(t, s.Close())
		if err := s.Err(); err != nil {
			t.Errorf("after Close: %v", err)
		}
	})
}

// What is found when the log is closed is said.
func TestALogThatDoesNotClose(t *testing.T) {
	play(t, func(t *testing.T) {
		log := newMemLog()
		s, _ := open(t, log)
		log.failNext("Close", 1)
		if err := s.Close(); !errors.Is(err, errDisk) || err != s.Err() {
			t.Errorf("Close: %v; Err: %v", err, s.Err())
		}
	})
}

// A failure outside the loop does not wait behind what has come in, and is not
// lost when the store is closing.
func TestAFailureOfTheJanitor(t *testing.T) {
	for _, call := range []string{"Scan", "Drop"} {
		t.Run(call, func(t *testing.T) {
			play(t, func(t *testing.T) {
				log := newMemLog()
				s, _ := open(t, log, small(log))
				log.failNext(call, 1)
				litter(t, s)
				<-s.Done()
				refuses(t, s)
				if err := s.Err(); !strings.Contains(err.Error(), "compact the log, commits 1 to ") {
					t.Errorf("no context: %v", err)
				}
			})
		})
	}
}

// What the disk says of a failed log when it is closed goes to the logger; that the log has failed, which everybody knows,
// does not.
func TestTheLoggerIsToldOfAFailedClose(t *testing.T) {
	for _, closing := range []error{nil, errors.New("the lock is lost")} {
		play(t, func(t *testing.T) {
			var said bytes.Buffer
			log := newMemLog()
			s, _ := open(t, &closingLog{log, closing}, func(c *Config) { c.Logger = slog.New(slog.NewTextHandler(&said, nil)) })
			log.failNext("Sync", 1)
			submit(t, s, publish("body"))
			<-s.Done()
			time.Sleep(time.Second)
			want := 0
			if closing != nil {
				want = 1
			}
			if n := strings.Count(said.String(), "\n"); n != want || strings.Count(said.String(), "did not close well") != want {
				t.Errorf("closing it fails with %v; the logger was told %q", closing, said.String())
			}
		})
	}
}

// closingLog fails in its own way when it is closed.
type closingLog struct {
	*memLog
	err error
}

func (l *closingLog) Close() error {
	if err := l.memLog.Close(); l.err == nil {
		return err
	}
	return l.err
}
