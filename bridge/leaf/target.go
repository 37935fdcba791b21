package leaf

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
)

// target is one address of the server, with what its URL says beyond it.
type target struct {
	addr                  string // host:port
	user, password, token string
	tls                   *tls.Config
	dial                  func(context.Context) (net.Conn, error)
}

// defaultPort is the leafnode port of an address without one.
const defaultPort = "7422"

// URLs reads addresses as Options.Addr has them, each with its port. Its errors never quote them: there may be a
// password in a URL.
func URLs(addr string) (all []*url.URL, err error) {
	for text := range strings.SplitSeq(addr, ",") {
		if text = strings.TrimSpace(text); !strings.Contains(text, "://") {
			text = "nats://" + text
		}
		u, err := url.Parse(text)
		switch {
		case err != nil || u.Hostname() == "":
			return nil, errors.New("is not an address such as nats://user:password@host:7422")
		case u.Scheme != "nats" && u.Scheme != "nats-leaf" && u.Scheme != "tls":
			return nil, errors.New("begins with something else than nats://, nats-leaf:// or tls://")
		case strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "":
			return nil, errors.New("has something behind its port")
		}
		if u.Port() == "" {
			u.Host = net.JoinHostPort(u.Hostname(), defaultPort)
		}
		all = append(all, u)
	}
	return all, nil
}

// targets are the addresses of Options.Addr, or the one that Options.Dial stands for.
func (o *Options) targets() ([]target, error) {
	if o.Addr == "" {
		return []target{o.target()}, nil
	}
	urls, err := URLs(o.Addr)
	if err != nil {
		return nil, fmt.Errorf("leaf: Options.Addr %w", err)
	}
	all := make([]target, len(urls))
	for i, u := range urls {
		all[i] = o.target()
		all[i].use(u)
	}
	return all, nil
}

func (o *Options) target() target {
	return target{user: o.User, password: o.Password, token: o.Token, tls: o.TLS, dial: o.Dial}
}

// use takes what a URL says.
func (t *target) use(u *url.URL) {
	t.addr = u.Host
	if u.Scheme == "tls" && t.tls == nil {
		t.tls = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	if t.user == "" && t.token == "" && u.User != nil {
		t.useCredentials(u.User)
	}
}

// useCredentials: a lone name is a token as well as a user, as it is for nats-server's own remotes (leafnode.go:1270-1282).
func (t *target) useCredentials(u *url.Userinfo) {
	var has bool
	t.user = u.Username()
	if t.password, has = u.Password(); !has {
		t.token = t.user
	}
}

func (t *target) connect(ctx context.Context) (net.Conn, error) {
	if t.dial != nil {
		return t.dial(ctx)
	}
	return new(net.Dialer).DialContext(ctx, "tcp", t.addr)
}

// blame says whose fault an error is; who cannot be reached is named by it.
func (t *target) blame(err error) error {
	if t.addr == "" || errors.Is(err, ErrUnreachable) {
		return err
	}
	return fmt.Errorf("%s: %w", t.addr, err)
}

// host is the name to verify the server's certificate against.
func (t *target) host() string {
	host, _, err := net.SplitHostPort(t.addr)
	if err != nil {
		return t.addr
	}
	return host
}
