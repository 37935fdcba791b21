package retry_test

import (
	"fmt"
	"time"

	"dsend/retry"
)

func ExamplePolicy() {
	p := retry.Default()
	fmt.Println(p, p.Timetable(5))
	lo, hi := p.Bounds(3)
	fmt.Println("after the third attempt:", lo, "to", hi)
	// Output:
	// 1s ×2 ≤10m −20% [1s 2s 4s 8s]
	// after the third attempt: 3.2s to 4s
}

func ExampleSchedule() {
	type message struct {
		seq int
		due retry.Deadline
	}
	due := retry.NewSchedule(func(m *message) *retry.Deadline { return &m.due })
	due.Set(&message{seq: 1}, int64(time.Hour)) // a long wait hides no short one
	due.Set(&message{seq: 2}, int64(time.Second))

	at, _ := due.Next()
	fmt.Println("wake at", time.Duration(at))
	for m, ok := due.Pop(at); ok; m, ok = due.Pop(at) {
		fmt.Println("message", m.seq, "is due")
	}
	fmt.Println(due.Len(), "still waits")
	// Output:
	// wake at 1s
	// message 2 is due
	// 1 still waits
}
