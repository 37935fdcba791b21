package system

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"
)

// wire is a NATS client that speaks the protocol itself: for what client libraries
// neither send nor show, and for clients that die without a word.
type wire struct {
	t    testing.TB
	conn net.Conn
	in   *bufio.Reader
}

// packet is one message as it came: its header block byte for byte.
type packet struct {
	subject, reply string
	header, body   []byte
}

// wire connects without a client library.
func (s *server) wire(t testing.TB) *wire {
	t.Helper()
	conn, err := net.Dial("tcp", s.addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	w := &wire{t, conn, bufio.NewReader(conn)}
	w.send("CONNECT {\"verbose\":false,\"headers\":true,\"no_responders\":true}\r\nPING\r\n")
	w.until("PONG")
	return w
}

func (w *wire) send(text string) {
	w.t.Helper()
	if _, err := io.WriteString(w.conn, text); err != nil {
		w.t.Fatal(err)
	}
}

// line reads one line of the protocol.
func (w *wire) line() (string, error) {
	if err := w.conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return "", err
	}
	line, err := w.in.ReadString('\n')
	return strings.TrimRight(line, "\r\n"), err
}

// until reads lines up to one that begins with a word.
func (w *wire) until(word string) string {
	w.t.Helper()
	for {
		line, err := w.line()
		if err != nil {
			w.t.Fatalf("%s does not come: %v", word, err)
		}
		if strings.HasPrefix(line, word) {
			return line
		}
		if line == "PING" {
			w.send("PONG\r\n")
		}
	}
}

// flush waits until the server has what was sent.
func (w *wire) flush() { w.t.Helper(); w.send("PING\r\n"); w.until("PONG") }

func (w *wire) subscribe(subject string) {
	w.t.Helper()
	w.send("SUB " + subject + " 1\r\n")
	w.flush()
}

// publish sends a message; header is a whole block, or empty.
func (w *wire) publish(subject, reply string, header, body []byte) {
	w.t.Helper()
	verb, sizes := "PUB", strconv.Itoa(len(body))
	if len(header) > 0 {
		verb, sizes = "HPUB", fmt.Sprintf("%d %d", len(header), len(header)+len(body))
	}
	w.send(verb + " " + subject + " " + reply + " " + sizes + "\r\n" + string(header) + string(body) + "\r\n")
}

// next reads the next message.
func (w *wire) next() packet {
	w.t.Helper()
	fields := strings.Fields(w.until2("MSG ", "HMSG "))
	numbers, size := 1, 0
	if fields[0] == "HMSG" {
		numbers = 2
	}
	p := packet{subject: fields[1]}
	if len(fields) > 3+numbers {
		p.reply = fields[3]
	}
	total, err := strconv.Atoi(fields[len(fields)-1])
	if err == nil && numbers == 2 {
		size, err = strconv.Atoi(fields[len(fields)-2])
	}
	data := make([]byte, total+len("\r\n"))
	if err == nil {
		_, err = io.ReadFull(w.in, data)
	}
	if err != nil {
		w.t.Fatalf("%v: %v", fields, err)
	}
	p.header, p.body = data[:size], data[size:total]
	return p
}

// until2 reads lines up to one that begins with one of two words.
func (w *wire) until2(word, other string) string {
	w.t.Helper()
	for {
		line, err := w.line()
		switch {
		case err != nil || strings.HasPrefix(line, "-ERR"):
			w.t.Fatalf("%s does not come: %s %v", word, line, err)
		case strings.HasPrefix(line, word), strings.HasPrefix(line, other):
			return line
		case line == "PING":
			w.send("PONG\r\n")
		}
	}
}
