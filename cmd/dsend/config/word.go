package config

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"dsend/bridge/leaf"
	"dsend/durable/queue"
)

// words is an element of text with a check of its own.
func words(name string, check func(text string) error) element[string] {
	return element[string]{
		name:  name,
		must:  "a string",
		takes: []shape{isText},
		parse: func(text string) (string, error) {
			if i := strings.IndexFunc(text, unprintable); i >= 0 || !utf8.ValidString(text) {
				return "", fmt.Errorf("%s has a character that cannot be printed", quote(text))
			}
			return text, check(text)
		},
		format: func(text string) string { return text },
	}
}

func unprintable(r rune) bool { return unicode.IsControl(r) || r == utf8.RuneError }

// orEmpty lets the empty text pass.
func orEmpty(check func(text string) error) func(string) error {
	return func(text string) error {
		if text == "" {
			return nil
		}
		return check(text)
	}
}

func anything(string) error { return nil }

func filled(text string) error {
	if strings.TrimSpace(text) == "" {
		return errors.New("must not be empty")
	}
	return nil
}

// oneOf is a choice.
func oneOf(choices ...string) element[string] {
	e := words("string", func(text string) error {
		if slices.Contains(choices, text) {
			return nil
		}
		return fmt.Errorf("%s is not one of %s%s", quote(text), strings.Join(choices, ", "), didYouMean(suggest(text, choices)))
	})
	e.must = "one of " + strings.Join(choices, ", ")
	return e
}

// address is host:port; the host may be left out to listen everywhere.
func address(text string) error {
	host, port, err := net.SplitHostPort(text)
	if err != nil {
		return fmt.Errorf("%s is not host:port", quote(text))
	}
	odd := func(r rune) bool { return !isWord(r) && r != '.' && r != ':' && r != '%' }
	if strings.ContainsFunc(host, odd) {
		return fmt.Errorf("%s is not a host name or IP address", quote(host))
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || strconv.FormatUint(n, 10) != port {
		return fmt.Errorf("%s is not a port from 1 to 65535, or 0 for any free one", quote(port))
	}
	return nil
}

// freePort tells whether an address leaves the port open.
func freePort(address string) bool { return strings.HasSuffix(address, ":0") }

// prefix is a literal subject that leaves NATS's own alone.
func prefix(text string) error {
	switch {
	case text == "":
		return errors.New("must not be empty")
	case !queue.ValidSubject(text):
		return fmt.Errorf("%s is not a literal NATS subject", quote(text))
	case text[0] == '$' || text[0] == '_':
		return fmt.Errorf("%s must not begin with $ or _, which are NATS's own", quote(text))
	}
	return nil
}

// account is the name of an account.
func account(text string) error {
	if strings.ContainsFunc(text, unicode.IsSpace) {
		return fmt.Errorf("%s is not the name of an account", quote(text))
	}
	return nil
}

// leafPorts are addresses of leafnode ports. What is said against them does not
// repeat them: there may be a password in them.
func leafPorts() element[string] {
	e := words("addresses", anything)
	e.parse = func(text string) (string, error) {
		if text == "" {
			return "", nil
		}
		_, err := leaf.URLs(text)
		return text, err
	}
	return e
}
