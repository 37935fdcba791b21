package bench

import "time"

// Plan is how much a comparison does.
type Plan struct {
	Name       string        `json:"name"`
	Rounds     int           `json:"rounds"`
	Round      time.Duration `json:"round_ns"` // of one contender
	Drain      int           `json:"drain"`    // messages of the backlog that is drained
	Backlog    int           `json:"backlog"`  // messages of the one that is not in memory
	Piece      int           `json:"piece"`    // messages of it that are drained in a round, and of one in memory
	Queues     int           `json:"queues"`
	LogBytes   int64         `json:"log_bytes"` // of which messages are delivered again
	LargeSize  int           `json:"large_size"`
	Delayed    int           `json:"delayed"` // messages while idle
	Pulls      int           `json:"pulls"`   // that wait while idle
	Idle       time.Duration `json:"idle_ns"`
	DelayTimed int           `json:"delay_timed"` // messages whose delay is measured
}

// The plans: Full is that of the targets.
var (
	Full = Plan{
		Name: "full", Rounds: 5, Round: 3 * time.Second, Drain: 1_000_000, Backlog: 10_000_000, Piece: 150_000,
		Queues: 10_000, LogBytes: 5 << 30, LargeSize: 16 << 10, Delayed: 1_000_000, Pulls: 1000, Idle: 20 * time.Second, DelayTimed: 5000,
	}
	Short = Plan{
		Name: "short", Rounds: 3, Round: time.Second, Drain: 100_000, Backlog: 500_000, Piece: 50_000,
		Queues: 2000, LogBytes: 200 << 20, LargeSize: 16 << 10, Delayed: 100_000, Pulls: 1000, Idle: 3 * time.Second, DelayTimed: 1000,
	}
)
