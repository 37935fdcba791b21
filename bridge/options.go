package bridge

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"dsend/durable/queue"
)

// The headers that a publish is asked things by. The spelling is exact.
const (
	headerID           = "Nats-Msg-Id"
	headerTTL          = "Nats-TTL"
	headerSchedule     = "Nats-Schedule"
	headerTarget       = "Nats-Schedule-Target"
	headerDelay        = "Dsend-Delay"
	headerPriority     = "Dsend-Priority"
	headerKey          = "Dsend-Key"
	headerMaxAttempts  = "Dsend-Max-Attempts"
	headerVisibility   = "Dsend-Visibility-Timeout"
	headerServiceCode  = "Nats-Service-Error-Code"
	headerServiceError = "Nats-Service-Error"
)

func isOption(key string) bool {
	switch key {
	case headerDelay, headerPriority, headerKey, headerMaxAttempts, headerVisibility:
		return true
	}
	return false
}

// unsupported are headers with a meaning in JetStream that Dsend has not: a
// publish with one is refused, since its producer relies on it.
func unsupported(key string) bool {
	for _, prefix := range []string{"Nats-Expected-", "Nats-Batch-", "Nats-Schedule-", "Nats-Rollup", "Nats-Incr", "Nats-Scheduler", "Nats-Stream-Source"} {
		if strings.HasPrefix(key, prefix) {
			return key != headerTarget
		}
	}
	return false
}

// optionError is a header that cannot be honoured, with JetStream's code for the
// case where there is one.
type optionError struct {
	errCode int
	text    string
}

func (e *optionError) Error() string { return e.text }

// badOption refuses a header.
func badOption(key, format string, args ...any) error {
	e := &optionError{jsBadRequest, "header " + key + fmt.Sprintf(format, args...)}
	for prefix, code := range map[string]int{
		headerTTL: jsTTLInvalid, headerSchedule: jsScheduleInvalid, headerTarget: jsTargetInvalid,
		"Nats-Batch-": jsBatchDisabled, "Nats-Incr": jsCounterDisabled, "Nats-Stream-Source": jsSourceHeader,
	} {
		if key == prefix || strings.HasSuffix(prefix, "-") && strings.HasPrefix(key, prefix) {
			e.errCode = code
		}
	}
	return e
}

// optionLimit bounds the text of an option, in bytes.
const optionLimit = 1024

// readOptions sets what the headers of a publish ask for. target is the
// subject of a schedule, if it has one.
func readOptions(p *queue.Publish, header []byte) (target string, err error) {
	seen := map[string]bool{}
	eachHeader(header, func(k, v, _ []byte) {
		if err != nil || !(isReserved(k) || len(k) > 5 && string(k[:5]) == "Nats-") {
			return
		}
		key := string(k)
		if unsupported(key) {
			err = badOption(key, " is not supported")
			return
		}
		set := option(key)
		if set == nil {
			return
		}
		switch {
		case seen[key]:
			err = badOption(key, " is given twice")
		case len(v) > optionLimit:
			err = badOption(key, " is longer than %d bytes", optionLimit)
		default:
			if what := set(p, string(v), &target); what != "" {
				err = badOption(key, ": %q %s", v, what)
			}
		}
		seen[key] = true
	})
	switch {
	case err != nil:
	case target != "" && !seen[headerSchedule]:
		err = badOption(headerTarget, " needs %s", headerSchedule)
	case seen[headerDelay] && seen[headerSchedule]:
		err = badOption(headerDelay, " and %s contradict each other", headerSchedule)
	}
	return target, err
}

// option gives what sets an option, or nil. The setter tells what is wrong
// with a value, or nothing.
func option(key string) func(p *queue.Publish, v string, target *string) string {
	switch key {
	case headerID:
		return func(p *queue.Publish, v string, _ *string) string {
			p.ID = v
			return needed(v)
		}
	case headerTTL:
		return func(p *queue.Publish, v string, _ *string) (what string) {
			p.TTL, what = parseTTL(v)
			return what
		}
	case headerSchedule:
		return func(p *queue.Publish, v string, _ *string) (what string) {
			p.Delay, what = parseSchedule(v)
			return what
		}
	case headerTarget:
		return func(_ *queue.Publish, v string, target *string) string {
			*target = v
			if !queue.ValidSubject(v) {
				return "is not a subject without wildcards"
			}
			return ""
		}
	case headerDelay:
		return func(p *queue.Publish, v string, _ *string) (what string) {
			p.Delay, what = parseDuration(v, 0)
			return what
		}
	case headerPriority:
		return func(p *queue.Publish, v string, _ *string) string {
			if len(v) != 1 || v[0] < '0' || v[0] > '9' {
				return "is not a number from 0 to 9"
			}
			p.Priority, p.HasPriority = v[0]-'0', true
			return ""
		}
	case headerKey:
		return func(p *queue.Publish, v string, _ *string) string {
			p.Key = v
			return needed(v)
		}
	case headerMaxAttempts:
		return func(p *queue.Publish, v string, _ *string) string {
			n, err := strconv.ParseUint(v, 10, 31)
			if err != nil {
				return "is not a number of attempts (0 is unlimited)"
			}
			p.MaxAttempts = int(n)
			return ""
		}
	case headerVisibility:
		return func(p *queue.Publish, v string, _ *string) (what string) {
			p.Visibility, what = parseDuration(v, 1)
			return what
		}
	}
	return nil
}

func needed(v string) string {
	if v == "" {
		return "is empty"
	}
	return ""
}

// parseDuration reads a duration with a unit, least nanoseconds long or more,
// up to queue.MaxDelay.
func parseDuration(v string, least time.Duration) (time.Duration, string) {
	d, err := time.ParseDuration(v)
	switch {
	case err != nil:
		return 0, "is not a duration with a unit, such as 30s"
	case d < least:
		return 0, "is too short"
	case d > queue.MaxDelay:
		return 0, "is above 10 years"
	}
	return d, ""
}

// parseTTL reads a Nats-TTL: a duration, seconds, or never; at least 1 s.
func parseTTL(v string) (time.Duration, string) {
	if v == "never" {
		return 0, ""
	}
	if s, err := strconv.ParseInt(v, 10, 64); err == nil && s <= int64(queue.MaxDelay/time.Second) {
		v = strconv.FormatInt(s, 10) + "s"
	}
	return parseDuration(v, time.Second)
}

// parseSchedule reads a Nats-Schedule: "@at" and a time, and tells how long that
// is from now, by the wall clock that the client has read; from then on it is a
// delay like any other, which no jump of that clock changes. The other kinds
// that JetStream has (cron, @every) are refused.
func parseSchedule(v string) (time.Duration, string) {
	at, found := strings.CutPrefix(v, "@at ")
	if !found {
		return 0, `is not supported: only "@at <RFC3339>" is`
	}
	t, err := time.Parse(time.RFC3339Nano, strings.TrimSpace(at))
	switch {
	case err != nil:
		return 0, "is not a time as in RFC 3339"
	case time.Until(t) > queue.MaxDelay:
		return 0, "is more than 10 years ahead"
	}
	return max(0, time.Until(t)), ""
}
