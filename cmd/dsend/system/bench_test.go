package system

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"dsend/cmd/dsend/bench"
)

// What dsend bench counts as answered was on disk: of every answer that goes to
// the server's socket, the message was written to the log before a sync that had
// ended by then.
func TestBench_EveryAnswerFollowsItsSync(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	c := s.connect(t)
	c.put(t, plain("bench", "the queue is there"))
	x := s.trace(t, "-y", "-s", "16777216", "-e", "trace=write,fsync,fdatasync")
	const published = 2000
	target := bench.Server{URL: s.url(), Mode: bench.Native, Prefix: "dsend", Queue: "bench"}
	for _, l := range []bench.Load{
		{Publishers: 4, Window: 64, Size: 64, Count: published - 100},
		{Publishers: 1, Window: 1, Size: 64, Count: 100},
	} {
		if _, err := bench.Run(context.Background(), target, l, nil); err != nil {
			t.Fatal(err)
		}
	}
	x.detach()
	text, err := os.ReadFile(x.log)
	if err != nil {
		t.Fatal(err)
	}
	w := witness{written: 1, durable: 1, answered: 1, syncing: map[string]uint64{}}
	for line := range strings.Lines(string(text)) {
		if err := w.see(line); err != nil {
			t.Fatal(err)
		}
	}
	if w.written != published+1 || w.answered != published+1 || w.syncs < 100 {
		t.Errorf("%d written, %d answered, %d syncs; %d were published", w.written, w.answered, w.syncs, published)
	}
}

// witness follows the system calls of a server: it counts the messages of the
// one queue that are in the log, that a sync has made durable, and that are
// answered. Their sequences are in order, as they are written.
type witness struct {
	written, durable, answered uint64
	syncs                      int
	syncing                    map[string]uint64 // thread, and what was written when its sync began
}

var answeredSeq = regexp.MustCompile(`\\"seq\\":(\d+)`)

func (w *witness) see(line string) error {
	thread, call, _ := strings.Cut(line, " ")
	call = strings.TrimSpace(call)
	switch {
	case strings.HasPrefix(call, "write(") && strings.Contains(call[:min(len(call), 300)], ".gen/"):
		w.written += uint64(strings.Count(call, "dsend.publish.bench"))
	case strings.HasPrefix(call, "write("):
		for _, found := range answeredSeq.FindAllStringSubmatch(call, -1) {
			seq, err := strconv.ParseUint(found[1], 10, 64)
			if err != nil {
				return err
			}
			if seq > w.durable {
				return fmt.Errorf("message %d was answered when %d were durable: %.200s", seq, w.durable, line)
			}
			w.answered = max(w.answered, seq)
		}
	case strings.HasPrefix(call, "fsync(") || strings.HasPrefix(call, "fdatasync("):
		w.syncing[thread] = w.written
		if !strings.Contains(call, "<unfinished") {
			w.synced(thread, call)
		}
	case strings.HasPrefix(call, "<... fsync resumed>") || strings.HasPrefix(call, "<... fdatasync resumed>"):
		w.synced(thread, call)
	}
	return nil
}

func (w *witness) synced(thread, call string) {
	if strings.HasSuffix(call, "= 0") {
		w.durable = max(w.durable, w.syncing[thread])
		w.syncs++
	}
}
