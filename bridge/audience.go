package bridge

import (
	"maps"
	"strings"
	"sync"
	"time"

	"dsend/bridge/leaf"
	"dsend/durable/queue"
)

// audience knows who is there: the workers that are pushed to, and the client
// processes that pull. It tells the store when that changes.
type audience struct {
	bridge *Bridge

	mu      sync.Mutex
	table   leaf.Table
	pullers map[string]time.Time       // peers that pulled; when they were lost, or zero
	crowded int                        // number of pullers at which the lost are forgotten
	work    map[string]string          // queue to its work subject
	queues  map[string]map[string]bool // work subject to its queues
	groups  map[string]map[string]int  // queue to its groups and their members
	ids     map[string]uint32          // queue to its number
	scratch []leaf.Group
}

func (a *audience) init(b *Bridge) {
	a.bridge = b
	a.pullers, a.crowded = map[string]time.Time{}, minCrowd
	a.work, a.queues = map[string]string{}, map[string]map[string]bool{}
	a.groups, a.ids = map[string]map[string]int{}, map[string]uint32{}
}

const (
	minCrowd = 1024
	// lostFor is how long a peer that is gone is remembered: longer than
	// any grace that makes sense.
	lostFor = time.Minute
)

// returnGrace is how long workers have to come back after we were cut off from
// them (a restart, a connection that broke): clients try again every two
// seconds, as they are made.
const returnGrace = 10 * time.Second

// expect waits for the client processes that held messages before a restart.
// What those hold that do not come back has failed. It is called when the
// interest is known.
func (a *audience) expect(holders []string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var ops []queue.Op
	for _, peer := range holders {
		if _, known := a.pullers[peer]; known {
			continue // it has pulled again already
		}
		a.table.Watch(peer)
		a.pullers[peer] = time.Time{}
		if a.table.Peer(peer) == 0 {
			a.pullers[peer] = time.Now()
			ops = append(ops, &queue.Peer{Peer: peer, Grace: returnGrace})
		}
	}
	a.bridge.submit(ops)
}

// apply takes note of interest that came or went.
func (a *audience) apply(events []leaf.Interest) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var ops []queue.Op
	for _, e := range events {
		changed := a.table.Apply(e)
		if e.Queue != "" {
			ops = a.workersChanged(ops, e.Subject)
			continue
		}
		for _, name := range changed {
			ops = a.inboxChanged(ops, name, name)
		}
		if peer := leaf.PeerOf(e.Subject); peer != e.Subject {
			ops = a.inboxChanged(ops, peer, e.Subject)
		}
	}
	a.bridge.submit(ops)
}

// inboxChanged tells the store of a subscription of a client that pulled.
func (a *audience) inboxChanged(ops []queue.Op, peer, inbox string) []queue.Op {
	lost, known := a.pullers[peer]
	if !known {
		return ops
	}
	present := a.table.HasInbox(inbox)
	if strings.HasSuffix(inbox, "*") || strings.HasSuffix(inbox, ">") {
		present = a.table.Has(inbox) // the subscription itself
	}
	ops = append(ops, &queue.Interest{Peer: peer, Inbox: inbox, Present: present})
	here := a.table.Peer(peer) > 0
	if here != lost.IsZero() {
		ops = append(ops, &queue.Peer{Peer: peer, Present: here})
		a.pullers[peer] = time.Time{}
		if !here {
			a.pullers[peer] = time.Now()
		}
	}
	return ops
}

// pulled notes that a client pulls, and tells who it is; here is false if
// nobody listens on the inbox: the server tells of a subscription before the
// requests of its client.
func (a *audience) pulled(inbox string) (peer string, here bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.table.HasInbox(inbox) {
		return "", false
	}
	peer = leaf.PeerOf(inbox)
	if _, known := a.pullers[peer]; !known {
		a.forget()
		a.pullers[peer] = time.Time{}
		if peer == inbox { // no name of a process in it: the inbox stands for it
			a.table.Watch(peer)
		}
	}
	return peer, true
}

// forget drops peers that were lost long ago, when there are many.
func (a *audience) forget() {
	if len(a.pullers) < a.crowded {
		return
	}
	maps.DeleteFunc(a.pullers, func(peer string, lost time.Time) bool {
		gone := !lost.IsZero() && time.Since(lost) > lostFor
		if gone && leaf.PeerOf(peer) == peer {
			a.table.Unwatch(peer)
		}
		return gone
	})
	a.crowded = max(minCrowd, 2*len(a.pullers))
}

// vanish tells the store that nobody can be reached. Whether workers have gone
// shows when the interest is told anew.
func (a *audience) vanish() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.table.Reset()
	var ops []queue.Op
	for peer, lost := range a.pullers {
		if lost.IsZero() {
			ops = append(ops, &queue.Interest{Peer: peer, Inbox: ">", Grace: returnGrace})
		}
	}
	for name := range a.work {
		ops = a.recount(ops, name)
	}
	a.bridge.submit(ops)
}

// settle looks for the workers that were there before the connection broke. The
// interest is known; those that are not in it have a while to come back.
func (a *audience) settle() {
	a.mu.Lock()
	defer a.mu.Unlock()
	var ops []queue.Op
	now := time.Now()
	for peer, lost := range a.pullers {
		if lost.IsZero() && a.table.Peer(peer) == 0 {
			ops = append(ops, &queue.Peer{Peer: peer, Grace: returnGrace})
			a.pullers[peer] = now
		}
	}
	a.bridge.submit(ops)
}

// listens tells whether anybody hears a subject.
func (a *audience) listens(subject string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.table.Has(subject)
}

// queueChanged notes where the workers of a queue subscribe.
func (a *audience) queueChanged(info queue.Info) {
	a.mu.Lock()
	defer a.mu.Unlock()
	subject := info.Settings.Push.Subject
	if subject == "" {
		subject = a.bridge.prefix + ".work." + info.Name
	}
	if old, known := a.work[info.Name]; known && (old != subject || info.ID == 0) {
		delete(a.queues[old], info.Name)
		if len(a.queues[old]) == 0 {
			delete(a.queues, old)
		}
		delete(a.work, info.Name)
	}
	if info.ID == 0 {
		delete(a.groups, info.Name)
		delete(a.ids, info.Name)
		return
	}
	if a.ids[info.Name] != info.ID { // the store knows nothing of its workers yet
		delete(a.groups, info.Name)
		a.ids[info.Name] = info.ID
	}
	a.work[info.Name] = subject
	if a.queues[subject] == nil {
		a.queues[subject] = map[string]bool{}
	}
	a.queues[subject][info.Name] = true
	a.bridge.submit(a.recount(nil, info.Name))
}

// workersChanged tells the store of the queues whose work subject a
// subscription in a queue group is about.
func (a *audience) workersChanged(ops []queue.Op, pattern string) []queue.Op {
	if !strings.ContainsAny(pattern, "*>") {
		for name := range a.queues[pattern] {
			ops = a.recount(ops, name)
		}
		return ops
	}
	for subject, names := range a.queues {
		if !leaf.Matches(pattern, subject) {
			continue
		}
		for name := range names {
			ops = a.recount(ops, name)
		}
	}
	return ops
}

// recount compares the groups that work for a queue with those the store knows.
func (a *audience) recount(ops []queue.Op, name string) []queue.Op {
	a.scratch = a.table.Groups(a.work[name], a.scratch[:0])
	known := a.groups[name]
	now := make(map[string]int, len(a.scratch))
	for _, g := range a.scratch {
		now[g.Name] = g.Members
		if known[g.Name] != g.Members {
			ops = append(ops, &queue.Members{Queue: name, Group: g.Name, Count: g.Members})
		}
	}
	for group := range known {
		if now[group] == 0 {
			ops = append(ops, &queue.Members{Queue: name, Group: group})
		}
	}
	if len(now) == 0 {
		delete(a.groups, name)
	} else {
		a.groups[name] = now
	}
	return ops
}
