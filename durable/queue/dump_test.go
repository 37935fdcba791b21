package queue

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"dsend/dlq"
)

// dump writes down everything of a State that must survive, in an order of its
// own. When a doomed message tries again to die is nobody's business.
func dump(s *State) string {
	var b strings.Builder
	fmt.Fprintf(&b, "store %x last queue %d\n", s.key, s.lastID)
	for _, id := range slices.Sorted(maps.Keys(s.byID)) {
		dumpQueue(&b, s.byID[id], s.now)
	}
	for _, born := range slices.SortedFunc(maps.Keys(s.moved.m), identity.compare) {
		fmt.Fprintf(&b, "record %v is of %v\n", born, s.moved.get(born).identity())
	}
	for _, origin := range slices.SortedFunc(maps.Keys(s.origins.m), identity.compare) {
		fmt.Fprintf(&b, "life %v ended as %v\n", origin, s.origins.get(origin).identity())
	}
	for _, name := range slices.Sorted(maps.Keys(s.peers.m)) {
		if n := len(s.peers.get(name).held); n > 0 {
			fmt.Fprintf(&b, "peer %s holds %d\n", name, n)
		}
	}
	return b.String()
}

func dumpQueue(b *strings.Builder, q *queue, now int64) {
	settings, err := json.Marshal(q.settings)
	if err != nil {
		panic(err)
	}
	fmt.Fprintf(b, "queue %d %s source %d created %d paused %t orphan %t next %d deliveries %d visibility %s in commit %d\n  %s\n",
		q.id, q.name, q.source, since(q.created), q.paused, q.orphan, q.next, q.deliveries, q.timeout(), q.commit, settings)
	fmt.Fprintf(b, "  ready %d delayed %d in flight %d dead %d letters %d bytes %d\n",
		q.ready.len(), q.delayed, q.flying, q.dead, q.letters, q.bytes)
	for m := range q.walk(0) {
		dumpMessage(b, q, m)
	}
	for _, id := range slices.Sorted(maps.Keys(q.ids.ids.m)) {
		if r := q.ids.ids.get(id); r.expires > now {
			fmt.Fprintf(b, "  id %s is %d until %d in commit %d\n", id, r.seq, since(r.expires), r.commit)
		}
	}
	for _, c := range q.consumersByName() {
		settings, err := json.Marshal(c.settings)
		if err != nil {
			panic(err)
		}
		fmt.Fprintf(b, "  consumer %s created %d in commit %d delivered %d top %d active %d holds %d %s\n",
			c.name, since(c.created), c.commit, c.delivered, c.top, since(c.active), c.held, settings)
	}
	for _, name := range slices.Sorted(maps.Keys(q.demand.groups)) {
		if n := q.demand.groups[name].held; n > 0 {
			fmt.Fprintf(b, "  group %s holds %d\n", name, n)
		}
	}
}

// since is a time as the tests count it.
func since(at int64) int64 {
	if at == 0 {
		return 0
	}
	return at - epoch
}

func dumpMessage(b *strings.Builder, q *queue, s seen) {
	m := s.object
	if m == nil {
		m = &message{
			q: q, seq: s.seq, place: s.run.place(s.seq), size: s.run.size, at: s.run.at, since: s.run.at,
			priority: s.priority, phase: phaseReady,
		}
	}
	fmt.Fprintf(b, "  %d phase %d attempt %d delivery %d at %d since %d priority %d size %d in %v doom %d",
		m.seq, m.phase, m.attempt, m.delivery, since(m.at), since(m.since), m.priority, m.size, m.place, m.doom)
	switch {
	case m.phase == phaseInFlight:
		fmt.Fprintf(b, " handed %d to %v until %d", since(m.handed), inHand(m.holder), since(m.turn.At()))
	case m.phase == phaseDelayed && m.doom == 0:
		fmt.Fprintf(b, " due %d", since(m.turn.At()))
	}
	if m.phase != phaseInFlight && m.expiry.Scheduled() {
		fmt.Fprintf(b, " expires %d", since(m.expiry.At()))
	}
	if x := m.more; x != nil {
		fmt.Fprintf(b, " key %q attempts %d visibility %v ttl %d born %v replays %d%s",
			x.key, x.maxAttempts, x.visibility, since(x.expires), x.born, x.replays, historyText(x.history))
		if line := q.keys.get(m.key()); line != nil && line.head == m {
			fmt.Fprintf(b, " head")
		}
		if x.letter != nil {
			fmt.Fprintf(b, " %s", letterText(x.letter))
		}
	}
	b.WriteByte('\n')
}

func historyText(h dlq.History) string {
	var b strings.Builder
	for a := range h.All() {
		fmt.Fprintf(&b, " [%d to %d %s %s %q]", since(a.At), since(a.Ended), a.Worker, a.Outcome, a.Error)
	}
	return b.String()
}

func letterText(l *dlq.Letter) string {
	return fmt.Sprintf("letter %s %q died %d from %s %d published %d attempts %d replays %d%s",
		l.Reason, l.Error, since(l.DiedAt), l.OriginQueue, l.OriginSeq, since(l.PublishedAt), l.Attempts, l.Replays, historyText(l.History))
}

// difference shows the first lines in which two dumps differ.
func difference(a, b string) string {
	as, bs := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range max(len(as), len(bs)) {
		x, y := "(end)", "(end)"
		if i < len(as) {
			x = as[i]
		}
		if i < len(bs) {
			y = bs[i]
		}
		if x != y {
			return fmt.Sprintf("line %d\n  live      %s\n  recovered %s", i+1, x, y)
		}
	}
	return ""
}
