// Package retry answers one question of a failed message: when again?
//
// It holds two small things. A Policy turns the number of a failed attempt into
// a delay. A Schedule keeps many deadlines and says which one is next.
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
// # What is assumed
//
//   - Time is an argument: int64 nanoseconds on one clock of the caller's
//     choice. Nothing here reads a clock, and nothing runs by itself.
//   - A Policy has passed Validate. With one that has not, Delay never panics,
//     but what it returns means nothing.
//   - One goroutine at a time uses a Schedule and its owners.
//   - A Deadline belongs to one Schedule. Its owner is not copied while it is
//     scheduled.
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
//   - Check names the first place where a Schedule is out of order. It can only
//     fail if an assumption above was broken.
package retry
