package main

import (
	"testing"

	"dsend/cmd/dsend/bench"
)

// The loads of dsend bench, on a server that somebody else runs.
func TestBenchLoads(t *testing.T) {
	p := realDsend(t)
	published := document[bench.Result](t, p.run(t, "bench", "pub", "orders", "--count", "500", "--duration", "0", "--json").ok(t))
	if published.Published != 500 || published.PerSync != 0 || published.Device != nil {
		t.Errorf("%+v", published)
	}
	if n := p.queue(t, "orders").Ready; n != 500 {
		t.Errorf("%d messages are there, not the 500 that were published", n)
	}
	worked := document[bench.Result](t, p.run(t, "bench", "work", "orders", "--count", "500", "--device", t.TempDir(), "--json").ok(t))
	if worked.Delivered != 500 || worked.Device == nil || worked.Device.Count == 0 {
		t.Errorf("%+v", worked)
	}
	eventually(t, "the acks are done", func() bool { return p.queue(t, "orders").Ready+p.queue(t, "orders").InFlight == 0 })
	p.run(t, "bench", "life", "orders", "--duration", "100ms").ok(t)
}
