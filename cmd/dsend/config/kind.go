package config

import (
	"errors"
	"slices"
)

// An element is a type of value: what it is called, what it may look like in a
// file, and how it is read and written as text.
type element[T any] struct {
	name   string // for help: "duration"
	must   string // for refusals: "a duration such as 30s"
	takes  []shape
	parse  func(text string) (T, error)
	format func(T) string
}

// A kind is the type of a key: one element, or a list of them. Values are
// handed around as texts until all sources are merged.
type kind struct {
	name  string
	must  string
	list  bool
	least int // items of a list
	takes []shape
	check func(text string) error // of one item
	store func(field any, texts []string) error
	texts func(field any) []string
}

// one is the kind of a key that holds one element. Its field is a *T.
func one[T any](e element[T]) kind {
	k := e.kind()
	k.store = func(field any, texts []string) error {
		if len(texts) != 1 {
			return errors.New("must be " + e.must)
		}
		v, err := e.parse(texts[0])
		if err == nil {
			*field.(*T) = v
		}
		return err
	}
	k.texts = func(field any) []string { return []string{e.format(*field.(*T))} }
	return k
}

// many is the kind of a key that holds a list. Its field is a *[]T.
func many[T any](e element[T], plural string, least int) kind {
	k := e.kind()
	k.name, k.list, k.least = plural, true, least
	k.store = func(field any, texts []string) error {
		var list []T
		for _, text := range texts {
			v, err := e.parse(text)
			if err != nil {
				return err
			}
			list = append(list, v)
		}
		*field.(*[]T) = list
		return nil
	}
	k.texts = func(field any) []string {
		texts := []string{}
		for _, v := range *field.(*[]T) {
			texts = append(texts, e.format(v))
		}
		return texts
	}
	return k
}

func (e element[T]) kind() kind {
	return kind{
		name: e.name, must: e.must, takes: e.takes,
		check: func(text string) error { _, err := e.parse(text); return err },
	}
}

// accepts tells whether a value of a file has the right look.
func (k kind) accepts(s shape) bool { return slices.Contains(k.takes, s) }
