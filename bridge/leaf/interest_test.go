package leaf

import (
	"fmt"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/nats-io/nuid"
	"pgregory.net/rapid"
)

const (
	nuidA  = "AAAAAAAAAAAA0123456789" // one process,
	nuidA2 = "AAAAAAAAAAAA012345678a" // its next inbox,
	nuidB  = "BBBBBBBBBBBB0123456789" // another one
)

func on(t *Table, subject string) []string  { return t.Apply(Interest{Subject: subject, Members: 1}) }
func off(t *Table, subject string) []string { return t.Apply(Interest{Subject: subject}) }

func TestPeerOf(t *testing.T) {
	for inbox, want := range map[string]string{
		"_INBOX." + nuidA:                           "_INBOX.AAAAAAAAAAAA",
		"_INBOX." + nuidA + ".x8Zz01aB":             "_INBOX.AAAAAAAAAAAA",
		"_INBOX." + nuidA + "." + nuidB:             "_INBOX.AAAAAAAAAAAA",
		"my.prefix." + nuidB + ".*":                 "my.prefix.BBBBBBBBBBBB",
		"_INBOX.p7PJ9rSmYQzKv+/a.abc":               "_INBOX.p7PJ9rSmYQzKv+/a.abc",
		"_INBOX." + nuidA + "x":                     "_INBOX." + nuidA + "x",
		"_INBOX.AAAAAAAAAAAA-123456789":             "_INBOX.AAAAAAAAAAAA-123456789",
		"_R_.abc." + nuidA:                          "_R_.abc." + nuidA,
		"_GR_.cccccc.ssssss._INBOX." + nuidA + ".x": "_GR_.cccccc.ssssss._INBOX." + nuidA + ".x",
		"": "",
	} {
		if got := PeerOf(inbox); got != want {
			t.Errorf("PeerOf(%q) = %q, want %q", inbox, got, want)
		}
	}
	a, b := PeerOf("_INBOX."+nuid.Next()), PeerOf("_INBOX."+nuid.Next()+".*")
	if a != b || len(a) != len("_INBOX.")+12 {
		t.Errorf("two inboxes of one process have peers %q and %q", a, b)
	}
}

// The story of a Go worker: its connection's mux subscription, a fetch, the fetch's end, the work, the end.
func TestPeerLifeOfAWorker(t *testing.T) {
	var tab Table
	mux, fetch := "_INBOX."+nuidA+".*", "_INBOX."+nuidA2
	peer := PeerOf(fetch)
	on(&tab, mux)
	on(&tab, fetch)
	if got := tab.Peer(peer); got != 2 {
		t.Fatalf("%+v", got)
	}
	tab.Watch(peer)
	tab.Watch(fetch)
	if got := off(&tab, fetch); !slices.Equal(got, []string{fetch}) || tab.HasInbox(fetch) {
		t.Fatalf("the fetch is over: %v", got)
	}
	if got := tab.Peer(peer); got != 1 {
		t.Fatalf("the process is still there: %+v", got)
	}
	if got := off(&tab, mux); !slices.Equal(got, []string{peer}) || tab.Peer(peer) != 0 {
		t.Fatalf("the process has gone: %v", got)
	}
	if got := on(&tab, mux); !slices.Equal(got, []string{peer}) || tab.Peer(peer) != 1 {
		t.Fatalf("it is back: %v", got)
	}
	tab.Unwatch(peer)
	if got := off(&tab, mux); len(got) != 0 {
		t.Fatalf("nobody watches: %v", got)
	}
}

func TestInboxBehindAMux(t *testing.T) {
	var tab Table
	inbox := "_INBOX." + nuidA + ".token"
	tab.Watch(inbox)
	if got := on(&tab, "_INBOX."+nuidA+".*"); !slices.Equal(got, []string{inbox}) || !tab.HasInbox(inbox) {
		t.Fatal(got)
	}
	if got := off(&tab, "_INBOX."+nuidA+".*"); !slices.Equal(got, []string{inbox}) || tab.HasInbox(inbox) {
		t.Fatal(got)
	}
}

func TestLookersOnAreNotOwners(t *testing.T) {
	var tab Table
	for _, s := range []string{">", "_INBOX.>", "_INBOX.*", "_INBOX.*.*", "*." + nuidA} {
		on(&tab, s)
	}
	for _, inbox := range []string{"_INBOX." + nuidA, "_INBOX." + nuidA + ".x", "_INBOX.short", "_INBOX.short.x"} {
		if !tab.Has(inbox) || tab.HasInbox(inbox) {
			t.Errorf("%s: Has %v, HasInbox %v", inbox, tab.Has(inbox), tab.HasInbox(inbox))
		}
	}
	on(&tab, "_INBOX.short.*")
	on(&tab, "_R_.>")
	on(&tab, "_GR_.>")
	for _, inbox := range []string{"_INBOX.short.x", "_R_.a.b", "_GR_.c.s._INBOX." + nuidA + ".x"} {
		if !tab.HasInbox(inbox) {
			t.Errorf("%s has an owner", inbox)
		}
	}
	if got := tab.Peer(PeerOf("_GR_.c.s._INBOX." + nuidA + ".x")); got != 1 {
		t.Errorf("a translated reply: %+v", got)
	}
}

func TestGroupsOfASubject(t *testing.T) {
	var tab Table
	tab.Watch("work.a")
	for _, e := range []Interest{{"work.a", "g", 2}, {"work.*", "g", 1}, {"work.>", "h", 3}, {"work.a", "", 1}, {"other", "i", 1}} {
		if got := tab.Apply(e); (len(got) > 0) != (e.Subject != "other") {
			t.Errorf("%+v: %v", e, got)
		}
	}
	groups := func() string {
		g := tab.Groups("work.a", nil)
		sort.Slice(g, func(i, j int) bool { return g[i].Name < g[j].Name })
		return fmt.Sprint(g)
	}
	if got := groups(); got != "[{g 3} {h 3}]" {
		t.Error(got)
	}
	tab.Apply(Interest{"work.a", "g", 5})
	tab.Apply(Interest{"work.>", "h", 0})
	if got := tab.Apply(Interest{"work.a", "g", 5}); len(got) != 0 {
		t.Errorf("no news: %v", got)
	}
	if got := groups(); got != "[{g 6}]" {
		t.Error(got)
	}
	tab.Reset()
	if got := groups(); got != "[]" {
		t.Error(got)
	}
	if got := slices.Collect(tab.Watched()); !slices.Equal(got, []string{"work.a"}) {
		t.Error(got)
	}
	if got := on(&tab, "work.*"); !slices.Equal(got, []string{"work.a"}) {
		t.Errorf("still watched: %v", got)
	}
}

// model is the table as a plain list.
type model map[[2]string]int

func (m model) apply(e Interest) {
	if key := [2]string{e.Subject, e.Queue}; e.Members > 0 {
		m[key] = e.Members
	} else {
		delete(m, key)
	}
}

func (m model) has(subject string, ok func(pattern string) bool) bool {
	for key := range m {
		if Matches(key[0], subject) && ok(key[0]) {
			return true
		}
	}
	return false
}

func (m model) groups(subject string) map[string]int {
	g := map[string]int{}
	for key, n := range m {
		if key[1] != "" && Matches(key[0], subject) {
			g[key[1]] += n
		}
	}
	return g
}

func (m model) peer(name string) (n int) {
	seen := map[string]bool{}
	for key := range m {
		if s := key[0]; !seen[s] && nuidEnd(s) > 0 && PeerOf(s) == name {
			seen[s] = true
			n++
		}
	}
	return n
}

func TestTableAgainstModel(t *testing.T) {
	subjects := []string{"a", "a.b", "a.b.c", "b", "_INBOX." + nuidA, "_INBOX." + nuidA2, "_INBOX." + nuidB, "_INBOX." + nuidA + ".x", "_INBOX." + nuidB + ".x.y"}
	patterns := append([]string{">", "*", "a.*", "a.>", "*.b", "*.*", "a.*.c", "_INBOX.>", "_INBOX.*", "_INBOX." + nuidA + ".*", "_INBOX." + nuidB + ".>", "_INBOX." + nuidB + ".*.y"}, subjects...)
	queues := []string{"", "", "g", "h"}
	peers := []string{"_INBOX.AAAAAAAAAAAA", "_INBOX.BBBBBBBBBBBB"}
	rapid.Check(t, func(t *rapid.T) {
		var tab Table
		m := model{}
		watches := map[string]int{}
		t.Repeat(map[string]func(*rapid.T){
			"apply": func(t *rapid.T) {
				e := Interest{rapid.SampledFrom(patterns).Draw(t, "pattern"), rapid.SampledFrom(queues).Draw(t, "queue"), rapid.IntRange(0, 3).Draw(t, "members")}
				if e.Queue == "" {
					e.Members = min(e.Members, 1)
				}
				before := m.standing(append(peers, subjects...))
				m.apply(e)
				after := m.standing(append(peers, subjects...))
				got := slices.Clone(tab.Apply(e))
				for name, was := range before {
					if was != after[name] && watches[name] > 0 && !slices.Contains(got, name) {
						t.Fatalf("%+v: %q is watched and changed from %s to %s: told %v", e, name, was, after[name], got)
					}
				}
				for _, name := range got {
					if watches[name] == 0 {
						t.Fatalf("%q is not watched", name)
					}
				}
			},
			"watch": func(t *rapid.T) {
				name := rapid.SampledFrom(append(peers, subjects...)).Draw(t, "name")
				watches[name]++
				tab.Watch(name)
			},
			"unwatch": func(t *rapid.T) {
				name := rapid.SampledFrom(append(peers, subjects...)).Draw(t, "name")
				if watches[name] == 0 {
					t.Skip("not watched")
				}
				if watches[name]--; watches[name] == 0 {
					delete(watches, name)
				}
				tab.Unwatch(name)
			},
			"reset": func(t *rapid.T) {
				clear(m)
				tab.Reset()
			},
			"": func(t *rapid.T) { check(t, &tab, m, subjects, peers, watches) },
		})
	})
}

// standing is all that can be asked about each name.
func (m model) standing(names []string) map[string]string {
	s := map[string]string{}
	for _, name := range names {
		any := m.has(name, func(string) bool { return true })
		peer := m.peer(name)
		s[name] = fmt.Sprint(any, m.groups(name), peer > 0)
	}
	return s
}

func check(t *rapid.T, tab *Table, m model, subjects, peers []string, watches map[string]int) {
	for _, s := range subjects {
		if tab.Has(s) != m.has(s, func(string) bool { return true }) {
			t.Fatalf("Has(%s) is %v", s, tab.Has(s))
		}
		owner := func(pattern string) bool {
			upTo := nuidEnd(s)
			if upTo == 0 {
				return !strings.ContainsAny(strings.Join(strings.SplitN(pattern, ".", 3)[:min(2, 1+strings.Count(pattern, "."))], "."), "*>")
			}
			return strings.HasPrefix(pattern, s[:upTo])
		}
		if tab.HasInbox(s) != m.has(s, owner) {
			t.Fatalf("HasInbox(%s) is %v, %v", s, tab.HasInbox(s), m)
		}
		g := map[string]int{}
		for _, x := range tab.Groups(s, nil) {
			g[x.Name] = x.Members
		}
		if fmt.Sprint(g) != fmt.Sprint(m.groups(s)) {
			t.Fatalf("Groups(%s) are %v, not %v", s, g, m.groups(s))
		}
	}
	for _, p := range peers {
		if tab.Peer(p) != m.peer(p) {
			t.Fatalf("Peer(%s) is %d, not %d", p, tab.Peer(p), m.peer(p))
		}
	}
	if len(m) == 0 && len(watches) == 0 && (len(tab.root.next) > 0 || len(tab.peers) > 0 || len(tab.watched) > 0) {
		t.Fatalf("something is left: %v %v %v", tab.root.next, tab.peers, tab.watched)
	}
}
