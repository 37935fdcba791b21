package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"dsend/bridge/admin"
	"dsend/dlq"
	"dsend/retry"
)

var update = flag.Bool("update", false, "write what commands print into testdata/plays")

// TestPlays runs the commands of testdata/plays/*.txt against a Dsend that is in
// the scene of the file's name, and compares what they print. A line begins with
//
//	$  for a command whose stdout is a pipe
//	%  for one whose stdout is a terminal
//	!  for stderr
//
// and "[exit N]" ends a command that fails.
func TestPlays(t *testing.T) {
	for name, scene := range map[string]script{"empty": emptyScene(), "one": oneScene(), "many": manyScene()} {
		t.Run(name, func(t *testing.T) {
			url := natsServer(t, server.Options{})
			scene.play(t, url)
			file := filepath.Join("testdata", "plays", name+".txt")
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := perform(t, at0(url), string(text))
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			for i, want := range blocks(string(text)) {
				if got := blocks(got)[i]; got != want {
					t.Errorf("printed\n%s\nwant\n%s", got, want)
				}
			}
		})
	}
}

// perform runs the commands of a play and gives the play with what they print.
func perform(t *testing.T, p person, play string) string {
	t.Helper()
	var b strings.Builder
	for _, block := range blocks(play) {
		line, _, _ := strings.Cut(block, "\n")
		p.shows = strings.HasPrefix(line, "% ")
		r := p.run(t, fields(line[2:])...)
		fmt.Fprintf(&b, "%s\n%s", line, r.out)
		if r.out != "" && !strings.HasSuffix(r.out, "\n") {
			b.WriteString("\n[no newline]\n")
		}
		for line := range strings.Lines(r.err) {
			b.WriteString("! " + line)
		}
		if r.code != 0 {
			fmt.Fprintf(&b, "[exit %d]\n", r.code)
		}
		b.WriteString("\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// blocks are the commands of a play with what they print.
func blocks(play string) (all []string) {
	for line := range strings.Lines(play) {
		if strings.HasPrefix(line, "$ ") || strings.HasPrefix(line, "% ") {
			all = append(all, "")
		}
		all[len(all)-1] += line
	}
	for i := range all {
		all[i] = strings.TrimRight(all[i], "\n")
	}
	return all
}

// fields splits a command line at spaces that are not in quotes.
func fields(line string) (all []string) {
	for i, part := range strings.Split(line, "'") {
		if i%2 == 1 {
			all = append(all, part)
		} else {
			all = append(all, strings.Fields(part)...)
		}
	}
	return all
}

// always answers the same.
func always(answer any) func([]byte) any { return func([]byte) any { return answer } }

func emptyScene() script {
	return script{
		"queue.ls":   always(admin.QueueLsAnswer{Queues: []admin.Queue{}}),
		"queue.peek": always(admin.PeekAnswer{Messages: []admin.Message{}, Next: 1}),
		"dlq.ls":     always(admin.DLQLsAnswer{Letters: []admin.Letter{}, Progress: progress(0)}),
		"dlq.groups": always(admin.DLQGroupsAnswer{Groups: []dlq.GroupView{}, Progress: progress(0)}),
		"dlq.replay": always(admin.ReplayAnswer{Replayed: []admin.Replayed{}, Skipped: []admin.Skipped{}, Progress: progress(0)}),
		"dlq.purge":  always(admin.DLQPurgeAnswer{Progress: progress(0)}),
		"reload":     always(admin.Reloaded{Changes: []string{}}),
	}
}

func progress(through uint64) admin.Progress {
	return admin.Progress{DLQ: "orders-dlq", Through: through, Began: ago(0), Next: through + 1}
}

func ago(d time.Duration) *time.Time {
	t := today.Add(-d)
	return &t
}

func aQueue(name string) admin.Queue {
	return admin.Queue{
		Name: name, Source: "file", CreatedAt: ago(48 * time.Hour), DeadLetterQueue: name + "-dlq",
		VisibilityTimeout: 30 * time.Second,
		Totals:            admin.Totals{Died: map[string]uint64{"max_attempts": 0, "terminated": 0, "expired": 0, "limit_lowered": 0, "manual": 0}},
		Settings: admin.Settings{
			Subjects: []string{}, VisibilityTimeout: 30 * time.Second, VisibilityMin: 5 * time.Second, VisibilityMax: time.Hour, MaxAttempts: 5, Backoff: retry.Default(),
			MaxInFlight: 10_000, Push: admin.Push{MaxInFlightPerWorker: 1}, DedupeWindow: 2 * time.Minute,
			DeadLetter: admin.DeadLetter{Enabled: true},
		},
	}
}

func busyQueue() admin.Queue {
	q := aQueue("orders")
	q.Messages, q.Ready, q.Delayed, q.InFlight, q.Dead = 15, 12, 1, 2, 3
	q.Bytes, q.FirstSeq, q.LastSeq, q.Workers, q.WaitingPulls = 70_000, 4, 25, 2, 1
	q.OldestReadyAt, q.OldestReadyAge = ago(90*time.Minute), 90*time.Minute
	q.Settings.Subjects = []string{"shop.new", "shop.paid.>"}
	q.Settings.VisibilityAuto, q.VisibilityTimeout = true, 42*time.Second
	q.Totals.Published, q.Totals.Delivered, q.Totals.Acked, q.Totals.Naked = 25, 20, 7, 9
	return q
}

// noAdvice is of a queue that was just made, someAdvice of one where much
// happens.
func noAdvice() admin.Advice {
	return admin.Advice{Queue: "orders", Needed: 50, Now: admin.TimeoutCost{Timeout: 30 * time.Second, Redelivered: 31 * time.Second}}
}

func someAdvice() admin.Advice {
	v := noAdvice()
	v.Auto, v.Since, v.Answers = true, ago(2*time.Hour), 14_203
	v.Hold50, v.Hold99, v.Hold999 = 1_216_348_160, 8_455_716_864, 21_474_836_480
	v.Expired, v.Connected, v.Lost, v.Open, v.Late, v.Late50, v.LateMost = 12, 11, 2, 1, 9, 3*time.Second, 14*time.Second
	often, never := 0.00081, 0.0
	v.Now.Repeated = &often
	v.Advised = &admin.TimeoutCost{Timeout: 95 * time.Second, Repeated: &never, Redelivered: 96 * time.Second}
	return v
}

func aMessage(seq uint64, body string) admin.Message {
	return admin.Message{
		Queue: "orders", Seq: seq, State: "ready", Priority: 4, PublishedAt: ago(90 * time.Second),
		History: []dlq.AttemptView{}, Subject: "shop.new",
		Content: admin.Content{Headers: []admin.Header{}, Size: len(body), Data: []byte(body)},
	}
}

// hostile is text that would command a terminal or break a table.
const hostile = "bad\x1b[31m\tname\r\nä\u202e" + "!"

func manyMessages() []admin.Message {
	text := aMessage(4, `{"id":4,"text":"a body that is longer than what fits into one line"}`)
	text.Headers = []admin.Header{{Name: "Trace", Value: "1"}, {Name: "Trace", Value: hostile}}
	delayed := aMessage(5, "\x00\x01\xfe\xff binary")
	delayed.State, delayed.Attempt, delayed.ReadyAt = "delayed", 2, ago(-10*time.Second)
	delayed.History = history()
	flying := aMessage(6, "")
	flying.State, flying.Attempt, flying.Deadline, flying.Worker, flying.Key, flying.Priority = "in_flight", 1, ago(-20*time.Second), "w/1", "cust-7", 9
	return []admin.Message{text, delayed, flying}
}

func history() []dlq.AttemptView {
	return []dlq.AttemptView{
		{At: *ago(time.Minute), Ended: *ago(59 * time.Second), Worker: "w/1", Outcome: dlq.OutcomeNak, Error: "no row for 17"},
		{At: *ago(50 * time.Second), Ended: *ago(20 * time.Second), Worker: "w/2", Outcome: dlq.OutcomeTimeout},
	}
}

func aLetter(seq uint64, text string) admin.Letter {
	return admin.Letter{
		DLQ: "orders-dlq", Seq: seq, State: "ready", Error: text,
		LetterView: dlq.LetterView{
			Reason: dlq.ReasonMaxAttempts, Error: text, DiedAt: *ago(26 * time.Hour), OriginQueue: "orders", OriginSubject: "shop.new",
			OriginSeq: seq + 100, PublishedAt: *ago(27 * time.Hour), Attempts: 2, Replays: 1, History: history(),
		},
		Content: admin.Content{Headers: []admin.Header{{Name: "A", Value: "1"}}, Size: 5, Data: []byte("hello")},
	}
}

func oneScene() script {
	s := emptyScene()
	s["queue.ls"] = always(admin.QueueLsAnswer{Queues: []admin.Queue{aQueue("orders")}})
	s["queue.info"] = always(aQueue("orders"))
	s["queue.advise"] = always(noAdvice())
	s["queue.pause"] = always(aQueue("orders"))
	s["queue.resume"] = always(aQueue("orders"))
	s["queue.purge"] = always(admin.Removed{Queue: "orders", Removed: 1})
	s["queue.rm"] = always(admin.Removed{Queue: "orders", Removed: 1})
	s["queue.peek"] = always(admin.PeekAnswer{Messages: []admin.Message{aMessage(1, "hello")}, Next: 2})
	s["msg.get"] = always(aMessage(1, "hello"))
	s["msg.rm"] = always(admin.Removed{Queue: "orders", Removed: 1})
	s["msg.kill"] = always(admin.Killed{Queue: "orders", Seq: 1, DLQ: "orders-dlq"})
	s["dlq.ls"] = always(admin.DLQLsAnswer{Letters: []admin.Letter{aLetter(1, "")}, Progress: progress(1)})
	s["dlq.show"] = always(aLetter(1, ""))
	s["dlq.groups"] = always(admin.DLQGroupsAnswer{Groups: []dlq.GroupView{aGroup("no row for #", 1, 1)}, Letters: 1, Progress: progress(1)})
	s["dlq.replay"] = always(admin.ReplayAnswer{
		Picked: 1, Replayed: []admin.Replayed{{Seq: 1, Queue: "orders", NewSeq: 26}}, Skipped: []admin.Skipped{}, Progress: progress(1),
	})
	s["dlq.purge"] = always(admin.DLQPurgeAnswer{Picked: 1, Removed: 1, Progress: progress(1)})
	s["reload"] = always(admin.Reloaded{Changes: []string{"queues.orders.max_attempts: 5 -> 7"}})
	s["publish.orders"] = always(map[string]any{"stream": "orders", "seq": 26, "domain": "dsend"})
	return s
}

func aGroup(text string, count int, sample uint64) dlq.GroupView {
	return dlq.GroupView{
		Reason: dlq.ReasonMaxAttempts, Error: text, Subject: "shop.new", Count: count,
		First: *ago(27 * time.Hour), Last: *ago(time.Duration(sample) * time.Hour), Sample: text, SampleSeq: sample,
	}
}

// manyScene also answers in pages.
func manyScene() script {
	s := oneScene()
	paused := aQueue("mails")
	paused.Paused, paused.Undeclared = true, true
	s["queue.ls"] = turns(
		admin.QueueLsAnswer{Queues: []admin.Queue{paused, busyQueue()}, More: true},
		admin.QueueLsAnswer{Queues: []admin.Queue{aQueue("orders-dlq")}})
	s["queue.info"] = always(busyQueue())
	s["queue.advise"] = always(someAdvice())
	m := manyMessages()
	s["queue.peek"] = turns(
		admin.PeekAnswer{Messages: m[:2], Next: 6, More: true},
		admin.PeekAnswer{Messages: m[2:], Next: 7})
	s["msg.get"] = always(m[0])
	first, second := progress(3), progress(3)
	first.More, first.Next = true, 2
	s["dlq.ls"] = turns(
		admin.DLQLsAnswer{Letters: []admin.Letter{aLetter(1, "no row for 17")}, Progress: first},
		admin.DLQLsAnswer{Letters: []admin.Letter{aLetter(2, hostile), aLetter(3, strings.Repeat("long ", 30))}, Progress: second})
	s["dlq.show"] = always(aLetter(2, hostile))
	s["dlq.groups"] = turns(
		admin.DLQGroupsAnswer{Groups: []dlq.GroupView{aGroup("disk full", 1, 5)}, Letters: 1, Progress: first},
		admin.DLQGroupsAnswer{Groups: []dlq.GroupView{aGroup("no row for #", 3, 3), aGroup("disk full", 1, 2)}, Letters: 4, Progress: second})
	s["dlq.replay"] = turns(
		admin.ReplayAnswer{Picked: 1, Replayed: []admin.Replayed{{Seq: 1, Queue: "orders", NewSeq: 26}}, Progress: first},
		admin.ReplayAnswer{
			Picked: 2, Replayed: []admin.Replayed{{Seq: 3, Queue: "orders", NewSeq: 27}},
			Skipped: []admin.Skipped{{Seq: 2, Error: "message 2 of queue orders-dlq is with a worker"}}, Progress: second,
		})
	s["dlq.purge"] = turns(
		admin.DLQPurgeAnswer{Picked: 1, Removed: 1, Progress: first},
		admin.DLQPurgeAnswer{Picked: 1, Removed: 1, Stopped: &admin.Problem{Code: 503, Kind: "stopping", Description: "Dsend is stopping"}, Progress: second})
	return s
}

// turns answers with the first page, and with the second one when asked to go on.
func turns(first, second any) func([]byte) any {
	return func(request []byte) any {
		if strings.Contains(string(request), `"from":`) || strings.Contains(string(request), `"after":`) {
			return second
		}
		return first
	}
}
