package system

import (
	"slices"
	"strconv"
	"testing"
	"time"
)

// F1: poison at the head does not block the rest. One worker, one message in
// flight; message 1 fails by nak, message 2 by silence (which alone holds the only place), 3
// to 500 are fine.
func TestF1_PoisonAtTheHeadBlocksNobody(t *testing.T) {
	t.Parallel()
	const all, visibility = 500, 500 * time.Millisecond
	s := start(t, setup{config: settings("orders", "max_in_flight: 1", "visibility_timeout: 30s", "max_attempts: 3", "backoff: {list: [800ms], jitter: 0}")})
	c := s.connect(t)
	outs := make([]out, all)
	for i := range outs {
		outs[i] = plain("orders", strconv.Itoa(i+1))
		if i == 1 {
			outs[i] = outs[i].with("Dsend-Visibility-Timeout", visibility.String())
		}
	}
	c.putAll(t, outs)

	var order []string
	begin, silent := time.Now(), time.Duration(0)
	for len(order) < all-2+2*3 {
		d := c.one(t, "orders")
		order = append(order, string(d.Data))
		switch string(d.Data) {
		case "1":
			d.must(t, nak, "ok")
		case "2":
			silent += visibility // nothing is said; the next pull waits for it
		default:
			d.must(t, ack, "ok")
		}
	}
	took := time.Since(begin)
	c.rest(t, "orders", counts{Dead: 2})

	for _, poison := range []string{"1", "2"} {
		first := slices.Index(order, poison)
		again := first + 1 + slices.Index(order[first+1:], poison)
		if again-first < 3 {
			t.Errorf("message %s came again after %d others: %v", poison, again-first-1, order[:10])
		}
	}
	if between := slices.Index(order, "500"); between < 0 {
		t.Error("message 500 was not done")
	}
	fine := (took - silent) / all
	t.Logf("%s in all, %s of them silence, %s a message", took, silent, fine)
	letters, err := c.letters("orders", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range letters {
		want := map[string]string{"1": "nak", "2": "timeout"}[string(d.Data)]
		if !slices.Equal(d.outcomes(), []string{want, want, want}) || d.Reason != "max_attempts" {
			t.Errorf("message %s: %s, %v", d.Data, d.Reason, d.outcomes())
		}
	}
}
