package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/spf13/cobra"

	"dsend/durable/queue"
)

// defaultTimeout is that of the nats CLI.
const defaultTimeout = 5 * time.Second

// link is a connection to the NATS server that a Dsend is expected on.
type link struct {
	*nats.Conn
	url     string // for people: without secrets
	prefix  string
	timeout time.Duration
	denied  context.Context // ends, with a cause, when the server forbids something
}

// remote is a command that talks to a server.
func (a *app) remote(do func(ctx context.Context, l *link, args []string) error) func(*cobra.Command, []string) error {
	return func(c *cobra.Command, args []string) error {
		l, err := a.dial(nats.NoReconnect())
		if err != nil {
			return err
		}
		defer l.Close()
		return do(c.Context(), l, args)
	}
}

// dial connects as the nats CLI would.
func (a *app) dial(more ...nats.Option) (*link, error) {
	login, err := a.login()
	if err != nil {
		return nil, err
	}
	timeout, err := a.patience()
	if err != nil {
		return nil, err
	}
	prefix := cmp.Or(a.prefix, a.env("DSEND_PREFIX"), "dsend")
	if !queue.ValidSubject(prefix) {
		return nil, usagef("the prefix %q does not begin a NATS subject", prefix)
	}
	shown, err := redact(login.URL)
	if err != nil {
		return nil, err
	}
	denied, deny := context.WithCancelCause(context.Background())
	options := append(login.options(), nats.Name("dsend"), nats.Timeout(timeout),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			if errors.Is(err, nats.ErrPermissionViolation) {
				deny(fmt.Errorf("not permitted at %s: %s", shown, plain(err)))
			}
		}))
	nc, err := nats.Connect(login.URL, append(options, more...)...)
	if err != nil {
		deny(nil)
		return nil, unconnected(err, shown, timeout)
	}
	return &link{nc, shown, prefix, timeout, denied}, nil
}

func (a *app) patience() (time.Duration, error) {
	text := a.env("NATS_TIMEOUT")
	switch {
	case a.timeout < 0:
		return 0, usagef("--timeout %v is negative", a.timeout)
	case a.timeout > 0:
		return a.timeout, nil
	case text == "":
		return defaultTimeout, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, usagef("NATS_TIMEOUT %q is not a duration such as 5s", text)
	}
	return d, nil
}

// login is where to connect and as whom: flags over environment over context.
// Credentials of the environment replace all those of the context.
func (a *app) login() (natsContext, error) {
	c, err := a.loadContext()
	if err != nil {
		return c, err
	}
	c.URL = cmp.Or(a.server, a.env("NATS_URL"), c.URL, nats.DefaultURL)
	c.Cert = cmp.Or(a.env("NATS_CERT"), c.Cert)
	c.Key = cmp.Or(a.env("NATS_KEY"), c.Key)
	c.CA = cmp.Or(a.env("NATS_CA"), c.CA)
	env := natsContext{
		User: a.env("NATS_USER"), Password: a.env("NATS_PASSWORD"), Token: a.env("NATS_TOKEN"),
		Creds: a.env("NATS_CREDS"), NKey: a.env("NATS_NKEY"), JWT: a.env("NATS_JWT"), Seed: a.env("NATS_SEED"),
	}
	if env == (natsContext{}) {
		return c, nil
	}
	c.User, c.Password, c.Token = env.User, env.Password, env.Token
	c.Creds, c.NKey, c.JWT, c.Seed = env.Creds, env.NKey, env.JWT, env.Seed
	if c.User != "" && c.Password == "" { // as the nats CLI has it
		c.Token, c.User = c.User, ""
	}
	return c, nil
}

// options are the login in the words of nats.go.
func (c natsContext) options() (o []nats.Option) {
	switch {
	case c.User != "":
		o = append(o, nats.UserInfo(c.User, c.Password))
	case c.Creds != "":
		o = append(o, nats.UserCredentials(c.Creds))
	case c.NKey != "":
		o = append(o, nkeyOption(c.NKey))
	case c.JWT != "":
		o = append(o, nats.UserJWTAndSeed(c.JWT, c.Seed))
	case c.Token != "":
		o = append(o, nats.Token(c.Token))
	}
	if c.Cert != "" || c.Key != "" {
		o = append(o, nats.ClientCert(c.Cert, c.Key))
	}
	if c.CA != "" {
		o = append(o, nats.RootCAs(c.CA))
	}
	if c.InboxPrefix != "" {
		o = append(o, nats.CustomInboxPrefix(c.InboxPrefix))
	}
	if c.TLSFirst {
		o = append(o, nats.TLSHandshakeFirst())
	}
	return o
}

// nkeyOption reads the seed when the connection is made.
func nkeyOption(file string) nats.Option {
	return func(o *nats.Options) error {
		option, err := nats.NkeyOptionFromSeed(file)
		if err != nil {
			return err
		}
		return option(o)
	}
}

// redact is a list of server URLs without what is secret in them. Its error does
// not repeat them either.
func redact(urls string) (string, error) {
	var shown []string
	for i, text := range strings.Split(urls, ",") {
		text = strings.TrimSpace(text)
		if !strings.Contains(text, "://") {
			text = "nats://" + text
		}
		u, err := url.Parse(text)
		if err != nil || u.Host == "" {
			return "", usagef("server URL %d is not one such as nats://127.0.0.1:4222", i+1)
		}
		u.User = nil
		shown = append(shown, u.String())
	}
	return strings.Join(shown, ","), nil
}

// unconnected says why there is no connection.
func unconnected(err error, url string, timeout time.Duration) error {
	switch {
	case errors.Is(err, nats.ErrNoServers):
		return fmt.Errorf("no NATS server answers at %s", url)
	case errors.Is(err, nats.ErrTimeout):
		return fmt.Errorf("%s does not answer within %v", url, timeout)
	case errors.Is(err, nats.ErrAuthorization), errors.Is(err, nats.ErrAuthExpired), errors.Is(err, nats.ErrAuthRevoked):
		return fmt.Errorf("%s refuses these credentials (NATS_CREDS, NATS_USER and NATS_PASSWORD, NATS_NKEY, or a context)", url)
	}
	return fmt.Errorf("%s: %s", url, plain(err))
}

// plain is an error of nats.go in one line without the library's name.
func plain(err error) string { return strings.TrimPrefix(oneLine(err.Error()), "nats: ") }

// request asks and waits for one answer.
func (l *link) request(ctx context.Context, m *nats.Msg) (*nats.Msg, error) {
	ctx, cancel := context.WithTimeout(ctx, l.timeout)
	defer cancel()
	defer context.AfterFunc(l.denied, cancel)()
	answer, err := l.RequestMsgWithContext(ctx, m)
	if err == nil {
		return answer, nil
	}
	if l.denied.Err() != nil {
		return nil, context.Cause(l.denied)
	}
	switch {
	case errors.Is(err, nats.ErrNoResponders):
		return nil, fmt.Errorf("no Dsend answers at %s (nobody is there for %s)", l.url, m.Subject)
	case errors.Is(err, context.DeadlineExceeded):
		return nil, fmt.Errorf("no answer to %s from %s within %v", m.Subject, l.url, l.timeout)
	case errors.Is(err, nats.ErrConnectionClosed), errors.Is(err, nats.ErrDisconnected):
		return nil, fmt.Errorf("the connection to %s was lost", l.url)
	case errors.Is(err, nats.ErrMaxPayload):
		return nil, fmt.Errorf("%d bytes are more than %s takes at once (%d)", len(m.Data), l.url, l.MaxPayload())
	case errors.Is(err, context.Canceled):
		return nil, err
	}
	return nil, fmt.Errorf("%s: %s", m.Subject, plain(err))
}
