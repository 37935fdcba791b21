package config

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// source is where a value comes from, in rising order.
type source int

const (
	fromFile source = iota
	fromEnvironment
	fromFlags
)

// A place is where something was written.
type place struct {
	source source
	name   string // of the file, the variable or the flag
	line   int    // in the file, from 1; 0 is the whole file
}

// byDefault is the place of what nobody gave.
func byDefault() place { return place{name: "default"} }

func (p place) String() string {
	switch {
	case p.source == fromEnvironment:
		return "environment " + p.name
	case p.source == fromFlags:
		return "--" + p.name
	case p.line == 0:
		return p.name
	default:
		return p.name + ":" + strconv.Itoa(p.line)
	}
}

// Problem is one reason to refuse a configuration.
type Problem struct {
	Where string `json:"where"` // "dsend.yaml:12", "environment DSEND_PREFIX", "--listen"
	Key   string `json:"key,omitempty"`
	What  string `json:"what"`
	at    place
}

// Error is the line a person reads. A variable and a flag say which key it is.
func (p Problem) Error() string {
	if p.Key == "" || p.at.source != fromFile {
		return p.Where + ": " + p.What
	}
	return p.Where + ": " + p.Key + ": " + p.What
}

// Problems is all there is to say against a configuration; the error of Load.
type Problems []Problem

// Error has one line for each problem.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = p.Error()
	}
	return strings.Join(lines, "\n")
}

func (ps *Problems) add(at place, key, what string, args ...any) {
	*ps = append(*ps, Problem{Where: at.String(), Key: key, What: oneLine(fmt.Sprintf(what, args...)), at: at})
}

// err is nil without problems, else all of them in order: the file from its top
// to its end, the environment, the flags.
func (ps Problems) err() error {
	if len(ps) == 0 {
		return nil
	}
	slices.SortStableFunc(ps, func(a, b Problem) int {
		return cmp.Or(
			cmp.Compare(a.at.source, b.at.source),
			cmp.Compare(a.at.line, b.at.line))
	})
	return ps
}

// oneLine keeps what a parser says from breaking the line.
func oneLine(what string) string {
	if utf8.ValidString(what) && !strings.ContainsFunc(what, unicode.IsControl) {
		return what
	}
	quoted := strconv.Quote(what)
	return quoted[1 : len(quoted)-1]
}

// quote shows what somebody wrote, on one line and not too long.
func quote(text string) string {
	const most = 40
	runes := []rune(text)
	if len(runes) <= most {
		return strconv.Quote(text)
	}
	return strconv.Quote(string(runes[:most])) + "…"
}

// plain shows a key as it is written, if that is safe on one line.
func plain(key string) string {
	odd := func(r rune) bool { return r != '.' && r != '#' && !isWord(r) }
	if key == "" || len(key) > 100 || strings.ContainsFunc(key, odd) {
		return quote(key)
	}
	return key
}

func isWord(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-'
}
