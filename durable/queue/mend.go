package queue

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"dsend/dlq"
)

// What a lost commit may have given out: more than fits a commit of the
// largest size, of messages as of deliveries.
const (
	givenPerCommit  = 1 << 17
	queuesPerCommit = 1 << 12
	maxGiven        = 1 << 40
)

// Mend makes the State whole again, by records in the commit that Begin was
// called for: a new secret, so that no token that was given out in lost commits
// is good for anything else; numbers above all that may have been given out;
// a name for queues that lost theirs; and of a message that is in two places,
// because the record of its move is lost, only the newer stays. If no commit
// was lost, there is nothing to mend.
func (v *Salvage) Mend(key [16]byte, out *Out) {
	if v.lost == 0 {
		return
	}
	s := v.state
	emit(s, out, storeRecord{key})
	for _, id := range slices.Sorted(maps.Keys(s.byID)) {
		q := s.byID[id]
		switch {
		case q.name == "" && v.trace(id).removed != "":
			emit(s, out, dropRecord{id})
		case q.name == "" && q.stored() > 0:
			emit(s, out, v.christen(q))
		}
	}
	for _, id := range v.doubles() {
		emit(s, out, removeRecord{id})
	}
	for _, m := range v.displaced() {
		emit(s, out, failRecord{identity: m.identity(), outcome: dlq.OutcomeGivenBack, attempt: m.returned(), at: s.now, due: s.now})
	}
	given := min(v.lost, maxGiven/givenPerCommit) * givenPerCommit
	for _, q := range slices.Clone(s.sorted) {
		r := q.record()
		r.next = min(r.next+given, maxSeq-1)
		r.deliveries += given
		emit(s, out, r)
	}
	queues := min(v.lost*queuesPerCommit, uint64(math.MaxUint32-s.lastID)/2)
	emit(s, out, dropRecord{s.lastID + uint32(queues)})
}

// christen is the record of a queue of which there is none any more.
func (v *Salvage) christen(q *queue) queueRecord {
	r := q.record()
	r.name, r.source, r.created, r.settings = v.name(q), FromUse, v.state.now, v.state.cfg.Defaults
	return r
}

// name is the name that a queue without one gets: what letters tell, or a
// made-up one. It stays the same once it was given.
func (v *Salvage) name(q *queue) string {
	if v.names == nil {
		v.names = map[uint32]string{}
		for _, id := range slices.Sorted(maps.Keys(v.state.byID)) {
			if v.state.byID[id].name == "" {
				v.names[id] = v.free(id)
			}
		}
	}
	return v.names[q.id]
}

func (v *Salvage) free(id uint32) string {
	names := slices.Collect(maps.Values(v.names))
	name := v.told(id)
	for n := 1; !ValidName(name) || v.state.byName[name] != nil || slices.Contains(names, name); n++ {
		name = fmt.Sprintf("recovered-%d", id)
		if n > 1 {
			name = fmt.Sprintf("recovered-%d-%d", id, n)
		}
	}
	return name
}

// told is what letters tell of a queue's name.
func (v *Salvage) told(id uint32) string {
	origin, grave := v.graves[id]
	if v.called[id] != "" || !grave {
		return v.called[id]
	}
	settings := v.state.cfg.Defaults
	if q := v.state.byID[origin]; q != nil && q.name != "" {
		settings = q.settings
	}
	return settings.DLQName(v.called[origin])
}

// doubles are the messages that are alive although a letter says that they
// died, in order.
func (v *Salvage) doubles() (all []identity) {
	for origin := range v.state.origins.m {
		if v.here(origin) {
			all = append(all, origin)
		}
	}
	slices.SortFunc(all, identity.compare)
	return all
}

// displaced are messages, in order, whose key has gone to a later one, because
// the record of what became of them is lost: they wait behind it.
func (v *Salvage) displaced() (all []*message) {
	s := v.state
	for _, q := range s.sorted {
		for _, m := range q.objects(0, math.MaxUint64) {
			waits := m.phase == phaseDelayed && m.delivery > 0 && m.doom == 0
			if line := q.keys.get(m.key()); m.key() != "" && (m.phase == phaseInFlight || waits) && (line == nil || line.head != m) {
				all = append(all, m)
			}
		}
	}
	return all
}

// returned is how many attempts a message has behind it when the one that is in
// flight does not count.
func (m *message) returned() uint32 {
	if m.phase == phaseInFlight && m.attempt > 0 {
		return m.attempt - 1
	}
	return m.attempt
}

func (id identity) compare(o identity) int {
	return cmp.Or(cmp.Compare(id.queue, o.queue), cmp.Compare(id.seq, o.seq))
}

// Total is how many messages there are.
func (s *State) Total() (n int64) {
	for _, q := range s.byID {
		n += q.stored()
	}
	return n
}

// Holds tells whether a message record is the one that a message is read from.
func (s *State) Holds(place Place, record []byte) bool {
	r, err := DecodeMessage(record)
	if err != nil {
		return false
	}
	if m := s.holderOf(r.QueueID, r.Seq); m != nil {
		return m.place == place && int(m.size) == len(record)
	}
	q := s.byID[r.QueueID]
	if q == nil {
		return false
	}
	b, _, ok := q.ready.find(r.Seq)
	return ok && b.place(r.Seq) == place && int(b.size) == len(record)
}
