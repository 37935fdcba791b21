package bridge

import "bytes"

// reserved is the prefix of Dsend's own headers.
const reserved = "Dsend-"

var (
	crlf   = []byte("\r\n")
	status = []byte("NATS/1.0")
)

// eachHeader calls fn with each line of a raw header block, in order: its key,
// its value without the white space around it, and the whole line with its
// end.
func eachHeader(block []byte, fn func(key, value, line []byte)) {
	_, rest, ok := bytes.Cut(block, crlf) // the status line
	for ok && len(rest) > 0 {
		line, after, _ := bytes.Cut(rest, crlf)
		if len(line) == 0 {
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
	clean := append(make([]byte, 0, len(block)), status...)
	clean = append(clean, crlf...)
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
		return append(append(dst, status...), crlf...)
	}
	return append(dst, bytes.TrimSuffix(block, crlf)...)
}
