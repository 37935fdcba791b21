package queue

import (
	"fmt"
	"strings"
	"time"
)

// consumer makes the op of a command about a consumer.
func (w *words) consumer(queue, name string) Op {
	switch w.plain[0] {
	case "hold":
		return &PauseConsumer{queue, name, epoch + int64(w.duration(w.plain[3]))}
	case "release":
		return &PauseConsumer{Queue: queue, Name: name}
	case "dismiss":
		return &RemoveConsumer{queue, name}
	}
	s := ConsumerSettings{
		VisibilityTimeout: w.time("visibility", 0), MaxAttempts: w.number("attempts", 0),
		MaxInFlight: w.number("in_flight", 0), MaxWaiting: w.number("waiting", 0),
		MaxBatch: w.number("batch", 0), MaxExpires: w.time("expires", 0), MaxBytes: w.number("bytes", 0),
		InactiveThreshold: w.time("inactive", 0),
	}
	if list := w.text("backoff", ""); list != "" {
		for _, d := range strings.Split(list, ",") {
			s.Backoff = append(s.Backoff, w.duration(d))
		}
	}
	return &DeclareConsumer{Queue: queue, Name: name, Settings: s, MustCreate: w.has("create"), MustExist: w.has("exist")}
}

// consumers says how the consumers of a queue are.
func (st *stage) consumers(queue string) {
	infos, _, err := st.state.Consumers(queue)
	switch {
	case err != nil:
		st.say("refused: %s", err.Text)
	case len(infos) == 0:
		st.say("no consumers")
	}
	for _, i := range infos {
		text := fmt.Sprintf("%s: %d pending, %d in flight, %d redelivered, %d waiting, delivered %d to seq %d, answered %d, done to seq %d",
			i.Name, i.Pending, i.InFlight, i.Redelivered, i.Waiting, i.Delivered, i.TopSeq, i.Answered, i.DoneSeq)
		if i.Active != 0 {
			text += ", last at " + short(i.Active-epoch)
		}
		if i.Paused {
			text += ", paused until " + short(i.Settings.PausedUntil-epoch)
		}
		if t := i.Settings.InactiveThreshold; t > 0 {
			text += fmt.Sprintf(", %s of patience", t.Round(time.Millisecond))
		}
		st.say("%s", text)
	}
}
