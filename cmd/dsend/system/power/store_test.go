//go:build linux

package power

import (
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"dsend/durable"
	"dsend/durable/queue"
	"dsend/durable/wal"
)

// store is a durable.Store in this process, and who listens to it.
type store struct {
	*durable.Store
	log *wal.Log

	mu   sync.Mutex
	last *queue.Speech // the last delivery
}

// logFolder is where a store keeps its log on a disk.
const logFolder = "data/log"

// openStore opens the store on a disk. It has generations of two or three messages, and compacts eagerly; bodies are read
// from the disk.
func openStore(dir string) (*store, error) {
	log, err := openLog(filepath.Join(dir, logFolder))
	if err != nil {
		return nil, err
	}
	defaults := queue.Defaults()
	defaults.VisibilityTimeout, defaults.MaxAttempts, defaults.Backoff.Initial = time.Hour, 2, 0
	s := &store{log: log}
	s.Store, err = durable.Open(log, durable.Config{
		Queue: queue.Config{Defaults: defaults, Grace: time.Hour}, Speaker: s, AckInterval: time.Millisecond, Slack: 1024,
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// openLog opens a log, as soon as nobody has it: a program that another test of this process starts has all our files, and
// the lock with them, until it is there itself.
func openLog(dir string) (log *wal.Log, err error) {
	for begin := time.Now(); ; runtime.Gosched() {
		log, err = wal.Open(dir, wal.Options{GenerationSize: 700})
		if !errors.Is(err, wal.ErrInUse) || time.Since(begin) > silence {
			return log, err
		}
	}
}

// Speak remembers the last delivery. With the other methods the store is a durable.Speaker.
func (s *store) Speak(all []durable.Spoken) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, sp := range all {
		if sp.Status == 0 {
			copied := *sp.Speech
			s.last = &copied
		}
	}
}
func (s *store) Replies([]queue.Reply)  {}
func (s *store) Events([]durable.Event) {}
func (s *store) Changed([]queue.Info)   {}

// do does an op that must not be refused. The error is that the store has ended.
func (s *store) do(op queue.Op) (queue.Reply, error) {
	r, err := s.Do(background, op)
	if err == nil && r.Err != nil {
		panic(fmt.Sprintf("%T is refused: %v", op, r.Err)) // the story is wrong
	}
	return r, err
}

// pull has one message delivered.
func (s *store) pull(name string) error {
	_, err := s.do(&queue.Pull{Queue: name, Inbox: "inbox", Batch: 1, NoWait: true})
	return err
}

// answer answers the last delivery.
func (s *store) answer(verb queue.Verb) error {
	s.mu.Lock()
	d := s.last
	s.mu.Unlock()
	if d == nil {
		return errors.New("nothing was delivered")
	}
	r, err := s.do(&queue.Answer{QueueID: d.QueueID, Seq: d.Seq, Delivery: d.Delivery, Verb: verb, Error: "no", Reply: asked})
	if err == nil && r.Result != queue.ResultOK {
		panic(fmt.Sprintf("an answer to %s/%d is %s", d.Queue, d.Seq, r.Result)) // the story is wrong
	}
	return err
}

// quietSize is how many bytes a log with next to nothing in it may have: the slack, and the settings of the queues twice.
const quietSize = 4 << 10

// quiet waits until compaction has dropped what is no longer needed.
func (s *store) quiet() error {
	for s.bytes() > quietSize {
		select {
		case <-s.Done():
			return s.Err()
		case <-time.After(time.Millisecond):
		}
	}
	return nil
}

func (s *store) bytes() (sum int64) {
	for _, g := range s.log.Generations() {
		sum += g.Bytes
	}
	return sum
}

// message is one message as a store holds it.
type message struct {
	name    string // what its body begins with
	queue   string
	seq     uint64
	attempt uint32
	reason  string // of a dead letter; else empty
	whole   bool   // its body is what was published
}

// view is what a store holds: by name and place. next is the number of the last message of each queue.
type view struct {
	messages map[message]bool
	last     map[string]uint64
}

// view looks at everything.
func (s *store) view() (view, error) {
	v := view{map[message]bool{}, map[string]uint64{}}
	infos, err := s.Infos(background)
	if err != nil {
		return v, err
	}
	for _, info := range infos {
		v.last[info.Name] = info.LastSeq
		entries, err := s.List(background, queue.List{Queue: info.Name, Limit: 1000})
		if err != nil {
			return v, err
		}
		for _, e := range entries {
			_, m, err := s.Message(background, e.Queue, e.Seq)
			if err != nil {
				return v, err
			}
			seen := message{name: nameOf(m.Body), queue: e.Queue, seq: e.Seq, attempt: e.Attempt}
			if e.Letter != nil {
				seen.reason = e.Letter.Reason.String()
			}
			seen.whole = string(m.Body) == string(bodyOf(seen.name))
			v.messages[seen] = true
		}
	}
	return v, nil
}

func (v view) clone() view { return view{maps.Clone(v.messages), maps.Clone(v.last)} }

// equal tells whether two views are the same.
func (v view) equal(o view) bool {
	return maps.Equal(v.messages, o.messages) && maps.Equal(v.last, o.last)
}

// places finds the messages of a view by their names.
func (v view) places() map[string][]message {
	places := map[string][]message{}
	for m := range v.messages {
		places[m.name] = append(places[m.name], m)
	}
	return places
}

// asked has an op answered that would not be.
var asked = []byte("asked")
