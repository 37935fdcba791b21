package config

import (
	"fmt"
	"strings"

	"dsend/durable/queue"
)

// Reserved are the subjects that no queue may capture.
func Reserved(prefix string) []string {
	return []string{"_INBOX.>", "$SYS.>", "$JS.>", "$SRV.>", prefix + ".>"}
}

// checkSubjects looks at what queues capture, one after the other, and then at
// where they push to.
func (l *loader) checkSubjects(c *Config) {
	taken := &subjectTree{}
	for _, subject := range Reserved(c.Prefix) {
		taken.add(subject, "")
	}
	for _, q := range l.queues {
		l.checkCaptured(q, taken)
	}
	for _, q := range l.queues {
		l.checkPush(q, taken, c.Prefix)
	}
}

func (l *loader) checkCaptured(q queueLayer, taken *subjectTree) {
	v := q.values["subjects"]
	for i, subject := range v.texts {
		key := q.label + "subjects"
		if !queue.ValidPattern(subject) {
			l.problems.add(v.items[i], key, "%s is not a NATS subject", quote(subject))
			continue
		}
		if o := taken.overlap(subject); o != nil {
			l.problems.add(v.items[i], key, "%s overlaps with %s", quote(subject), o)
			continue
		}
		taken.add(subject, fmt.Sprintf("%s, line %d", strings.TrimSuffix(q.label, "."), v.items[i].line))
	}
}

func (o *owner) String() string {
	if o.who == "" {
		return o.subject + ", which no queue may capture"
	}
	return quote(o.subject) + " of " + o.who
}

// checkPush keeps deliveries from being captured, and from Dsend's and NATS's
// own subjects.
func (l *loader) checkPush(q queueLayer, taken *subjectTree, prefix string) {
	v, ok := q.values["push.subject"]
	if !ok || !queue.ValidSubject(v.texts[0]) { // refused already
		return
	}
	subject, key := v.texts[0], q.label+"push.subject"
	o := taken.overlap(subject)
	switch {
	case o == nil || strings.HasPrefix(subject, prefix+".work."):
	case o.who == "":
		l.problems.add(v.at, key, "%s is below %s, where no worker may listen", quote(subject), o.subject)
	default:
		l.problems.add(v.at, key, "%s is captured by %s: deliveries would come back as publishes", quote(subject), o)
	}
}
