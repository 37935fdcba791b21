package throughput

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
)

// The load: SPEC's reference.
const (
	connections = 4
	outstanding = 256 // per connection
	bodySize    = 256 // bytes
	rounds      = 5
	roundTime   = 3 * time.Second
	subject     = "dsend.publish.bench"
)

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVariable); role != "" {
		serve(role)
		return
	}
	os.Exit(m.Run())
}

// contenders in the order they take turns.
var contenders = []string{"dsend", "echo", "jetstream", "jetstream-always"}

func BenchmarkThroughput(b *testing.B) {
	rates, p99s := map[string][]float64{}, map[string][]time.Duration{}
	urls := map[string]string{}
	for _, name := range contenders {
		urls[name] = start(b, name)
	}
	for b.Loop() {
		for range rounds {
			for _, name := range contenders {
				rate, p99 := load(b, urls[name])
				rates[name] = append(rates[name], rate)
				p99s[name] = append(p99s[name], p99)
			}
		}
	}
	report(b, rates, p99s)
}

// report prints the medians, and the ratios of the rounds.
func report(b *testing.B, rates map[string][]float64, p99s map[string][]time.Duration) {
	fmt.Printf("\n%d connections × %d outstanding × %d B, %d rounds of %s in turn\n", connections, outstanding, bodySize, rounds, roundTime)
	fmt.Printf("%-18s %12s %12s   %s\n", "", "publishes/s", "p99", "dsend ÷ it: min, median, max")
	for _, name := range contenders {
		var ratios []float64
		for i, r := range rates[name] {
			ratios = append(ratios, rates["dsend"][i]/r)
		}
		slices.Sort(ratios)
		fmt.Printf("%-18s %12.0f %12s   %.2f  %.2f  %.2f\n", name, median(rates[name]), median(p99s[name]).Round(10*time.Microsecond),
			ratios[0], median(ratios), ratios[len(ratios)-1])
		b.ReportMetric(median(rates[name]), name+"/s")
	}
}

func median[T float64 | time.Duration](v []T) T {
	s := slices.Sorted(slices.Values(v))
	return s[len(s)/2]
}

// load publishes for a round and gives answers per second and the 99th
// percentile of their latency.
func load(b *testing.B, url string) (rate float64, p99 time.Duration) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	var all []time.Duration
	begin := time.Now()
	for range connections {
		wg.Go(func() {
			took, err := publish(url, begin.Add(roundTime))
			if err != nil {
				b.Errorf("%s: %v", url, err)
			}
			mu.Lock()
			all = append(all, took...)
			mu.Unlock()
		})
	}
	wg.Wait()
	if len(all) == 0 {
		b.Fatal("nothing was answered")
	}
	slices.Sort(all)
	return float64(len(all)) / time.Since(begin).Seconds(), all[len(all)*99/100]
}

// publish keeps a window of publishes open on one connection.
func publish(url string, until time.Time) ([]time.Duration, error) {
	nc, err := nats.Connect(url)
	if err != nil {
		return nil, err
	}
	defer nc.Close()
	inbox := nats.NewInbox()
	sub, err := nc.SubscribeSync(inbox + ".*")
	if err != nil {
		return nil, err
	}
	if err := sub.SetPendingLimits(-1, -1); err != nil {
		return nil, err
	}
	body := make([]byte, bodySize)
	sent := make([]time.Time, outstanding)
	replies := make([]string, outstanding)
	for i := range outstanding {
		replies[i] = fmt.Sprintf("%s.%d", inbox, i)
		sent[i] = time.Now()
		if err := nc.PublishRequest(subject, replies[i], body); err != nil {
			return nil, err
		}
	}
	var took []time.Duration
	for open := outstanding; open > 0; open-- {
		m, err := sub.NextMsg(10 * time.Second)
		if err != nil {
			return nil, err
		}
		if strings.Contains(string(m.Data), "error") {
			return nil, fmt.Errorf("refused: %s", m.Data)
		}
		var i int
		if _, err := fmt.Sscan(m.Subject[len(inbox)+1:], &i); err != nil {
			return nil, err
		}
		now := time.Now()
		took = append(took, now.Sub(sent[i]))
		if now.Before(until) {
			sent[i] = now
			if err := nc.PublishRequest(subject, replies[i], body); err != nil {
				return nil, err
			}
			open++
		}
	}
	return took, nil
}

// start runs a contender in a process of its own and gives its address.
func start(b *testing.B, name string) string {
	b.Helper()
	dir := b.TempDir()
	ctx, cancel := context.WithCancel(context.Background())
	var cmd *exec.Cmd
	if name == "dsend" {
		binary := filepath.Join(dir, "dsend")
		if out, err := exec.Command("go", "build", "-o", binary, "dsend/cmd/dsend").CombinedOutput(); err != nil {
			b.Fatalf("build: %v\n%s", err, out)
		}
		cmd = exec.CommandContext(ctx, binary, "serve", "--listen", "127.0.0.1:0", "--http", "", "--data", filepath.Join(dir, "data"))
	} else {
		cmd = exec.CommandContext(ctx, os.Args[0])
		cmd.Env = append(os.Environ(), roleVariable+"="+name, "DIR="+dir)
	}
	cmd.Stderr = os.Stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		cancel()
		_ = cmd.Wait() // it was interrupted
	})
	for lines := bufio.NewScanner(stdout); lines.Scan(); {
		if i := strings.Index(lines.Text(), "nats://"); i >= 0 {
			return strings.Fields(lines.Text()[i:])[0]
		}
	}
	b.Fatalf("%s did not start", name)
	return ""
}
