package queue

import (
	"cmp"
	"fmt"
	"slices"
)

// Losses is what a log with lost commits cannot say any more.
type Losses struct {
	Commits uint64        `json:"commits"` // how many were lost
	Secret  bool          `json:"secret"`  // the store's secret was lost with them
	Queues  []QueueLosses `json:"queues"`  // those that have any, by name
}

// QueueLosses are those of one queue. Numbers that are in none of them are
// known: these messages are here, or were done.
type QueueLosses struct {
	Queue string `json:"queue"`
	// Unnamed: nothing says the queue's name and settings any more. Queue is
	// what it was called in a letter, or a made-up name; it has the defaults.
	Unnamed bool `json:"unnamed"`
	// Removed: another queue of this name was made later, so this one was
	// removed, and its messages with it.
	Removed bool `json:"removed"`
	// Lost messages were given these numbers and are nowhere. Those that were
	// published and done within the lost commits are among them: nothing can
	// tell.
	Lost []Range `json:"lost"`
	// Unsure numbers were given out in lost commits, or before this log begins.
	// Of these, messages that were not done are lost if they were carried
	// forward in lost commits.
	Unsure []Range `json:"unsure"`
	// From is the first number that may have been given out in lost commits
	// without any trace; 0 if there is none: a later record says the number
	// that came next.
	From uint64 `json:"from"`
	// Doubtful messages are here, but no record behind the lost commits speaks
	// of them: they may have been answered, or moved, in those.
	Doubtful []Range `json:"doubtful"`
}

// Range is a row of numbers, and how many messages it is about.
type Range struct {
	First uint64 `json:"first"`
	Last  uint64 `json:"last"`
	Count uint64 `json:"count"`
}

func (r Range) String() string {
	switch {
	case r.First == r.Last:
		return fmt.Sprint(r.First)
	case r.Count == r.Last-r.First+1:
		return fmt.Sprintf("%d-%d", r.First, r.Last)
	}
	return fmt.Sprintf("%d-%d (%d of them)", r.First, r.Last, r.Count)
}

// numbers is a set of numbers, as ranges in order without gaps in them.
type numbers []Range

// add adds the numbers from first to last.
func (n *numbers) add(first, last uint64) {
	if first > last {
		return
	}
	i, _ := slices.BinarySearchFunc(*n, first, func(r Range, first uint64) int { return cmp.Compare(r.Last+1, first) })
	k := i
	for k < len(*n) && (*n)[k].First <= last+1 {
		first, last = min(first, (*n)[k].First), max(last, (*n)[k].Last)
		k++
	}
	*n = slices.Replace(*n, i, k, Range{first, last, last - first + 1})
}

// remove takes the numbers from first to last out.
func (n *numbers) remove(first, last uint64) {
	i, _ := slices.BinarySearchFunc(*n, first, func(r Range, first uint64) int { return cmp.Compare(r.Last, first) })
	k := i
	var rest []Range
	for ; k < len(*n) && (*n)[k].First <= last; k++ {
		r := (*n)[k]
		if r.First < first {
			rest = append(rest, Range{r.First, first - 1, first - r.First})
		}
		if r.Last > last {
			rest = append(rest, Range{last + 1, r.Last, r.Last - last})
		}
	}
	*n = slices.Replace(*n, i, k, rest...)
}
