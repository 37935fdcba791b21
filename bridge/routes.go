package bridge

import (
	"bytes"
	"slices"
	"strings"
	"sync"

	"github.com/nats-io/nats-server/v2/server/gsl"

	"dsend/durable/queue"
)

// apiPrefix is what the subjects of the JetStream API begin with, barePrefix
// where clients ask that set no domain; nextPrefix follows in requests for
// messages.
const (
	apiPrefix  = "$JS." + Domain + ".API."
	barePrefix = "$JS.API."
	nextPrefix = "CONSUMER.MSG.NEXT."
)

// ackPrefix is what the reply subject of every delivery begins with.
const ackPrefix = "$JS.ACK." + Domain + "."

var ackBytes = []byte(ackPrefix)

// target is what a message is for.
type target uint8

const (
	toNobody target = iota
	toPublish
	toPull
	toNext
	toAnswer
	toAPI
)

// routes says what a subject means.
type routes struct {
	publish, pull string // prefixes

	recent string // the last subject that was found by its prefix, whole
	to     target // and what it was for
	name   string

	mu       sync.RWMutex
	captured *gsl.GenericSublist[string] // subject to queue
	subjects map[string][]string         // queue to its subjects
	orphans  map[string]bool             // queues taken out of the configuration
}

func newRoutes(prefix string) *routes {
	return &routes{
		publish: prefix + ".publish.", pull: prefix + ".pull.",
		captured: gsl.NewSublist[string](), subjects: map[string][]string{}, orphans: map[string]bool{},
	}
}

// find tells what a message on a subject is for, and for which queue: empty if
// no queue captures the subject any more. Of the JetStream API it gives the rest
// of the subject instead. It is called by one goroutine.
func (r *routes) find(subject []byte) (target, string) {
	if bytes.HasPrefix(subject, ackBytes) {
		return toAnswer, "" // most of what comes: it needs no string
	}
	if string(subject) == r.recent {
		return r.to, r.name
	}
	s := string(subject)
	to, name := r.prefixed(s)
	if to == toNobody {
		return toPublish, r.capturedBy(s)
	}
	r.recent, r.to, r.name = s, to, name
	return to, name
}

// asked tells what of the JetStream API is asked for. A request for messages
// names a consumer: one that does not is answered by the API, which refuses it.
func asked(s string) (target, string) {
	if names, next := strings.CutPrefix(s, nextPrefix); next && strings.Contains(names, ".") {
		return toNext, names
	}
	return toAPI, s
}

// prefixed finds a subject of Dsend's own.
func (r *routes) prefixed(s string) (target, string) {
	switch {
	case strings.HasPrefix(s, r.publish):
		return toPublish, s[len(r.publish):]
	case strings.HasPrefix(s, r.pull):
		return toPull, s[len(r.pull):]
	case strings.HasPrefix(s, apiPrefix):
		return asked(s[len(apiPrefix):])
	case strings.HasPrefix(s, barePrefix):
		return asked(s[len(barePrefix):])
	}
	return toNobody, ""
}

func (r *routes) capturedBy(subject string) (name string) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	r.captured.Match(subject, func(queue string) {
		if name == "" || r.orphans[name] { // another queue may have its subject now
			name = queue
		}
	})
	return name
}

// set notes the subjects of a queue, none if it was removed, and tells which
// are new and which are no longer captured.
func (r *routes) set(info queue.Info) (added, removed []string) {
	want := info.Settings.Subjects
	if info.ID == 0 {
		want = nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.orphans, info.Name)
	if info.Orphan {
		r.orphans[info.Name] = true
	}
	have := r.subjects[info.Name]
	for _, s := range have {
		if !slices.Contains(want, s) && r.captured.Remove(s, info.Name) == nil {
			removed = append(removed, s)
		}
	}
	for _, s := range want {
		if !slices.Contains(have, s) && r.captured.Insert(s, info.Name) == nil {
			added = append(added, s)
		}
	}
	if len(want) == 0 {
		delete(r.subjects, info.Name)
	} else {
		r.subjects[info.Name] = slices.Clone(want)
	}
	return added, removed
}
