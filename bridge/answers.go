package bridge

import (
	"bytes"
	"encoding/json"
	"strings"
	"time"

	"dsend/durable/queue"
)

// The verbs of an answer, as JetStream spells them.
var (
	verbAck   = []byte("+ACK")
	verbOK    = []byte("+OK")
	verbNak   = []byte("-NAK")
	verbWPI   = []byte("+WPI")
	verbTerm  = []byte("+TERM")
	verbNext  = []byte("+NXT")
	verbError = []byte("-ERR")
)

// readAnswer reads what a worker says of a delivery. It gives the text of a
// request for more (+NXT), if it is one.
func readAnswer(a *queue.Answer, pushed bool, header, body []byte) (next []byte, isNext bool) {
	switch {
	case pushed && serviceError(a, header):
	case len(body) == 0 || bytes.Equal(body, verbAck) || bytes.Equal(body, verbOK):
		a.Verb = queue.Ack
	case bytes.HasPrefix(body, verbNak):
		readNak(a, pushed, bytes.TrimSpace(body[len(verbNak):]))
	case bytes.Equal(body, verbWPI):
		a.Verb = queue.InProgress
	case bytes.HasPrefix(body, verbTerm):
		a.Verb, a.Error = queue.Term, string(bytes.TrimSpace(body[len(verbTerm):]))
	case bytes.HasPrefix(body, verbNext):
		a.Verb = queue.Ack
		return body[len(verbNext):], true
	case pushed && bytes.HasPrefix(body, verbError):
		a.Verb, a.Error = queue.Nak, string(bytes.TrimSpace(body[len(verbError):]))
	case pushed: // the answer of an ordinary service: the work is done
		a.Verb = queue.Ack
	default:
		a.Verb = queue.Invalid
	}
	return nil, false
}

// serviceError reads the error of a NATS service.
func serviceError(a *queue.Answer, header []byte) bool {
	var code, text []byte
	eachHeader(header, func(key, value, _ []byte) {
		switch string(key) {
		case headerServiceCode:
			code = value
		case headerServiceError:
			text = value
		}
	})
	if code == nil {
		return false
	}
	a.Verb, a.Error = queue.Nak, strings.TrimSpace(string(code)+" "+string(text))
	return true
}

// nak is the argument of a -NAK. Delay is in ns.
type nak struct {
	Delay time.Duration `json:"delay"`
	Error string        `json:"error"`
	Count *bool         `json:"count"`
}

func readNak(a *queue.Answer, pushed bool, arg []byte) {
	a.Verb = queue.Nak
	switch {
	case len(arg) == 0:
	case arg[0] == '{':
		var n nak
		if json.Unmarshal(arg, &n) != nil {
			a.Verb = queue.Invalid
			return
		}
		a.Delay, a.Error, a.Uncounted = n.Delay, n.Error, n.Count != nil && !*n.Count
	default:
		d, err := time.ParseDuration(string(arg))
		switch {
		case err == nil:
			a.Delay = d
		case pushed: // a service's own words
			a.Error = string(arg)
		default:
			a.Verb = queue.Invalid
		}
	}
}
