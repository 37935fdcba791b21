package bridge

import (
	"bytes"
	"errors"
)

// reserved is the prefix of Dsend's own headers.
const reserved = "Dsend-"

var (
	crlf      = []byte("\r\n")
	startLine = []byte("NATS/1.0\r\n")
)

// errHeader is returned for a header block that clients would read in
// different ways.
var errHeader = errors.New("malformed header block")

// checkHeader proves that a raw block is what every client reads alike: the
// plain status line, lines "Key: value" ended by CRLF without any other CR or
// LF, and an empty line at the end. A status in it ("NATS/1.0 404 …") is for
// servers to send.
func checkHeader(block []byte) error {
	rest, ok := bytes.CutPrefix(block, startLine)
	if block == nil {
		return nil
	}
	if !ok || !bytes.HasSuffix(rest, crlf) {
		return errHeader
	}
	for rest = rest[:len(rest)-len(crlf)]; len(rest) > 0; {
		line, after, ended := bytes.Cut(rest, crlf)
		key, _, found := bytes.Cut(line, []byte(":"))
		if !ended || !found || len(key) == 0 || bytes.ContainsFunc(key, notInKey) || bytes.ContainsAny(line, "\r\n\x00") {
			return errHeader
		}
		rest = after
	}
	return nil
}

func notInKey(r rune) bool { return r <= ' ' || r == 0x7f }

// eachHeader calls fn with each line of a raw header block, in order: its key,
// its value without the white space around it, and the whole line with its
// end. Of a malformed block it gives what can be read.
func eachHeader(block []byte, fn func(key, value, line []byte)) {
	_, rest, _ := bytes.Cut(block, crlf) // the status line
	for len(rest) > 0 {
		line, after, ended := bytes.Cut(rest, crlf)
		if !ended || len(line) == 0 {
			return
		}
		key, value, found := bytes.Cut(line, []byte(":"))
		if found {
			fn(key, bytes.TrimSpace(value), rest[:len(line)+len(crlf)])
		}
		rest = after
	}
}

// cleanHeader gives a header block without the reserved headers that are not
// options of a publish. The block itself if there are none; nil if nothing is
// left.
func cleanHeader(block []byte) []byte {
	drop, keep := false, false
	eachHeader(block, func(key, _, _ []byte) {
		if isReserved(key) && !isOption(string(key)) {
			drop = true
		} else {
			keep = true
		}
	})
	switch {
	case !drop:
		return block
	case !keep:
		return nil
	}
	clean := append(make([]byte, 0, len(block)), startLine...)
	eachHeader(block, func(key, _, line []byte) {
		if !isReserved(key) || isOption(string(key)) {
			clean = append(clean, line...)
		}
	})
	return append(clean, crlf...)
}

func isReserved(key []byte) bool { return bytes.HasPrefix(key, []byte(reserved)) }

// appendHeader adds a line to a block that is not ended yet. Values are made
// by Dsend or were cleaned when they came in: they have no line ends.
func appendHeader(dst []byte, key, value string) []byte {
	dst = append(dst, key...)
	dst = append(dst, ": "...)
	dst = append(dst, value...)
	return append(dst, crlf...)
}

// openHeader begins a block with the lines of another one.
func openHeader(dst, block []byte) []byte {
	if block == nil {
		return append(dst, startLine...)
	}
	return append(dst, bytes.TrimSuffix(block, crlf)...)
}
