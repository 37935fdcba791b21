package leaf

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"time"
)

// Options says where the server is, who we are and who listens. Only Handler and one of Addr and Dial are needed.
type Options struct {
	// Addr is the server's leafnode port: "host:port", or a URL such as "nats-leaf://user:password@host:7422"
	// ("tls://…" turns TLS on). A URL's user and password fill User, Password and Token where those are empty.
	// Several, separated by commas, are those of the servers of one cluster: they are tried in turn.
	Addr string
	// Dial, if set, makes the connection instead of Addr, anew for each attempt.
	Dial func(ctx context.Context) (net.Conn, error)
	// Name is how the server lists this leaf (monitoring, logs). Default "dsend".
	Name string

	User, Password, Token string
	// Sign, if set, answers the server's nonce: a user JWT or an nkey's public key, and the raw signature.
	Sign func(nonce []byte) (jwt, nkey string, signature []byte, err error)

	// TLS, if set, is required of the server. If nil, TLS is used when the server requires it, verified by the
	// system's roots. ServerName defaults to the host of Addr.
	TLS *tls.Config
	// TLSFirst makes the TLS handshake before the server's first line (handshake_first).
	TLSFirst bool

	Handler Handler
	// Logger, default slog.Default(). No password, token or signature is ever logged.
	Logger *slog.Logger

	MaxPending       int           // bytes that may wait for the server before Send waits; default 16 MiB
	SendWait         time.Duration // how long Send may wait for room; default 1 s, negative: not at all
	WriteTimeout     time.Duration // for one write of up to 256 KiB before the connection is given up, and Close's patience; default 10 s
	HandshakeTimeout time.Duration // dialing until the interest is whole; default 10 s
	PingInterval     time.Duration // silence of three intervals ends the connection; default 20 s
	ReconnectMin     time.Duration // first wait before another attempt; default 50 ms
	ReconnectMax     time.Duration // the waits double up to this one; default 5 s
}

// Handler is told what comes from the server. All four methods are called by the one reading goroutine, one after
// the other; while they run nothing is read, so they must hand over and return. They may call Batch methods, Send,
// Subscribe and Unsubscribe, but neither Flush nor Close, which wait for that goroutine.
type Handler interface {
	// Messages gets the messages of one read, in order. The slice and all bytes in it are valid until it returns.
	Messages(batch []Msg)
	// Interest gets who came and went, in order, and in order relative to Messages. The slice is valid until it returns.
	Interest(events []Interest)
	// Connected is called once per connection, when the interest told since the last Disconnected is whole.
	// No message comes before it.
	Connected()
	// Disconnected is called once at the end of every connection of which anything was told. All interest learnt
	// so far is void; it is told anew by the next connection. err is never nil; ErrClosed after Close.
	Disconnected(err error)
}

// Msg is one inbound message; see Handler.Messages for how long it lives.
type Msg struct {
	Subject []byte
	Reply   []byte // empty if none
	Header  []byte // the raw block "NATS/1.0…\r\n\r\n", nil if none
	Payload []byte // never longer than 64 MiB
}

// Interest says how many members now listen on Subject (it may have wildcards), in the queue group Queue if that
// is not empty. Members is the group's size in the whole cluster, 1 for plain subscriptions however many there
// are, and 0 when the last one went.
type Interest struct {
	Subject, Queue string
	Members        int
}

func (o Options) withDefaults() (Options, error) {
	if o.Handler == nil {
		return o, errors.New("leaf: Options.Handler is missing")
	}
	if o.Addr == "" && o.Dial == nil {
		return o, errors.New("leaf: Options.Addr is missing")
	}
	if o.Name == "" {
		o.Name = "dsend"
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.MaxPending <= 0 {
		o.MaxPending = 16 << 20
	}
	orElse(&o.SendWait, time.Second)
	orElse(&o.WriteTimeout, 10*time.Second)
	orElse(&o.HandshakeTimeout, 10*time.Second)
	orElse(&o.PingInterval, 20*time.Second)
	orElse(&o.ReconnectMin, 50*time.Millisecond)
	orElse(&o.ReconnectMax, 5*time.Second)
	return o, nil
}

func orElse(d *time.Duration, def time.Duration) {
	if *d == 0 {
		*d = def
	}
}
