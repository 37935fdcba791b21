package admin

import (
	"bytes"
	"encoding/base64"
	"strings"
	"unicode/utf8"
)

// Header is one line of a message's headers.
type Header struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Content is what a producer published, as far as it was asked for.
type Content struct {
	Headers    []Header `json:"headers" about:"in their order"`
	HeaderData []byte   `json:"header_data" about:"the header block as it is, if the list cannot say it exactly; else null"`
	Size       int      `json:"size" about:"of the body, in bytes"`
	Data       []byte   `json:"data" about:"the body or a part of it"`
	More       bool     `json:"more" about:"the body goes on behind data: msg.get with offset reads the rest"`
}

// content shows headers and the part of body from offset on, most bytes of it.
func content(header, body []byte, offset, most int) Content {
	c := Content{Headers: parseHeaders(header), Size: len(body)}
	if !exact(c.Headers, header) {
		c.HeaderData = header
	}
	rest := body[min(offset, len(body)):]
	c.Data = rest[:min(most, len(rest))]
	c.More = len(c.Data) < len(rest)
	return c
}

// fit cuts the body until an item whose JSON has size bytes has room. It is in
// vain if the headers alone are too many.
func (c *Content) fit(size, room int) {
	over := size - room
	if over <= 0 {
		return
	}
	keep := len(c.Data) - base64.StdEncoding.DecodedLen(over) - 3
	c.Data, c.More = c.Data[:max(0, keep)], true
}

// parseHeaders reads a raw header block, NATS/1.0 and lines of name: value.
func parseHeaders(block []byte) []Header {
	headers := []Header{}
	for i, line := range strings.Split(string(block), "\r\n") {
		if name, value, ok := strings.Cut(line, ":"); ok && i > 0 {
			headers = append(headers, Header{name, strings.TrimPrefix(value, " ")})
		}
	}
	return headers
}

// exact tells whether the list says all that the block says.
func exact(headers []Header, block []byte) bool {
	return len(block) == 0 || utf8.Valid(block) && bytes.Equal(formatHeaders(headers), block)
}

func formatHeaders(headers []Header) []byte {
	b := []byte("NATS/1.0\r\n")
	for _, h := range headers {
		b = append(b, h.Name+": "+h.Value+"\r\n"...)
	}
	return append(b, "\r\n"...)
}
