package leaf

import (
	"bytes"
	"fmt"
)

const (
	// maxLine bounds one control line of the server. It is what nats-server itself allows between servers: 16 times
	// the 4 KiB of a client's line (server/parser.go:1276-1293), because mappings, queue groups and the @ form
	// make lines longer than the client's were.
	maxLine = 64 << 10
	// maxInfo bounds an INFO line: JSON with every URL of a cluster and every permission of the user.
	maxInfo = 1 << 20
	// maxMessage bounds header and payload of one message. The server's own max_payload is usually 1 MiB and may be
	// reloaded to more without a word to leafs, so what INFO said is not taken as the bound.
	maxMessage = 64 << 20
)

// op is what one step of the parser found.
type op uint8

const (
	opNone  op = iota // nothing whole yet
	opMsg             // parser.msg
	opSub             // parser.interest
	opUnsub           // parser.interest
	opPing
	opPong
	opInfo // parser.arg is the JSON
	opErr  // parser.arg is the text
	opOK
)

// parser takes the server's bytes apart, one operation at a time, without copying. It keeps no bytes: only the last
// operation found (slices of the caller's buffer) and how many bytes the next one needs at least.
type parser struct {
	msg            Msg
	subject, queue []byte
	members        int
	arg            []byte
	need           int // next cannot succeed with fewer bytes than this; 0 if not known
}

// next looks at the start of b. It returns what it found and its length in bytes, or opNone and 0 if b holds no
// whole operation. The same bytes give the same operations however they are cut into calls. Never reads beyond len(b).
func (p *parser) next(b []byte) (op, int, error) {
	p.need = 0
	end := bytes.IndexByte(b, '\n')
	if over := end; over >= 0 || len(b) > maxLine {
		if over < 0 {
			over = len(b)
		}
		if over > lineLimit(b) {
			return opNone, 0, fmt.Errorf("%w: a control line of more than %d bytes: %s", ErrProtocol, lineLimit(b), snippet(b))
		}
	}
	if end < 0 {
		return opNone, 0, nil
	}
	line := b[:end]
	if end > 0 && line[end-1] == '\r' {
		line = line[:end-1]
	}
	return p.line(b, line, end+1)
}

// line handles one whole control line; body is where its message body would begin.
func (p *parser) line(b, line []byte, body int) (op, int, error) {
	switch {
	case has(line, "LMSG "):
		return p.message(b, line, line[5:], body, false)
	case has(line, "HMSG "):
		return p.message(b, line, line[5:], body, true)
	case has(line, "LS+ "):
		return p.interest(opSub, line, body)
	case has(line, "LS- "):
		return p.interest(opUnsub, line, body)
	case string(line) == "PING":
		return opPing, body, nil
	case string(line) == "PONG":
		return opPong, body, nil
	case has(line, "INFO "):
		p.arg = line[5:]
		return opInfo, body, nil
	case has(line, "-ERR"):
		p.arg = bytes.Trim(line[4:], " '")
		return opErr, body, nil
	case has(line, "+OK"):
		return opOK, body, nil
	}
	return opNone, 0, malformed(line)
}

// message parses LMSG and HMSG:
//
//	LMSG <subject> [<reply>] <size>
//	LMSG <subject> + <reply> <queue>… <size>      queues are for leafs that subscribe in groups; this one does not
//	LMSG <subject> | <queue>… <size>
//	HMSG …                            <header size> <total size>
func (p *parser) message(b, line, args []byte, body int, header bool) (op, int, error) {
	rest, total, ok := lastNumber(args)
	var hdr int
	if ok && header {
		rest, hdr, ok = lastNumber(rest)
	}
	if !ok || hdr > total {
		return opNone, 0, malformed(line)
	}
	if total > maxMessage {
		return opNone, 0, fmt.Errorf("%w: a message of %d bytes: %s", ErrProtocol, total, snippet(line))
	}
	if p.msg.Subject, p.msg.Reply, ok = addresses(rest); !ok {
		return opNone, 0, malformed(line)
	}
	n := body + total + 2
	if len(b) < n {
		p.need = n
		return opNone, 0, nil
	}
	if b[n-2] != '\r' || b[n-1] != '\n' {
		return opNone, 0, fmt.Errorf("%w: a message does not end where it should: %s", ErrProtocol, snippet(line))
	}
	p.msg.Header = nil
	if hdr > 0 {
		p.msg.Header = b[body : body+hdr : body+hdr]
	}
	p.msg.Payload = b[body+hdr : n-2 : n-2]
	return opMsg, n, nil
}

// addresses takes subject and reply from what stands before the sizes.
func addresses(args []byte) (subject, reply []byte, ok bool) {
	subject, args = token(args)
	first, args := token(args)
	second, _ := token(args)
	switch {
	case len(subject) == 0:
		return nil, nil, false
	case len(second) == 0: // subject [reply]
		return subject, first, true
	case string(first) == "+":
		return subject, second, true
	case string(first) == "|":
		return subject, nil, true
	}
	return nil, nil, false
}

// interest parses LS+ <subject> [<queue> <weight>] and LS- <subject> [<queue>].
func (p *parser) interest(o op, line []byte, n int) (op, int, error) {
	var weight []byte
	args := line[4:]
	p.subject, args = token(args)
	p.queue, args = token(args)
	weight, args = token(args)
	p.members = 0
	if o == opSub {
		p.members = 1
	}
	grouped := len(p.queue) > 0
	ok := len(p.subject) > 0 && len(args) == 0 && (len(weight) > 0) == (grouped && o == opSub)
	if ok && len(weight) > 0 {
		p.members, ok = number(weight)
		p.members = max(p.members, 1)
	}
	if !ok {
		return opNone, 0, malformed(line)
	}
	return o, n, nil
}

// token cuts the first word off.
func token(b []byte) (word, rest []byte) {
	for len(b) > 0 && b[0] == ' ' {
		b = b[1:]
	}
	if i := bytes.IndexByte(b, ' '); i >= 0 {
		return b[:i:i], b[i+1:]
	}
	return b[:len(b):len(b)], nil
}

// lastNumber cuts the last word off, which must be a number.
func lastNumber(b []byte) (rest []byte, n int, ok bool) {
	i := bytes.LastIndexByte(b, ' ')
	if i < 0 {
		return nil, 0, false
	}
	n, ok = number(b[i+1:])
	return b[:i], n, ok
}

// number reads up to nine digits and nothing else.
func number(b []byte) (n int, ok bool) {
	if len(b) == 0 || len(b) > 9 {
		return 0, false
	}
	for _, c := range b {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int(c-'0')
	}
	return n, true
}

func has(line []byte, prefix string) bool {
	return len(line) >= len(prefix) && string(line[:len(prefix)]) == prefix
}

func lineLimit(b []byte) int {
	if has(b, "INFO ") {
		return maxInfo
	}
	return maxLine
}

func malformed(line []byte) error { return fmt.Errorf("%w: %s", ErrProtocol, snippet(line)) }

// snippet shows the start of a bad line in an error.
func snippet(b []byte) string {
	if len(b) > 64 {
		return fmt.Sprintf("%q…", b[:64])
	}
	return fmt.Sprintf("%q", b)
}
