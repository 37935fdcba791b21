package main

import (
	"fmt"
	"strings"

	"dsend/durable/queue"
	"dsend/durable/wal"
)

// examined is what verify and repair print.
type examined struct {
	Log      string        `json:"log"`
	Good     bool          `json:"good"`
	Commits  commitRange   `json:"commits"`
	Bytes    int64         `json:"bytes"`
	Messages int64         `json:"messages"`
	Queues   []queueCounts `json:"queues"`
	Damage   []damagePlace `json:"damage"`
	Lost     []commitRange `json:"lost_commits"`
	Losses   *queue.Losses `json:"losses,omitempty"`
	Torn     *damagePlace  `json:"torn_end,omitempty"`
	Fault    string        `json:"fault,omitempty"`
	Repaired bool          `json:"repaired"`
	SetAside string        `json:"set_aside,omitempty"`
}

type commitRange struct {
	First uint64 `json:"first"`
	Last  uint64 `json:"last"`
}

type queueCounts struct {
	Queue    string `json:"queue"`
	Ready    int64  `json:"ready"`
	Delayed  int64  `json:"delayed"`
	InFlight int64  `json:"in_flight"`
	Dead     int64  `json:"dead"`
	Letters  int64  `json:"letters"`
	Bytes    int64  `json:"bytes"`
	FirstSeq uint64 `json:"first_seq"`
	LastSeq  uint64 `json:"last_seq"`
}

type damagePlace struct {
	File   string `json:"file"`
	Offset int64  `json:"offset"`
	Bytes  int64  `json:"bytes"`
	Commit uint64 `json:"commit,omitempty"`
	Reason string `json:"reason"`
	text   string
}

func (l *closedLog) report() *examined {
	e := &examined{
		Log: l.Dir, Good: l.good(), Commits: commitRange{l.First, l.Last}, Bytes: l.Size(),
		Queues: []queueCounts{}, Damage: []damagePlace{}, Lost: []commitRange{},
	}
	for _, p := range l.Places {
		e.Damage = append(e.Damage, placeOf(p))
	}
	if l.Torn != nil {
		torn := placeOf(*l.Torn)
		e.Torn = &torn
	}
	for _, lost := range l.Lost {
		e.Lost = append(e.Lost, commitRange(lost))
	}
	if l.fault != nil {
		e.Fault = l.fault.Error()
		return e
	}
	if front := l.found.Front; front > 0 {
		e.Lost = append([]commitRange{{1, front}}, e.Lost...)
	}
	if l.found.Losses.Commits > 0 {
		e.Losses = &l.found.Losses
	}
	e.Messages = l.found.Messages
	for _, q := range l.found.Queues {
		e.Queues = append(e.Queues, queueCounts{
			q.Name, q.Ready, q.Delayed, q.InFlight, q.Dead, q.Letters, q.Bytes, q.FirstSeq, q.LastSeq,
		})
	}
	return e
}

func placeOf(p wal.Place) damagePlace {
	return damagePlace{p.File, p.Offset, p.Bytes, p.Commit, p.Reason, p.String()}
}

// print prints a report: as JSON, or for people.
func (e *examined) print(a *app) error {
	if a.json {
		return a.printJSON(e)
	}
	fmt.Fprintf(a.out, "%s: commits %d to %d, %s\n", clean(e.Log), e.Commits.First, e.Commits.Last, size(e.Bytes))
	if e.Torn != nil {
		fmt.Fprintf(a.out, "torn end, which serve cuts off: %s\n", clean(e.Torn.text))
	}
	for _, p := range e.Damage {
		fmt.Fprintf(a.out, "damage: %s\n", clean(p.text))
	}
	for _, r := range e.Lost {
		fmt.Fprintf(a.out, "lost: commits %d to %d\n", r.First, r.Last)
	}
	if e.Losses != nil {
		for _, line := range lossLines(e.Losses) {
			fmt.Fprintln(a.out, clean(line))
		}
	}
	if e.Fault != "" {
		return nil
	}
	fmt.Fprintf(a.out, "%s in %s, each in exactly one state\n", some(e.Messages, "message"), some(len(e.Queues), "queue"))
	if len(e.Queues) == 0 {
		return nil
	}
	t := a.table("NAME", "READY", "IN FLIGHT", "DELAYED", "DEAD", "SIZE")
	for _, q := range e.Queues {
		t.row(q.Queue, q.Ready, q.InFlight, q.Delayed, q.Dead, size(q.Bytes))
	}
	return t.end(nil)
}

// lossLines say what lost commits mean for messages.
func lossLines(l *queue.Losses) (lines []string) {
	say := func(format string, args ...any) { lines = append(lines, fmt.Sprintf(format, args...)) }
	if l.Secret {
		say("the store's secret is lost: answers to what was delivered before will not count")
	}
	for _, q := range l.Queues {
		switch {
		case q.Removed:
			say("%s: was removed, and made again later; messages of the first are removed with it", q.Queue)
			continue
		case q.Unnamed:
			say("%s: the name and the settings of this queue are lost; it is kept with the default settings", q.Queue)
		}
		if len(q.Lost) > 0 {
			say("%s: lost, unless they were done in the lost commits: messages %s", q.Queue, rangesText(q.Lost))
		}
		if len(q.Unsure) > 0 {
			say("%s: lost, if they were not done before: messages %s", q.Queue, rangesText(q.Unsure))
		}
		if q.From > 0 {
			say("%s: lost, if there were any: messages from %d on", q.Queue, q.From)
		}
		if len(q.Doubtful) > 0 {
			say("%s: kept, but may have been done in the lost commits: messages %s", q.Queue, rangesText(q.Doubtful))
		}
	}
	say("settings that were changed in the lost commits are as before; ids of messages published in them are forgotten")
	return lines
}

func rangesText(ranges []queue.Range) string {
	words := make([]string, len(ranges))
	for i, r := range ranges {
		words[i] = r.String()
	}
	return strings.Join(words, ", ")
}
