package dlq_test

import (
	"fmt"
	"time"

	"dsend/dlq"
)

func ExampleHistory() {
	var h dlq.History
	h = h.Add(dlq.Attempt{Worker: "mailer-1", Outcome: dlq.OutcomeNak, Error: "smtp: 451 try later\r\n"})
	h = h.Add(dlq.Attempt{Worker: "mailer-2", Outcome: dlq.OutcomeTimeout})
	for a := range h.All() {
		fmt.Printf("%s: %s %q\n", a.Worker, a.Outcome, a.Error)
	}
	// Output:
	// mailer-1: nak "smtp: 451 try later"
	// mailer-2: timeout ""
}

func ExampleGroups() {
	var g dlq.Groups
	for seq := uint64(1); seq <= 3; seq++ {
		g.Add(seq, &dlq.Letter{
			Reason:        dlq.ReasonMaxAttempts,
			Error:         fmt.Sprintf("no row for order %d", seq),
			OriginSubject: fmt.Sprintf("orders.%d.paid", seq),
		})
	}
	for _, c := range g.Sorted() {
		fmt.Println(c.Count, c.Reason, c.Error, c.Subject)
	}
	// Output: 3 max_attempts no row for order # orders.*.paid
}

// Five letters are replayed at two a second. The clock is a number.
func ExamplePlan() {
	plan := dlq.Plan{Rate: 2, Before: 5, Filter: dlq.Filter{Error: "refused"}}
	letter := &dlq.Letter{Error: "connection refused"}
	now := int64(0)
	for !plan.Done() {
		seq := plan.Scanned + 1
		if plan.Picks(seq, letter) {
			now, _ = plan.Next(now) // a real caller comes back then
			plan.Take(now, 1)
			fmt.Println("replay", seq, "at", time.Duration(now))
		}
		plan.Scan(seq)
	}
	// Output:
	// replay 1 at 0s
	// replay 2 at 500ms
	// replay 3 at 1s
	// replay 4 at 1.5s
	// replay 5 at 2s
}
