//go:build linux

package power

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"time"
)

// place is where a message may be, as a set.
type place uint8

const (
	nowhere place = 1 << iota
	alive         // in its queue
	dead          // in the dead-letter queue
)

// item is one message and what is known of it. Between two ops it is in one place; while an op is not confirmed, in one of
// several.
type item struct {
	name    string
	id      bool // it was published with its name as message id
	sum     [sha256.Size]byte
	size    int
	first   time.Time // when it was published first
	may     place
	stored  bool   // it was confirmed once that it is there
	seq     uint64 // its number in its queue; 0 if not known
	attempt uint32 // at least; of this life
	replays uint32 // at least
}

// ledger is what one hand was promised of the messages of its queue. Nobody else touches that queue.
type ledger struct {
	queue  string
	items  map[string]*item
	found  verdict
	faults []string
}

func newLedger(queue string) *ledger { return &ledger{queue: queue, items: map[string]*item{}} }

// fault notes something that is wrong, and counts it.
func (l *ledger) fault(counter *int, format string, args ...any) {
	*counter++
	l.faults = append(l.faults, l.queue+": "+fmt.Sprintf(format, args...))
}

// where are the items that are in a place for certain.
func (l *ledger) where(p place) (some []*item) {
	for _, i := range l.items {
		if i.may == p {
			some = append(some, i)
		}
	}
	return some
}

// maybe notes that an op is on its way that may bring items to a place.
func maybe(items []*item, to place) {
	for _, i := range items {
		i.may |= to
	}
}

// certain notes that items are there.
func certain(items []*item, at place) {
	for _, i := range items {
		i.may = at
	}
}

// stored is a message as the API shows it.
type stored struct {
	Queue   string `json:"queue"`
	Seq     uint64 `json:"seq"`
	Attempt uint32 `json:"attempt"`
	Replays uint32 `json:"replays"`
	Data    []byte `json:"data"`
	More    bool   `json:"more"`
	Letter  *struct {
		Reason    string `json:"reason"`
		OriginSeq uint64 `json:"origin_seq"`
		Replays   uint32 `json:"replays"`
	} `json:"letter"`
}

// audit compares what the queue of the ledger and its dead-letter queue hold with what was promised. What is found is
// durable, and so it is certain from then on.
func (l *ledger) audit(messages []stored) {
	seen := map[string]stored{}
	for _, m := range messages {
		name := nameOf(m.Data)
		if other, twice := seen[name]; twice {
			l.fault(&l.found.invented, "%s is in two places: %s/%d and %s/%d", name, other.Queue, other.Seq, m.Queue, m.Seq)
		}
		seen[name] = m
		l.see(m)
	}
	for name, i := range l.items {
		if _, there := seen[name]; there {
			continue
		}
		if i.may&nowhere == 0 {
			l.fault(&l.found.lost, "%s (%d) is lost", name, i.seq)
		}
		i.may = nowhere
	}
}

// see compares one message.
func (l *ledger) see(m stored) {
	i, at := l.items[nameOf(m.Data)], alive
	if m.Letter != nil {
		at = dead
	}
	where := fmt.Sprintf("%s/%d", m.Queue, m.Seq)
	switch {
	case i == nil:
		l.fault(&l.found.invented, "%s was never published: %.40q", where, m.Data)
		return
	case i.may&at == 0 && !i.stored:
		l.fault(&l.found.invented, "%s (%s) was refused, or not there after an earlier cut", where, i.name)
	case i.may&at == 0:
		l.fault(&l.found.undone, "%s (%s) is back: it should be at %b", where, i.name, i.may)
	case !m.More && sha256.Sum256(m.Data) != i.sum:
		l.fault(&l.found.damaged, "%s (%s) has another body", where, i.name)
	case at == alive && m.Replays == i.replays && m.Attempt < i.attempt:
		l.fault(&l.found.undone, "%s (%s) is at attempt %d, after %d was confirmed", where, i.name, m.Attempt, i.attempt)
	case m.Replays < i.replays && at == alive || at == dead && m.Letter.Replays < i.replays:
		l.fault(&l.found.undone, "%s (%s) was replayed less often than was confirmed", where, i.name)
	case at == alive && m.Replays == 0 && i.seq != 0 && i.seq != m.Seq:
		l.fault(&l.found.invented, "%s (%s) had number %d", where, i.name, i.seq)
	}
	i.may, i.stored = at, true
	if at == alive {
		i.seq, i.attempt, i.replays = m.Seq, max(i.attempt, m.Attempt), m.Replays
	} else {
		i.replays = m.Letter.Replays
	}
}

// forget drops what is gone and will not be published again.
func (l *ledger) forget() {
	for name, i := range l.items {
		if i.may == nowhere && i.stored && time.Since(i.first) > dedupe {
			delete(l.items, name)
		}
	}
}

// dedupe is for how long a message is published again under its id: less than the window of 2 minutes.
const dedupe = 90 * time.Second

// report is what was found wrong, the first 20 of it.
func (l *ledger) report() string { return strings.Join(l.faults[:min(len(l.faults), 20)], "\n") }
