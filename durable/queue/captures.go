package queue

import (
	"slices"
	"strings"
)

// captures finds the queues whose subjects overlap with another subject,
// without looking at all queues. A node is the tokens on the way to it.
//
//	orders.* of a, orders.new.> of b
//
//	(root) ── orders ──┬── *    a
//	                   └── new ── >    b
type captures struct {
	next   map[string]*captures
	owners []*queue // whose subject ends here
}

// add notes that a queue captures a subject.
func (c *captures) add(subject string, q *queue) {
	for token := range strings.SplitSeq(subject, ".") {
		below := c.next[token]
		if below == nil {
			if c.next == nil {
				c.next = map[string]*captures{}
			}
			below = &captures{}
			c.next[token] = below
		}
		c = below
	}
	c.owners = append(c.owners, q)
}

// remove notes that it does no longer.
func (c *captures) remove(subject string, q *queue) {
	token, rest, more := strings.Cut(subject, ".")
	below := c.next[token]
	if below == nil {
		return
	}
	if more {
		below.remove(rest, q)
	} else if i := slices.Index(below.owners, q); i >= 0 {
		below.owners = slices.Delete(below.owners, i, i+1)
	}
	if len(below.owners) == 0 && len(below.next) == 0 {
		delete(c.next, token)
	}
}

// overlapping calls found for each queue with a subject that overlaps.
func (c *captures) overlapping(subject string, found func(*queue)) {
	token, rest, more := strings.Cut(subject, ".")
	for t, below := range c.among(token) {
		switch {
		case token == ">":
			below.all(found)
		case t == ">":
			below.here(found)
		case more:
			below.overlapping(rest, found)
		default:
			below.here(found)
		}
	}
}

// among gives what is below that a token can meet.
func (c *captures) among(token string) func(func(string, *captures) bool) {
	return func(yield func(string, *captures) bool) {
		if token == "*" || token == ">" {
			for t, below := range c.next {
				if !yield(t, below) {
					return
				}
			}
			return
		}
		for _, t := range [...]string{token, "*", ">"} {
			if below := c.next[t]; below != nil && !yield(t, below) {
				return
			}
		}
	}
}

func (c *captures) here(found func(*queue)) {
	for _, q := range c.owners {
		found(q)
	}
}

func (c *captures) all(found func(*queue)) {
	c.here(found)
	for _, below := range c.next {
		below.all(found)
	}
}
