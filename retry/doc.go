// Package retry answers one question of a failed message: when again?
//
// It holds three things. A Policy turns the number of a failed attempt into a
// delay. A Schedule keeps many deadlines and says which one is next. An Estimator
// learns when an attempt that is not answered should count as failed.
//
//	attempt n failed
//	      │
//	      ▼           delay             now + delay
//	Policy.Delay ─────────────► caller ─────────────► Schedule.Set
//	                                                      │
//	            caller wakes at Schedule.Next ◄───────────┤
//	            and takes what is due: Schedule.Pop ◄─────┘
//
// # What is promised
//
// Policy: for every policy that Validate accepts, and every attempt up to
// math.MaxInt, Delay lies within Bounds: never below the lower bound, never
// above the full delay, and the full delay is never above Max. Nothing wraps.
//
//	delay
//	  max ┤                     ┌───────────────   full delay
//	      │                 ┌───┘░░░░░░░░░░░░░░░   ░ jitter only shortens:
//	      │             ┌───┘░░░░┌──────────────     d·(1−jitter) ≤ delay ≤ d
//	      │         ┌───┘░░░┌────┘
//	initial ┤───────┘░░░┌───┘
//	      └─────────┴───┴───┴─────────────────────  attempt
//
// The jitter is a hash of message and attempt, not a random draw: the same
// question always has the same answer, yet a thousand messages that fail
// together come back spread over the whole range.
//
// Schedule: the earliest deadline is always in front, however far away the
// others are, so a long delay never hides a short one. Deadlines are absolute
// int64 nanoseconds, so a delay of ten years is as exact as one of a second.
// Equal deadlines come in an order that depends on nothing but the calls made:
// the same calls give the same order.
//
// Estimator: it looks at how long deliveries stay unanswered and gives an Advice:
// the shortest visibility timeout, and a margin, that is too short for one
// delivery in a thousand, and what any other timeout would cost.
//
//	share of deliveries
//	that are held longer
//	 1 ┤────┐
//	   │    └────┐                   answered in time    exact
//	   │         └──┐                answered late       exact, once it is
//	   │            └────────┐       not yet answered    longer than its timeout
//	0.001 ╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌└╌╌     never answered      dead: does not count
//	   └────────────────────┴──┴──   worker went away    longer than until then
//	                     hold  × margin = timeout
//
// A timeout that hides holds (what it cuts off looks no longer than itself) would
// never be found too short. So what was given up is followed until its worker
// answers after all, or has been silent for so long that it must be dead. A dead
// worker is no reason for a longer timeout: it is what the timeout is for.
//
// A Range lets a timeout follow the Advice: up at once, as work that is repeated
// costs more than a dead worker's message that waits; down by steps and after a
// rest; and not for a small difference. Beside the best fixed timeout, found with
// hindsight, it repeats no more than twice as many deliveries, and lets a dead
// worker's message wait no more than three times as long, be the work short, of
// two kinds, heavy-tailed, or drifting (TestAutomaticVisibilityBesideTheBestFixedOne
// of durable/queue prints the table).
//
// # What is assumed
//
//   - Time is an argument: int64 nanoseconds on one clock of the caller's
//     choice. Nothing here reads a clock, and nothing runs by itself.
//   - A Policy has passed Validate. With one that has not, Delay never panics,
//     but what it returns means nothing.
//   - One goroutine at a time uses a Schedule and its owners.
//   - A Deadline belongs to one Schedule. Its owner is not copied while it is
//     scheduled.
//   - An Estimator is told of all deliveries of one kind of work, in the order of
//     time. It forgets what is older than the last one or two windows of an hour
//     and 5,000 deliveries, or a day. At most 256 deliveries are followed at a
//     time; where more are given up, each stands for several.
//   - The caller writes the due time down, and does not work it out again after
//     a restart: by then the policy may be another.
//
// # What fails, and how
//
//   - Validate refuses a policy with one sentence that names field and value.
//   - UnmarshalJSON refuses what has the wrong form (an unknown field, a bad
//     duration, an empty list, a list beside initial, factor or max) and leaves
//     the policy as it was. Whether the values make sense is Validate's to say,
//     so that a log written under other limits can still be read.
//   - Where fewer than AdviceNeeds deliveries were answered, there is no advice.
//   - Check names the first place where a Schedule is out of order. It can only
//     fail if an assumption above was broken.
package retry
