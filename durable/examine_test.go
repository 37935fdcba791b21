package durable

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dsend/durable/queue"
	"dsend/durable/wal"
	"dsend/testkit"
)

// busyLog is a log on disk of several generations, of a store that has seen
// publishes, deliveries, acks, failures, deaths, and compaction. Its bodies tell
// their number.
func busyLog(t *testing.T, edit ...func(*Config)) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "log")
	log, err := wal.Open(dir, wal.Options{GenerationSize: 8 << 10})
	must(t, err)
	s, r := open(t, log, append([]func(*Config){func(c *Config) { c.Slack = 16 << 10 }}, edit...)...)
	for i := range 200 {
		q := fmt.Sprint("q", i%3)
		p := publish(fmt.Sprintf("%s %d %s", q, i, strings.Repeat("x", i)))
		p.Queue = q
		do(t, s, p)
		if i%2 == 0 {
			continue
		}
		ask := pull(2)
		ask.Queue, ask.NoWait = q, true
		do(t, s, ask)
		for k, d := range r.deliveries() {
			do(t, s, answer(d, []queue.Verb{queue.Ack, queue.Ack, queue.Nak, queue.Term}[(i+k)%4], true))
		}
		r.forget()
	}
	must(t, s.Close())
	return dir
}

// kept is what a closed log holds: the body of each message of each queue. It
// fails the test if a store would not open it.
func kept(t *testing.T, dir string) map[string]string {
	t.Helper()
	log, err := wal.Open(dir, wal.Options{})
	must(t, err)
	s, _ := open(t, log)
	all := map[string]string{}
	infos, err := s.Infos(t.Context())
	must(t, err)
	for _, i := range infos {
		for _, e := range list(t, s, i.Name) {
			_, m, err := s.Message(t.Context(), i.Name, e.Seq)
			must(t, err)
			all[fmt.Sprint(i.Name, " ", e.Seq)] = string(m.Body)
		}
	}
	sound(t, s)
	must(t, s.Close())
	return all
}

// examined is what a survey and an examination of a log find.
func examined(t *testing.T, dir string) (*wal.Survey, *Examination) {
	t.Helper()
	survey, err := wal.OpenSurvey(dir)
	must(t, err)
	t.Cleanup(func() { _ = survey.Close() })
	e, err := Examine(survey, config(nil).Queue)
	must(t, err)
	return survey, e
}

// TestExamine: a log without damage is proven, and told as the store told it.
func TestExamine(t *testing.T) {
	dir := busyLog(t)
	survey, e := examined(t, dir)
	if survey.Damaged() || e.Mending != nil || e.Losses.Commits != 0 || e.Front != 0 {
		t.Fatalf("%v %+v", survey.Places, e.Losses)
	}
	must(t, survey.Close())
	if all := kept(t, dir); int64(len(all)) != e.Messages || len(all) == 0 {
		t.Fatalf("%d messages examined, the store has %d", e.Messages, len(all))
	}
}

// TestExamineDamage flips bits of a log in many places. Each is found by file
// and byte. What is told to be lost is all that is missing; and a store opens
// what was repaired, and reads every body as it was.
func TestExamineDamage(t *testing.T) {
	positions, repairEvery := 150, 15
	if testkit.Storm() {
		positions, repairEvery = 10_000, 100
	}
	r := testkit.Dice(t)
	dir := busyLog(t)
	whole := kept(t, dir)
	files, err := filepath.Glob(filepath.Join(dir, "*.gen", "*"))
	must(t, err)
	if len(files) < 3 {
		t.Fatalf("only %d generations", len(files))
	}
	missing, repaired := 0, 0
	for n := range positions {
		file := files[r.IntN(len(files))]
		good, err := os.ReadFile(file)
		must(t, err)
		hurt := bytes.Clone(good)
		at := r.IntN(len(hurt))
		hurt[at] ^= 1 << r.IntN(8)
		must(t, os.WriteFile(file, hurt, 0o600))
		survey, e := examined(t, dir)
		if len(survey.Places) == 0 || survey.Places[0].File != file || survey.Places[0].Offset > int64(at) || len(survey.Lost) != 1 || e.Mending == nil || e.Front != 0 {
			t.Fatalf("byte %d of %s: found %v, lost %v and up to %d", at, file, survey.Places, survey.Lost, e.Front)
		}
		if n%repairEvery == 0 {
			work := filepath.Join(t.TempDir(), "log")
			must(t, os.CopyFS(work, os.DirFS(dir)))
			missing += repairAndCompare(t, work, whole)
			repaired++
		}
		must(t, survey.Close())
		must(t, os.WriteFile(file, good, 0o600))
	}
	t.Logf("%d bits flipped and found, %d logs repaired, %d messages lost", positions, repaired, missing)
}

// repairAndCompare repairs a log and counts the messages that are not in it any
// more, all of which it must have told.
func repairAndCompare(t *testing.T, dir string, whole map[string]string) (missing int) {
	t.Helper()
	survey, e := examined(t, dir)
	_, err := survey.Repair(e.Mending)
	must(t, err)
	must(t, survey.Close())
	again, proof := examined(t, dir)
	if again.Damaged() || proof.Mending != nil {
		t.Fatalf("the repaired log is not good: %v", again.Places)
	}
	must(t, again.Close())
	is := kept(t, dir)
	for name, body := range whole {
		if got, ok := is[name]; ok && got != body {
			t.Fatalf("message %s is %.30q, was %.30q", name, got, body)
		} else if !ok {
			missing++
			if !isTold(e.Losses, name) {
				t.Fatalf("message %s is gone, and told is %+v", name, e.Losses)
			}
		}
	}
	return missing
}

// isTold says whether the losses name a message.
func isTold(l queue.Losses, name string) bool {
	var of string
	var seq uint64
	if _, err := fmt.Sscan(name, &of, &seq); err != nil {
		panic(err)
	}
	return slices.ContainsFunc(l.Queues, func(q queue.QueueLosses) bool {
		within := func(r queue.Range) bool { return r.First <= seq && seq <= r.Last }
		return q.Queue == of && (q.From > 0 && seq >= q.From || slices.ContainsFunc(q.Lost, within) || slices.ContainsFunc(q.Unsure, within))
	})
}

// TestExamineFront: the oldest generations are gone, and with them the mark that
// would tell. The store would not open; what is there is kept.
func TestExamineFront(t *testing.T) {
	dir := busyLog(t, func(c *Config) { c.Slack = 0 }) // the default: nothing is compacted
	gens, err := filepath.Glob(filepath.Join(dir, "*.gen"))
	must(t, err)
	must(t, errors.Join(os.RemoveAll(gens[0]), os.Remove(filepath.Join(dir, "lock"))))
	log, err := wal.Open(dir, wal.Options{})
	must(t, err)
	if _, err := Open(log, config(&recorder{})); err == nil {
		t.Fatal("the store opens a log that has lost its front")
	}
	must(t, os.Remove(filepath.Join(dir, "lock")))
	survey, e := examined(t, dir)
	if survey.Damaged() || e.Front != survey.First-1 || e.Mending == nil {
		t.Fatalf("front %d, first %d", e.Front, survey.First)
	}
	_, err = survey.Repair(e.Mending)
	must(t, err)
	must(t, survey.Close())
	kept(t, dir)
}

// TestExamineNothing: all generations are gone. Numbering goes on behind what
// was given out.
func TestExamineNothing(t *testing.T) {
	dir := busyLog(t)
	gens, err := filepath.Glob(filepath.Join(dir, "*.gen"))
	must(t, err)
	for _, g := range gens {
		must(t, os.RemoveAll(g))
	}
	survey, e := examined(t, dir)
	if e.Commits != 0 || e.Mending == nil {
		t.Fatalf("%+v", e)
	}
	_, err = survey.Repair(e.Mending)
	must(t, err)
	must(t, survey.Close())
	if all := kept(t, dir); len(all) != 0 {
		t.Fatalf("%d messages out of nothing", len(all))
	}
}

// TestExamineNotUnderstood: what has right checksums and is no record of ours is
// refused, and not taken for damage.
func TestExamineNotUnderstood(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "log")
	log, err := wal.Open(dir, wal.Options{})
	must(t, err)
	must(t, log.Recover(func(uint64, []byte) error { return nil }))
	must(t, errors.Join(log.Append([]byte{99, 0, 0, 0, 0}), log.Close()))
	survey, err := wal.OpenSurvey(dir)
	must(t, err)
	defer survey.Close()
	if _, err := Examine(survey, config(nil).Queue); err == nil || !strings.Contains(err.Error(), "commit 1") || errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
}
