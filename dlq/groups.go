package dlq

import (
	"cmp"
	"slices"
)

// MaxGroups is how many causes Groups tells apart. Letters with a cause beyond
// that are counted in one more group per reason, with the error OtherCauses.
const MaxGroups = 10_000

// OtherCauses is the error text of a group that holds what is beyond MaxGroups.
const OtherCauses = "(other causes)"

// Group is the dead letters of one cause: the same reason, the same error but
// for numbers, ids and quotations, the same origin subject but for ids.
type Group struct {
	Reason    Reason
	Error     string // with "#" for what differs
	Subject   string // with "*" for what differs; fits Filter.Subject
	Count     int    // letters
	First     int64  // the earliest death, in nanoseconds
	Last      int64  // the latest death, in nanoseconds
	Sample    string // the error of the latest letter, as it was
	SampleSeq uint64 // the sequence of that letter
}

// Groups counts dead letters by cause. The zero value is ready.
type Groups struct {
	byCause map[cause]*Group
}

// Add counts letter l, which has sequence seq in its dead-letter queue. The
// order of adding makes no difference until there are MaxGroups.
func (g *Groups) Add(seq uint64, l *Letter) {
	g.group(causeOf(l)).add(seq, l)
}

// Sorted returns the groups, the largest first; equal counts by error, subject
// and reason.
func (g *Groups) Sorted() []Group {
	sorted := make([]Group, 0, len(g.byCause))
	for _, group := range g.byCause {
		sorted = append(sorted, *group)
	}
	slices.SortFunc(sorted, func(a, b Group) int {
		return cmp.Or(
			cmp.Compare(b.Count, a.Count),
			cmp.Compare(a.Error, b.Error),
			cmp.Compare(a.Subject, b.Subject),
			cmp.Compare(a.Reason, b.Reason))
	})
	return sorted
}

func (g *Groups) group(c cause) *Group {
	if group := g.byCause[c]; group != nil {
		return group
	}
	if other := (cause{c.reason, OtherCauses, ""}); len(g.byCause) >= MaxGroups && c != other {
		return g.group(other)
	}
	if g.byCause == nil {
		g.byCause = map[cause]*Group{}
	}
	group := &Group{Reason: c.reason, Error: c.error, Subject: c.subject}
	g.byCause[c] = group
	return group
}

func (g *Group) add(seq uint64, l *Letter) {
	if g.Count == 0 || l.DiedAt < g.First {
		g.First = l.DiedAt
	}
	if g.Count == 0 || l.DiedAt > g.Last || l.DiedAt == g.Last && seq > g.SampleSeq {
		g.Last, g.Sample, g.SampleSeq = l.DiedAt, l.Error, seq
	}
	g.Count++
}
