package config

import "strings"

// A subjectTree holds subjects with wildcards by their tokens, and finds those
// that overlap with another one without comparing all of them.
type subjectTree struct {
	next  map[string]*subjectTree
	owner *owner // of the subject that ends here
}

// owner is who has a subject.
type owner struct {
	subject string
	who     string // "queue orders"; empty is NATS or Dsend itself
}

// add puts a subject in. The first owner of a subject keeps it.
func (t *subjectTree) add(subject, who string) {
	for _, token := range strings.Split(subject, ".") {
		if t.next == nil {
			t.next = map[string]*subjectTree{}
		}
		if t.next[token] == nil {
			t.next[token] = &subjectTree{}
		}
		t = t.next[token]
	}
	if t.owner == nil {
		t.owner = &owner{subject, who}
	}
}

// overlap is one of the subjects in the tree that some message could match as
// well as the given one, or nil.
func (t *subjectTree) overlap(subject string) *owner {
	return t.find(strings.Split(subject, "."))
}

func (t *subjectTree) find(tokens []string) *owner {
	if len(tokens) == 0 {
		return t.owner
	}
	if tokens[0] == ">" {
		return t.any()
	}
	if rest := t.next[">"]; rest != nil {
		return rest.owner
	}
	for _, next := range t.matches(tokens[0]) {
		if found := next.find(tokens[1:]); found != nil {
			return found
		}
	}
	return nil
}

// matches are the branches a token can take.
func (t *subjectTree) matches(token string) []*subjectTree {
	var out []*subjectTree
	if token == "*" {
		for _, name := range sorted(t.next) {
			out = append(out, t.next[name])
		}
		return out
	}
	for _, name := range []string{token, "*"} {
		if next := t.next[name]; next != nil {
			out = append(out, next)
		}
	}
	return out
}

// any is a subject at least one token below here, or nil.
func (t *subjectTree) any() *owner {
	for _, name := range sorted(t.next) {
		next := t.next[name]
		if next.owner != nil {
			return next.owner
		}
		if found := next.any(); found != nil {
			return found
		}
	}
	return nil
}
