package queue

import (
	"cmp"
	"slices"

	"dsend/dlq"
	"dsend/retry"
)

// peer is a client process that pulls: its waiting requests, and what it
// holds. What it holds survives a restart; that it is there must then be told
// anew, or its deliveries end by their deadline.
type peer struct {
	name  string
	pulls map[*pull]struct{}
	held  []*message
	bell  retry.Deadline // set while it is gone
}

func (p *peer) alarm() *retry.Deadline { return &p.bell }

func (s *State) peerOf(name string) *peer {
	p := s.peers.get(name)
	if p == nil {
		p = &peer{name: name, pulls: map[*pull]struct{}{}}
		s.peers.set(name, p)
	}
	return p
}

// tidy forgets a peer that neither waits nor holds.
func (s *State) tidy(p *peer) {
	if len(p.pulls) == 0 && len(p.held) == 0 {
		s.alarms.Remove(p)
		s.peers.drop(p.name)
	}
}

// give notes that a peer holds a message.
func (p *peer) give(m *message) {
	m.peer, m.slot = p, len(p.held)
	p.held = append(p.held, m)
}

// letGo notes that nobody holds a message any longer.
func (s *State) letGo(m *message) {
	p := m.peer
	last := len(p.held) - 1
	p.held[m.slot] = p.held[last]
	p.held[m.slot].slot = m.slot
	p.held[last] = nil
	p.held = p.held[:last]
	m.peer = nil
	s.tidy(p)
}

// interest suspends the pulls on an inbox while nobody listens there.
func (s *State) interest(op *Interest) {
	p := s.peers.get(op.Peer)
	if p == nil {
		return
	}
	for _, pl := range inOrder(p.pulls) {
		if !dlq.MatchSubject(op.Inbox, pl.Inbox) {
			continue
		}
		if op.Present {
			pl.lost = 0
			s.offer(pl)
			s.touch(pl.q)
		} else if pl.lost == 0 {
			pl.lost = s.now + int64(cmp.Or(op.Grace, s.cfg.Grace))
			s.withdraw(pl)
		}
		s.wind(pl)
	}
}

// peerChanged starts the grace of a peer that is gone, or ends it.
func (s *State) peerChanged(op *Peer) {
	p := s.peers.get(op.Peer)
	switch {
	case p == nil:
	case op.Present:
		s.alarms.Remove(p)
	case !p.bell.Scheduled():
		s.alarms.Set(p, s.now+int64(cmp.Or(op.Grace, s.cfg.Grace)))
	}
}

// Holders are the peers that hold messages, by name. After a restart, who of
// them is still there is to be told by Peer.
func (s *State) Holders() []string {
	var names []string
	for name, p := range s.peers.m {
		if len(p.held) > 0 {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// ring ends what a peer waits for, and fails what it holds: it is gone for
// good.
func (p *peer) ring(s *State, out *Out) {
	for _, pl := range inOrder(p.pulls) {
		s.end(pl)
	}
	held := slices.Clone(p.held)
	slices.SortFunc(held, func(a, b *message) int {
		return cmp.Or(cmp.Compare(a.q.id, b.q.id), cmp.Compare(a.seq, b.seq))
	})
	for _, m := range held {
		s.holdCut(m)
		s.fail(m, failure{outcome: dlq.OutcomeGone, at: s.now, text: "worker gone"}, out)
	}
}
