package system

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
)

// saw notes a delivery, checks it, and gives its message; nil if it is not known.
func (l *ledger) saw(d *delivery) *item {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := l.known(d.Data, true, d.Header, d.String())
	if i == nil || l.blind {
		return i
	}
	if handed := l.handed(d); !i.gone.IsZero() && handed.After(i.gone) {
		l.undone++
		l.fault("%v was handed out at %v, but confirmed as gone at %v", d, handed, i.gone)
	}
	key := fmt.Sprintf("%s/%d", d.queue, d.number)
	if l.numbers[key] {
		l.duplicated++
		l.fault("delivery %d of queue %s came twice: %v", d.number, d.queue, d)
	}
	l.numbers[key] = true
	l.count(d)
	return i
}

// of is the message of a delivery that was seen.
func (l *ledger) of(d *delivery) *item {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.items[idOf(d.Data)]
}

// item is the message that was seen in a queue.
func (l *ledger) item(m stored) *item {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.items[idOf(m.Data)]
}

// known finds the message of a body, and checks that it is what was sent. It is
// stored for certain from then on.
func (l *ledger) known(body []byte, whole bool, header nats.Header, where string) *item {
	i := l.items[idOf(body)]
	switch {
	case i == nil:
		l.invented++
		l.fault("%s was never published", where)
		return nil
	case i.none:
		l.invented++
		l.fault("%s was refused", where)
	case whole && sha256.Sum256(body) != i.sum:
		l.damaged++
		l.fault("%s has another body than was published", where)
	case !sameHeader(header, i.header):
		l.invented++
		l.fault("%s has other headers than were published: %v, not %v", where, header, i.header)
	}
	i.taken = i.taken || !l.blind
	return i
}

// sameHeader compares without what Dsend adds.
func sameHeader(got, sent nats.Header) bool {
	n := 0
	for key, values := range got {
		if _, ours := sent[key]; !ours && strings.HasPrefix(key, "Dsend-") {
			continue
		}
		if n++; strings.Join(values, "\n") != strings.Join(sent[key], "\n") || len(values) != len(sent[key]) {
			return false
		}
	}
	return n == len(sent)
}

// handed is when a delivery was handed out, by the server's clock.
func (l *ledger) handed(d *delivery) time.Time {
	visibility, ok := l.visibility[d.queue]
	if !ok {
		visibility = l.visibility[""]
	}
	if deadline := d.deadline(); visibility > 0 && !deadline.IsZero() {
		return deadline.Add(-visibility)
	}
	return d.at
}

// count checks that the attempts of a message only grow.
func (l *ledger) count(d *delivery) {
	key := fmt.Sprintf("%s/%d", d.queue, d.seq)
	last, again := l.lives[key]
	if last.number < d.number {
		l.lives[key] = turn{d.number, d.attempt}
	}
	if again && (last.number < d.number) != (last.attempt < d.attempt) {
		l.duplicated++
		l.fault("%v is delivery %d, but delivery %d was attempt %d", d, d.number, last.number, last.attempt)
	}
}

// answer answers a delivery, waits for the result and notes it.
func (l *ledger) answer(d *delivery, answer string) (string, error) {
	sent := time.Now()
	l.mayEnd(d, answer)
	result, err := d.ask(answer)
	if err != nil {
		return "", err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	i := l.items[idOf(d.Data)]
	switch {
	case i == nil || l.blind:
	case answer == ack && (result == "ok" || result == "late") && i.gone.IsZero():
		l.end(i)
	case strings.HasPrefix(answer, term) && result == "ok" && d.Header.Get("Dsend-Dead-Reason") == "":
		i.dead = sent
	}
	return result, nil
}

// end notes that a message is gone for certain.
func (l *ledger) end(i *item) {
	i.gone, i.body = time.Now(), nil
	l.waiting--
}

// mayEnd notes that an answer is on its way which may be the end of a message.
func (l *ledger) mayEnd(d *delivery, answer string) {
	if answer != ack {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := l.items[idOf(d.Data)]; i != nil {
		i.maybe = true
	}
}
