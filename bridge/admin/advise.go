package admin

import (
	"context"
	"time"

	"dsend/durable/queue"
	"dsend/retry"
)

// Advice is what the deliveries of a queue say of its visibility timeout.
type Advice struct {
	Queue   string     `json:"queue"`
	Auto    bool       `json:"auto" about:"the visibility timeout follows the advice"`
	Since   *time.Time `json:"since" about:"when what counts began; null before the first answer"`
	Answers uint64     `json:"answers" about:"deliveries of which it is known how long they were unanswered"`
	Needed  uint64     `json:"needed" about:"so many there must be for an advice"`

	Hold50  time.Duration `json:"hold_p50" about:"how long deliveries stay unanswered: one in two is longer"`
	Hold99  time.Duration `json:"hold_p99" about:"one in a hundred is longer"`
	Hold999 time.Duration `json:"hold_p999" about:"one in a thousand is longer"`

	Expired   uint64 `json:"expired" about:"deliveries that nobody answered in time"`
	Connected uint64 `json:"expired_connected" about:"of them, those whose worker was connected"`
	Lost      uint64 `json:"never_answered" about:"of them, those whose worker must be dead"`
	Open      uint64 `json:"not_answered_yet" about:"of them, those whose worker may still answer"`

	Late     uint64        `json:"late" about:"of them, those that were answered afterwards"`
	Late50   time.Duration `json:"late_p50" about:"by how much"`
	LateMost time.Duration `json:"late_most"`

	Now     TimeoutCost  `json:"now" about:"the visibility timeout in force"`
	Advised *TimeoutCost `json:"advised" about:"what it should be; null where too little is known"`
}

// TimeoutCost is a visibility timeout and what it costs.
type TimeoutCost struct {
	Timeout     time.Duration `json:"timeout"`
	Repeated    *float64      `json:"repeated" about:"share of deliveries that are repeated although their worker is alive; null before the first answer"`
	Redelivered time.Duration `json:"redelivered" about:"until the message of a worker that died is delivered again, at the latest"`
}

func (s *Service) queueAdvise(ctx context.Context, req QueueRequest) (Advice, error) {
	info, err := s.store.Info(ctx, req.Queue)
	if err != nil {
		return Advice{}, err
	}
	a, err := s.store.Advice(ctx, req.Queue)
	if err != nil {
		return Advice{}, err
	}
	return viewAdvice(info, a), nil
}

func viewAdvice(i queue.Info, a queue.Advice) Advice {
	v := Advice{
		Queue: i.Name, Auto: i.Settings.VisibilityAuto, Since: clock(a.Since), Answers: a.Answered, Needed: retry.AdviceNeeds,
		Hold50: a.P50, Hold99: a.P99, Hold999: a.P999,
		Expired: a.Expired, Connected: a.Connected, Lost: a.Lost, Open: a.Open,
		Late: a.Late, Late50: a.LateP50, LateMost: a.LateMost,
		Now: cost(i, a, i.Visibility),
	}
	if a.Timeout > 0 {
		advised := cost(i, a, a.Timeout)
		v.Advised = &advised
	}
	return v
}

func cost(i queue.Info, a queue.Advice, timeout time.Duration) TimeoutCost {
	_, wait := i.Settings.Backoff.Bounds(1)
	c := TimeoutCost{Timeout: timeout, Redelivered: timeout + wait}
	if a.Answered > 0 {
		repeated := a.Repeated(timeout)
		c.Repeated = &repeated
	}
	return c
}
