package system

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// Who asks without headers gets the user's alone, and still what a dead letter
// was.
func TestPull_NoHeaders(t *testing.T) {
	t.Parallel()
	s := start(t, setup{})
	c := s.connect(t)
	c.put(t, plain("orders", "with").with("X-User", "1"))
	c.put(t, plain("orders", "without"))
	p, err := c.pull("orders", pull{Batch: 2, Expires: patience, NoHeaders: true})
	if err != nil || len(p.msgs) != 2 {
		t.Fatalf("%v %v", p.msgs, err)
	}
	for i, want := range []string{"X-User", ""} {
		d := p.msgs[i]
		var keys []string
		for key := range d.Header {
			keys = append(keys, key)
		}
		if strings.Join(keys, " ") != want || d.attempt != 1 || d.Subject != "dsend.publish.orders" {
			t.Errorf("%q came with headers %v, attempt %d, on %s", d.Data, keys, d.attempt, d.Subject)
		}
		d.must(t, term+" no use", "ok")
	}
	p, err = c.pull("orders-dlq", pull{Batch: 2, Expires: 5 * time.Second, NoHeaders: true})
	if err != nil || len(p.msgs) != 2 {
		t.Fatalf("%v %v", p.msgs, err)
	}
	if said := p.msgs[0].Header; !slices.Equal(said["Dsend-Dead-Error"], []string{"no use"}) || said.Get("X-User") != "1" {
		t.Errorf("a dead letter came with headers %v", said)
	}
}
