package system

import (
	"errors"
	"testing"
	"time"
)

// H3: whoever asks for a queue that is not there is told at once, and whoever waits
// on one that goes away too.
func TestH3_QueueThatIsMissingOrGoesAway(t *testing.T) {
	t.Parallel()
	s := start(t, setup{config: settings("orders")})
	c := s.connect(t)
	begin := time.Now()
	p, err := c.pull("no-such", pull{Batch: 1, Expires: 5 * time.Minute})
	if err != nil || p.status != "404 Queue Not Found" {
		t.Errorf("pull: %q after %s, %v", p.status, p.took, err)
	}
	checkSoon(t, "the end of a pull on no queue", begin, time.Second)
	_, err = c.publish(plain("no-such", "x"))
	var refused *refusal
	if !errors.As(err, &refused) || refused.Code != 404 || refused.ErrCode != 10059 {
		t.Errorf("publish: %v", err)
	}

	const parked = 20
	subs := c.parkAll(t, "orders", parked)
	c.restPulls(t, "orders", parked)
	begin = time.Now()
	if r := s.dsend(t, "queue", "rm", "orders", "--force"); r.code != 0 {
		t.Fatalf("dsend queue rm: %+v", r)
	}
	for _, sub := range subs {
		m, err := sub.NextMsg(patience)
		if err != nil {
			t.Fatal(err)
		}
		if m.Header.Get("Status") != "409" || m.Header.Get("Description") != "Consumer Deleted" {
			t.Errorf("the end of a pull on a queue that was removed: %v", m.Header)
		}
	}
	checkSoon(t, "that they were told", begin, time.Second)
}
