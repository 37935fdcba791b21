package leaf

import (
	"iter"
	"maps"
	"strings"
)

// Table keeps the interest of one server: who listens where. Feed it all events of Handler.Interest and Reset it at
// Handler.Disconnected. It has no lock: it belongs to one goroutine, best the reading one. All questions are answered
// in time proportional to the tokens of the subject (to the subscriptions that match it, for Groups), memory is
// proportional to the live subscriptions and watches. The zero Table is ready to use.
type Table struct {
	root    node
	peers   map[string]int // live inbox subscriptions of each client process
	watched map[string]int // how often each name is watched
	changed []string       // of the last Apply, reused
}

// node is one token of the subscribed and watched subjects; the wildcards are tokens too.
type node struct {
	next    map[string]*node
	plain   bool           // plain subscriptions end here
	groups  map[string]int // queue groups that subscribe here, with their members
	watched string         // the whole subject if it is watched
}

// Group is a queue group and its number of members, at least 1.
type Group struct {
	Name    string
	Members int
}

// Apply takes one event. It returns the watched names that the event concerns: a subject whose listeners changed in
// any way, a peer that came or went. Look again with HasInbox, Peer or Groups. The slice is valid until the next Apply.
func (t *Table) Apply(e Interest) (changed []string) {
	t.changed = t.changed[:0]
	var n *node
	if e.Members > 0 {
		n = t.insert(e.Subject)
	} else if n = t.find(e.Subject); n == nil {
		return nil
	}
	before := n.live()
	if !n.set(e.Queue, e.Members) {
		return nil
	}
	if n.live() != before {
		t.countPeer(e.Subject, n.live())
	}
	if len(t.watched) > 0 {
		t.root.collect(e.Subject, true, &t.changed)
	}
	if e.Members <= 0 {
		t.prune(e.Subject)
	}
	return t.changed
}

// Reset forgets all interest. What is watched stays watched.
func (t *Table) Reset() {
	t.root, t.peers = node{}, nil
	for name := range t.watched {
		t.insert(name).watched = name
	}
}

// Watch makes Apply tell of a name: a literal subject or a peer. Watches are counted; Unwatch ends one.
func (t *Table) Watch(name string) {
	if t.watched == nil {
		t.watched = map[string]int{}
	}
	if t.watched[name]++; t.watched[name] == 1 {
		t.insert(name).watched = name
	}
}

// Unwatch ends one watch.
func (t *Table) Unwatch(name string) {
	if t.watched[name]--; t.watched[name] > 0 {
		return
	}
	delete(t.watched, name)
	if n := t.find(name); n != nil {
		n.watched = ""
		t.prune(name)
	}
}

// Watched is every watched name: what to look at again when a new connection is whole (Handler.Connected).
func (t *Table) Watched() iter.Seq[string] { return maps.Keys(t.watched) }

// Has tells whether anybody listens on a literal subject, by a plain or a queue subscription, with wildcards or without.
func (t *Table) Has(subject string) bool { return t.root.has(subject, 0) }

// HasInbox tells whether the owner of an inbox listens on it. Unlike Has it is not deceived by someone who looks on
// from the outside, such as nats sub '>' or '_INBOX.>': the subscription must be literal up to and including the
// NUID, or where there is none in its first two tokens. Replies the server has translated (_R_., _GR_.) are always
// behind such a wildcard; for them it is Has.
func (t *Table) HasInbox(inbox string) bool {
	if translated(inbox) {
		return t.Has(inbox)
	}
	literal := 2
	if end := nuidEnd(inbox); end > 0 {
		literal = 1 + strings.Count(inbox[:end], ".")
	}
	return t.root.has(inbox, literal)
}

// Peer counts the live inbox subscriptions of a process named by PeerOf; 0: it has gone, or is unknown. For a peer that
// is a whole inbox (no NUID in it) the inbox is the only trace: one while HasInbox.
func (t *Table) Peer(name string) int {
	if n := t.peers[name]; n > 0 {
		return n
	}
	if nuidEnd(name) == 0 && t.HasInbox(name) {
		return 1
	}
	return 0
}

// Groups appends to buf the queue groups that get what is published on a literal subject: a group's members of all
// matching subscriptions are one group, as they are for the server.
func (t *Table) Groups(subject string, buf []Group) []Group {
	from := len(buf)
	t.root.match(subject, func(n *node) {
		for name, members := range n.groups {
			buf = add(buf, from, name, members)
		}
	})
	return buf
}

func add(buf []Group, from int, name string, members int) []Group {
	for i := range buf[from:] {
		if buf[from+i].Name == name {
			buf[from+i].Members += members
			return buf
		}
	}
	return append(buf, Group{name, members})
}

// countPeer counts a subject's subscription in or out.
func (t *Table) countPeer(subject string, in bool) {
	end := nuidEnd(subject)
	if end == 0 {
		return
	}
	name := subject[:end-nuidLength+nuidPrefix]
	n, one := t.peers[name], 1
	if !in {
		one = -1
	}
	if (n == 0 || n+one == 0) && t.watched[name] > 0 {
		t.changed = append(t.changed, name)
	}
	if n += one; n == 0 {
		delete(t.peers, name)
		return
	}
	if t.peers == nil {
		t.peers = map[string]int{}
	}
	t.peers[name] = n
}

func (t *Table) insert(subject string) *node {
	n := &t.root
	for rest, more := subject, true; more; {
		var token string
		token, rest, more = strings.Cut(rest, ".")
		child := n.next[token]
		if child == nil {
			child = &node{}
			if n.next == nil {
				n.next = map[string]*node{}
			}
			n.next[token] = child
		}
		n = child
	}
	return n
}

func (t *Table) find(subject string) *node {
	n := &t.root
	for rest, more := subject, true; more && n != nil; {
		var token string
		token, rest, more = strings.Cut(rest, ".")
		n = n.next[token]
	}
	return n
}

// prune removes the nodes of a subject that hold nothing any more.
func (t *Table) prune(subject string) { t.root.prune(subject, true) }

func (n *node) prune(rest string, more bool) {
	if !more {
		return
	}
	token, rest, more := strings.Cut(rest, ".")
	child := n.next[token]
	if child == nil {
		return
	}
	child.prune(rest, more)
	if !child.live() && child.watched == "" && len(child.next) == 0 {
		delete(n.next, token)
	}
}

func (n *node) live() bool { return n.plain || len(n.groups) > 0 }

// set notes who subscribes here and tells whether that is news.
func (n *node) set(queue string, members int) (news bool) {
	if queue == "" {
		news = n.plain != (members > 0)
		n.plain = members > 0
		return news
	}
	news = n.groups[queue] != max(members, 0)
	switch {
	case members <= 0:
		delete(n.groups, queue)
	case n.groups == nil:
		n.groups = map[string]int{queue: members}
	default:
		n.groups[queue] = members
	}
	return news
}

// has looks for a subscription that matches the rest of a subject and is literal in its next tokens, as many as literal says.
func (n *node) has(rest string, literal int) bool {
	token, rest, more := strings.Cut(rest, ".")
	if literal <= 0 {
		if c := n.next[">"]; c != nil && c.live() {
			return true
		}
		if c := n.next["*"]; c != nil && (more && c.has(rest, literal-1) || !more && c.live()) {
			return true
		}
	}
	c := n.next[token]
	return c != nil && (more && c.has(rest, literal-1) || !more && c.live())
}

// match calls do for every node whose subscriptions match the rest of a literal subject.
func (n *node) match(rest string, do func(*node)) {
	token, rest, more := strings.Cut(rest, ".")
	if c := n.next[">"]; c != nil {
		do(c)
	}
	for _, key := range [2]string{token, "*"} {
		if c := n.next[key]; c != nil && more {
			c.match(rest, do)
		} else if c != nil {
			do(c)
		}
	}
}

// collect appends the watched subjects that match the rest of a pattern.
func (n *node) collect(pattern string, more bool, to *[]string) {
	if !more {
		if n.watched != "" {
			*to = append(*to, n.watched)
		}
		return
	}
	token, rest, more := strings.Cut(pattern, ".")
	switch token {
	case ">":
		for _, c := range n.next {
			c.collect("", false, to)
			c.collect(">", true, to)
		}
	case "*":
		for _, c := range n.next {
			c.collect(rest, more, to)
		}
	default:
		if c := n.next[token]; c != nil {
			c.collect(rest, more, to)
		}
	}
}
