package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"go.uber.org/goleak"
)

// program is the dsend that takes part.
var program string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "dsend-bench-test-")
	if err != nil {
		panic(err)
	}
	program = filepath.Join(dir, "dsend")
	if out, err := exec.Command("go", "build", "-o", program, "dsend/cmd/dsend").CombinedOutput(); err != nil {
		panic(fmt.Sprintf("go build: %v\n%s", err, out))
	}
	code := m.Run()
	_ = os.RemoveAll(dir)
	if code == 0 {
		if err := goleak.Find(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

func self(args ...string) *exec.Cmd { return exec.Command(program, args...) }

// contenderOf starts a contender for the time of a test.
func contenderOf(t *testing.T, kind Kind) *contender {
	t.Helper()
	c, err := launch(t.Context(), self, kind, filepath.Join(t.TempDir(), "data"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.stop(); err != nil {
			t.Error(err)
		}
	})
	return c
}

// tiny is the least that touches everything.
var tiny = Plan{
	Name: "tiny", Rounds: 1, Round: 100 * time.Millisecond, Drain: 2000, Backlog: 3000, Piece: 1000,
	Queues: 20, LogBytes: 2 << 20, LargeSize: 16 << 10, Delayed: 500, Pulls: 20, Idle: 100 * time.Millisecond, DelayTimed: 50,
}

// Every row of the table is measured, from contenders that really run, and
// nothing is left of them.
func TestCompare(t *testing.T) {
	dir := t.TempDir()
	c := Comparer{Self: self, Dir: dir, Plan: tiny, Say: t.Logf}
	got, err := c.Compare(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Rows) != 17 { // of the 14 targets one has two parts, two are measured in both modes
		t.Errorf("%d rows, want 17", len(got.Rows))
	}
	for _, r := range got.Rows {
		if r.Unit == "×" && r.Spread.Median <= 0 || r.Spread.Min > r.Spread.Median || r.Spread.Median > r.Spread.Max {
			t.Errorf("%s: %+v", r.What, r.Spread)
		}
	}
	if got.Device.Count == 0 {
		t.Error("the device was not measured")
	}
	left, err := os.ReadDir(dir)
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
	var table, markdown bytes.Buffer
	if err := got.Print(&table); err != nil {
		t.Fatal(err)
	}
	if err := got.Markdown(&markdown); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(table.String(), "()") {
		t.Errorf("what a row is made of is shown where nothing is told:\n%s", table.String())
	}
	for _, r := range got.Rows {
		if !strings.Contains(table.String(), r.Note) || !strings.Contains(markdown.String(), r.What) {
			t.Errorf("not shown: %+v", r)
		}
	}
}

func TestCompareUnknownPart(t *testing.T) {
	_, err := Comparer{Only: "nothing"}.Compare(t.Context())
	if err == nil || !strings.Contains(err.Error(), `"nothing" is not a part`) {
		t.Error(err)
	}
}

// A comparison that is interrupted leaves neither processes nor data.
func TestCompareInterrupted(t *testing.T) {
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	plan := tiny
	plan.Rounds = 1000
	said := 0
	c := Comparer{Self: self, Dir: dir, Plan: plan, Only: "small", Say: func(string, ...any) {
		if said++; said == 2 {
			cancel()
		}
	}}
	if _, err := c.Compare(ctx); err == nil {
		t.Error("no error")
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

// What was published is what is delivered, in both modes.
func TestLoad(t *testing.T) {
	for _, kind := range []Kind{KindDsend, KindDialect, KindJetStream} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			c := contenderOf(t, kind)
			r, err := Run(t.Context(), c.Server, filled(3000), nil)
			if err != nil {
				t.Fatal(err)
			}
			if r.Published != 3000 || r.Publish.Count != 3000 || r.PublishRate <= 0 {
				t.Errorf("%+v", r)
			}
			if c.Metrics != "" && (r.PerSync < 1 || r.PerSync > 1024) {
				t.Errorf("%v messages per sync of 1024 that are open", r.PerSync)
			}
			if r, err = Run(t.Context(), c.Server, emptied(3000), nil); err != nil {
				t.Fatal(err)
			}
			if r.Delivered != 3000 {
				t.Errorf("%+v", r)
			}
			shown := 0
			life := Load{Publishers: 1, Window: 8, Size: 100, Workers: 1, Batch: 10, Duration: time.Second}
			if r, err = Run(t.Context(), c.Server, life, func(Progress) { shown++ }); err != nil {
				t.Fatal(err)
			}
			if r.Deliver.Count == 0 || r.Deliver.P50 <= 0 || r.Deliver.Max > time.Minute || shown == 0 {
				t.Errorf("%+v, shown %d times", r, shown)
			}
			if err := c.remove(t.Context()); err != nil {
				t.Error(err)
			}
		})
	}
}

// A load takes no more than it was told to, and tells the latency of what it has
// published itself: of what others have, it is not known.
func TestLoadIsItsOwn(t *testing.T) {
	c := contenderOf(t, KindDsend)
	if r, err := Run(t.Context(), c.Server, filled(3000), nil); err != nil || r.Published != 3000 {
		t.Fatalf("%+v %v", r, err)
	}
	r, err := Run(t.Context(), c.Server, Load{Workers: 2, Batch: 50, Count: 700}, nil)
	if err != nil || r.Delivered != 700 {
		t.Fatalf("%d deliveries of the 700 that were asked for: %v", r.Delivered, err)
	}
	r, err = Run(t.Context(), c.Server, Load{Publishers: 1, Window: 8, Size: 100, Workers: 1, Batch: 10, Duration: 500 * time.Millisecond}, nil)
	if err != nil || r.Delivered <= uint64(r.Deliver.Count) || r.Deliver.Max > time.Duration(r.Seconds*float64(time.Second)) {
		t.Fatalf("%+v %v", r, err)
	}
}

func TestResultOfNothing(t *testing.T) {
	if got := (Result{}).String(); got != "nothing published or delivered" {
		t.Error(got)
	}
}

// A rate that a server cannot keep up with ends with its duration all the same.
func TestRateOutOfReach(t *testing.T) {
	c := contenderOf(t, KindEcho)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	r, err := Run(ctx, c.Server, Load{Publishers: 1, Window: 1, Size: 8, Rate: 1e15, Duration: 100 * time.Millisecond}, nil)
	if err != nil || r.Published == 0 {
		t.Fatalf("%+v %v", r, err)
	}
}

// With a rate, a server that stalls does not look better for being asked less: the
// publishes that should have been sent meanwhile count as late.
func TestRateCountsWhatShouldHaveBeenSent(t *testing.T) {
	const stall = 500 * time.Millisecond
	c := contenderOf(t, KindEcho)
	nc, err := nats.Connect(c.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	n := 0
	if _, err := nc.Subscribe("slow.publish.q", func(m *nats.Msg) {
		if n++; n == 10 {
			time.Sleep(stall) // this is the fault, not a way to wait
		}
		_ = m.Respond([]byte("{}"))
	}); err != nil {
		t.Fatal(err)
	}
	if err := nc.Flush(); err != nil {
		t.Fatal(err)
	}
	s := Server{URL: c.URL, Mode: Native, Prefix: "slow", Queue: "q"}
	r, err := Run(t.Context(), s, Load{Publishers: 1, Window: 1, Size: 8, Rate: 1000, Count: 1000}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if r.Published != 1000 || r.Publish.Max < stall || r.Publish.P90 < stall/10 {
		t.Errorf("a stall of %v in a second of a publish per ms: %+v", stall, r.Publish)
	}
}

func TestLoadRefused(t *testing.T) {
	c := contenderOf(t, KindEcho)
	nobody := Server{URL: c.URL, Mode: Native, Prefix: "nobody", Queue: "q"}
	if _, err := Run(t.Context(), nobody, emptied(1), nil); err == nil || err.Error() != "pull on nobody.pull.q: nobody answers there" {
		t.Error(err)
	}
	for want, s := range map[string]Server{
		"nobody answers": nobody,
		"bad.stream":     {URL: c.URL, Mode: JetStream, Queue: "bad.stream"},
		"metrics":        {URL: c.URL, Mode: Native, Prefix: "dsend", Queue: "q", Metrics: "http://127.0.0.1:1/metrics"},
	} {
		if _, err := Run(t.Context(), s, filled(1), nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	for _, l := range []Load{
		{}, {Publishers: 1, Size: 8, Count: 1}, {Publishers: 1, Window: 1, Count: 1}, {Workers: 1, Count: 1},
		{Workers: 1, Batch: 1}, {Workers: 1, Batch: 1, Count: -1}, {Publishers: -1, Workers: 1, Batch: 1, Count: 1},
		{Publishers: 1, Window: 1, Size: 8, Count: 1, Rate: math.NaN()}, {Publishers: 1, Window: 1, Size: 8, Count: 1, Rate: math.Inf(1)},
	} {
		if _, err := Run(t.Context(), c.Server, l, nil); err == nil {
			t.Errorf("%+v is taken", l)
		}
	}
}

// A server that goes away ends the load at once.
func TestServerLost(t *testing.T) {
	c, err := launch(t.Context(), self, KindEcho, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	load := Load{Publishers: 1, Window: 1, Size: 8, Duration: time.Hour}
	stopped := make(chan error, 1)
	once := false
	_, err = Run(t.Context(), c.Server, load, func(p Progress) {
		if p.Published > 0 && !once {
			once = true
			go func() { stopped <- c.stop() }()
		}
	})
	if err == nil || !strings.Contains(err.Error(), errGone.Error()) {
		t.Error(err)
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

func TestContenderThatFails(t *testing.T) {
	_, err := launch(t.Context(), self, Kind("nothing"), t.TempDir())
	if err == nil || !strings.Contains(err.Error(), `"nothing" is not a contender`) {
		t.Error(err)
	}
}

// The time of a process grows with what it does, and is that of nobody else.
func TestProcessTime(t *testing.T) {
	begin, err := processTime(os.Getpid())
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip("not known on this system")
	}
	if err != nil {
		t.Fatal(err)
	}
	for end, now := time.Now().Add(time.Minute), begin; now < begin+50*time.Millisecond; {
		if now, err = processTime(os.Getpid()); err != nil || time.Now().After(end) {
			t.Fatalf("%v after a minute of work, %v before (%v)", now, begin, err)
		}
	}
	if _, err := processTime(0); err == nil {
		t.Error("process 0 has a time")
	}
}

func TestSpread(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   Spread
	}{
		{nil, Spread{}},
		{[]float64{2}, Spread{2, 2, 2}},
		{[]float64{3, 1, 2}, Spread{1, 2, 3}},
		{[]float64{4, 1, 3, 2}, Spread{1, 2.5, 4}},
	} {
		if got := spreadOf(c.values); got != c.want {
			t.Errorf("%v: %v", c.values, got)
		}
	}
}
