//go:build linux

package power

import (
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"dsend/durable/queue"
)

// step is one step of the story: what it does is one commit, or nothing that can be seen. The error is that the store has
// ended.
type step func(*store) error

// bodySize is how long the body of a message is, so that a generation has two or three of them.
const bodySize = 250

// bodyOf is the body of the message of a name.
func bodyOf(name string) []byte {
	h := fnv.New64()
	_, _ = h.Write([]byte(name))
	noise := rand.New(rand.NewPCG(h.Sum64(), 0))
	body := []byte(name + "|")
	for len(body) < bodySize {
		body = append(body, byte(noise.Uint32()))
	}
	return body
}

// nameOf is what a body begins with.
func nameOf(body []byte) string {
	name, _, _ := strings.Cut(string(body[:min(len(body), 100)]), "|")
	return name
}

func publish(to, name string) step {
	return func(s *store) error {
		_, err := s.do(&queue.Publish{Queue: to, Subject: []byte(to), Body: bodyOf(name), ID: name, MaxAttempts: -1, Reply: asked})
		return err
	}
}

func declare(name string) step {
	return ask(func() queue.Op {
		settings := queue.Defaults()
		settings.MaxAttempts, settings.Backoff.Initial, settings.DedupeWindow = 2, 0, 0
		return &queue.Declare{Name: name, Settings: settings, Source: queue.FromAPI, MustCreate: true}
	})
}

func purge(p queue.Purge) step { return ask(func() queue.Op { p := p; return &p }) }
func remove(name string) step  { return ask(func() queue.Op { return &queue.Remove{Name: name} }) }

func pull(name string) step       { return func(s *store) error { return s.pull(name) } }
func answer(verb queue.Verb) step { return func(s *store) error { return s.answer(verb) } }

// ask does an op; op makes a new one for each store.
func ask(op func() queue.Op) step { return func(s *store) error { _, err := s.do(op()); return err } }

func each(steps ...[]step) (all []step) {
	for _, some := range steps {
		all = append(all, some...)
	}
	return all
}

// chapter is the story of some messages, told with an own name, from the first publish until all is worked off.
func chapter(name string) (steps []step) {
	tell := func(more ...step) { steps = append(steps, more...) }
	a := func(n int) string { return fmt.Sprintf("%s%d", name, n) }
	for n := range 6 {
		tell(publish("orders", a(n)))
	}
	tell(pull("orders"), answer(queue.Ack), pull("orders"), answer(queue.InProgress), answer(queue.Ack))
	tell(publish("jobs", a(10)), pull("jobs"), answer(queue.Nak), pull("jobs"), answer(queue.Nak))      // dies
	tell(publish("jobs", a(11)), pull("jobs"), answer(queue.Term), pull("jobs-dlq"), answer(queue.Ack)) // the first one
	tell(replayOldest("jobs-dlq"), pull("jobs"), answer(queue.Nak), pull("jobs"), answer(queue.Ack))
	tell(killOldest("orders"), killOldest("orders"), deleteOldest("orders"))
	tell(purge(queue.Purge{Name: "orders-dlq", Keep: 1}), purge(queue.Purge{Name: "orders-dlq"}))
	tell(publish("jobs", a(12)), pull("jobs"), remove("jobs"), declare("jobs"), publish("jobs", a(13)))
	tell(publish("jobs", a(14)), purge(queue.Purge{Name: "jobs", Upto: 1}), pull("jobs"), answer(queue.Ack))
	return append(steps, pull("orders"), answer(queue.Ack), (*store).quiet)
}

// the story: two chapters, so that the second one has a past, and something that is left.
var story = each(
	[]step{declare("orders"), declare("jobs")}, chapter("a"), chapter("b"),
	[]step{publish("orders", "c1"), publish("jobs", "c2"), pull("jobs")},
)

// oldest does something with the first message of a queue.
func oldest(name string, op func(seq uint64) queue.Op) step {
	return func(s *store) error {
		info, err := s.Info(background, name)
		if err != nil {
			return err
		}
		_, err = s.do(op(info.FirstSeq))
		return err
	}
}

func killOldest(name string) step {
	return oldest(name, func(seq uint64) queue.Op { return &queue.Kill{Name: name, Seq: seq, Error: "no use"} })
}
func deleteOldest(name string) step {
	return oldest(name, func(seq uint64) queue.Op { return &queue.Delete{Name: name, Seq: seq} })
}
func replayOldest(name string) step {
	return oldest(name, func(seq uint64) queue.Op { return &queue.Replay{Name: name, Seq: seq} })
}

// tell opens the store on a disk, does steps one after the other, and closes it. It gives how many were confirmed, and why
// it ended early. after is called after each, and may be nil.
func tell(dir string, steps []step, after func()) (done int, err error) {
	watched("a story", func() {
		var s *store
		if s, err = openStore(dir); err != nil {
			return
		}
		for _, do := range steps {
			if err = do(s); err != nil {
				break
			}
			if done++; after != nil {
				after()
			}
		}
		err = errors.Join(err, s.Close())
	})
	return done, err
}

// views are what the store holds before the first step, and after each.
var views = sync.OnceValues(func() (all []view, err error) {
	s, err := openStore(filepath.Join(workshop, "reference"))
	if err != nil {
		return nil, err
	}
	look := func() bool {
		var v view
		v, err = s.view()
		all = append(all, v)
		return err == nil
	}
	for i := 0; look() && i < len(story); i++ {
		if err := story[i](s); err != nil {
			return nil, fmt.Errorf("step %d of the story: %w", i+1, err)
		}
	}
	return all, errors.Join(err, s.Close())
})

// told is the views of the story.
func told(t testing.TB) []view {
	t.Helper()
	all, err := views()
	if err != nil {
		t.Fatal(err)
	}
	return all
}
