package admin

import (
	"time"

	"dsend/dlq"
	"dsend/durable/queue"
)

// perQueue is a metric of each queue, with the label queue, and maybe another
// label that tells its series apart.
type perQueue struct {
	name, help string
	kind       string // of Prometheus
	label      string
	series     []series
}

// series is one value of a queue; word is that of the metric's label.
type series struct {
	word  string
	value func(*queue.Info, time.Time) float64
}

// perQueues are all metrics of a queue.
func perQueues() []perQueue {
	return append(append(gauges(), counters()...), states(), answers(), deaths())
}

func gauges() []perQueue {
	gauge := func(name, help string, value func(*queue.Info, time.Time) float64) perQueue {
		return perQueue{name: name, help: help, kind: "gauge", series: []series{{value: value}}}
	}
	return []perQueue{
		gauge("letters", "Dead letters of any queue held here.",
			func(i *queue.Info, _ time.Time) float64 { return float64(i.Letters) }),
		gauge("bytes", "Bytes of the messages stored.",
			func(i *queue.Info, _ time.Time) float64 { return float64(i.Bytes) }),
		gauge("oldest_ready_age_seconds", "Age of the oldest ready message; 0 without one.",
			func(i *queue.Info, now time.Time) float64 { return oldestAge(*i, now).Seconds() }),
		gauge("waiting_pulls", "Pulls that wait for messages.",
			func(i *queue.Info, _ time.Time) float64 { return float64(i.WaitingPulls) }),
		gauge("workers", "Members of the groups that messages are pushed to.",
			func(i *queue.Info, _ time.Time) float64 { return float64(i.Workers) }),
		gauge("visibility_timeout_seconds", "The visibility timeout in force, also if it is automatic.",
			func(i *queue.Info, _ time.Time) float64 { return i.Visibility.Seconds() }),
		gauge("paused", "1 while nothing is delivered on purpose.",
			func(i *queue.Info, _ time.Time) float64 { return truth(i.Paused) }),
	}
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

// count is the series of a total.
func count(word string, value func(*queue.Totals) uint64) series {
	return series{word, func(i *queue.Info, _ time.Time) float64 { return float64(value(&i.Totals)) }}
}

func counters() []perQueue {
	counter := func(name, help string, value func(*queue.Totals) uint64) perQueue {
		return perQueue{name: name + "_total", help: help, kind: "counter", series: []series{count("", value)}}
	}
	return []perQueue{
		counter("publishes", "Messages stored.", func(t *queue.Totals) uint64 { return t.Published }),
		counter("duplicates", "Publishes answered with an earlier message of the same id.", func(t *queue.Totals) uint64 { return t.Duplicates }),
		counter("refused", "Publishes refused.", func(t *queue.Totals) uint64 { return t.Refused }),
		counter("deliveries", "Messages handed to workers.", func(t *queue.Totals) uint64 { return t.Delivered }),
		counter("acks", "Messages done.", func(t *queue.Totals) uint64 { return t.Acked }),
		counter("naks", "Attempts that a worker said have failed.", func(t *queue.Totals) uint64 { return t.Naked }),
		counter("timeouts", "Attempts that nobody answered in time.", func(t *queue.Totals) uint64 { return t.TimedOut }),
		counter("gone", "Attempts whose worker went away.", func(t *queue.Totals) uint64 { return t.Gone }),
		counter("given_back", "Deliveries given back unworked.", func(t *queue.Totals) uint64 { return t.GivenBack }),
		counter("terminated", "Attempts that a worker said must not be repeated.", func(t *queue.Totals) uint64 { return t.Terminated }),
		counter("extended", "Deadlines begun anew by a worker at work.", func(t *queue.Totals) uint64 { return t.Extended }),
		counter("dropped", "Messages given up and not kept.", func(t *queue.Totals) uint64 { return t.Dropped }),
		counter("replays", "Dead letters brought back to this queue.", func(t *queue.Totals) uint64 { return t.Replayed }),
		counter("removed", "Messages removed by people.", func(t *queue.Totals) uint64 { return t.Removed }),
	}
}

func states() perQueue {
	state := func(phase queue.Phase, value func(*queue.Info) int64) series {
		return series{phase.String(), func(i *queue.Info, _ time.Time) float64 { return float64(value(i)) }}
	}
	return perQueue{
		name: "messages", help: "Messages by state; those of a queue that are dead are held by its dead-letter queue.", kind: "gauge",
		label: "state", series: []series{
			state(queue.Ready, func(i *queue.Info) int64 { return i.Ready }),
			state(queue.Delayed, func(i *queue.Info) int64 { return i.Delayed }),
			state(queue.InFlight, func(i *queue.Info) int64 { return i.InFlight }),
			state(queue.Dead, func(i *queue.Info) int64 { return i.Dead }),
		},
	}
}

func answers() perQueue {
	return perQueue{
		name: "odd_answers_total", help: "Answers that came too late, were stale, for a message that was gone, or invalid.", kind: "counter",
		label: "result", series: []series{
			count(queue.ResultLate.String(), func(t *queue.Totals) uint64 { return t.Late }),
			count(queue.ResultStale.String(), func(t *queue.Totals) uint64 { return t.Stale }),
			count(queue.ResultGone.String(), func(t *queue.Totals) uint64 { return t.GoneAnswers }),
			count(queue.ResultInvalid.String(), func(t *queue.Totals) uint64 { return t.Invalid }),
		},
	}
}

func deaths() perQueue {
	m := perQueue{name: "deaths_total", help: "Messages that became dead letters, by reason.", kind: "counter", label: "reason"}
	for r := range (queue.Totals{}).Died {
		if word, ok := reasonWord(r); ok {
			m.series = append(m.series, count(word, func(t *queue.Totals) uint64 { return t.Died[r] }))
		}
	}
	return m
}

// reasonWord is the word of a reason that there is.
func reasonWord(r int) (word string, ok bool) {
	word = dlq.Reason(r).String()
	_, err := dlq.ParseReason(word)
	return word, err == nil
}
