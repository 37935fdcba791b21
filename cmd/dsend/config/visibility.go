package config

import (
	"fmt"
	"strings"
	"time"

	"dsend/durable/queue"
)

// automatic is the visibility timeout that follows how long workers take.
const automatic = "auto"

// visibility is the kind of a visibility timeout: a duration, or auto, which
// begins with the duration that was there before. Its field is a
// *queue.Settings.
func visibility() kind {
	fixed := anyDuration()
	fixed.parse = func(text string) (time.Duration, error) {
		if !strings.ContainsAny(text, "0123456789") {
			return 0, fmt.Errorf("%s is neither a duration such as 30s nor auto%s", quote(text), didYouMean(suggest(text, []string{automatic})))
		}
		return parseDuration(text)
	}
	duration, k := one(fixed), fixed.kind()
	k.name, k.must = "duration or auto", "a duration such as 30s, or auto"
	k.check = func(text string) error {
		if text == automatic {
			return nil
		}
		return duration.check(text)
	}
	k.store = func(field any, texts []string) error {
		s := field.(*queue.Settings)
		s.VisibilityAuto = len(texts) == 1 && texts[0] == automatic
		if s.VisibilityAuto {
			return nil
		}
		return duration.store(&s.VisibilityTimeout, texts)
	}
	k.texts = func(field any) []string {
		s := field.(*queue.Settings)
		if s.VisibilityAuto {
			return []string{automatic}
		}
		return duration.texts(&s.VisibilityTimeout)
	}
	return k
}

// boundsWithoutAuto refuses the bounds of an automatic timeout beside a fixed one
// of the same queue. Those of defaults are for any queue that is automatic.
func (l layer) boundsWithoutAuto(label string, ps *Problems) {
	timeout, ok := l.values["visibility_timeout"]
	if !ok || timeout.texts[0] == automatic {
		return
	}
	for _, name := range []string{"visibility_timeout_min", "visibility_timeout_max"} {
		if v, ok := l.values[name]; ok {
			ps.add(v.at, label+name, "has no meaning beside a visibility_timeout that is not auto")
		}
	}
}

// shownVisibility is a visibility timeout for people.
func shownVisibility(s queue.Settings) string {
	if !s.VisibilityAuto {
		return formatDuration(s.VisibilityTimeout)
	}
	return fmt.Sprintf("auto, from %s to %s, begins with %s", formatDuration(s.VisibilityMin), formatDuration(s.VisibilityMax),
		formatDuration(s.VisibilityRange().Clamp(s.VisibilityTimeout)))
}

// longestVisibility is what a delivery may have at the most.
func longestVisibility(s queue.Settings) time.Duration {
	if s.VisibilityAuto {
		return s.VisibilityMax
	}
	return s.VisibilityTimeout
}
