package bridge

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"
	"github.com/nats-io/nuid"

	"dsend/bridge/leaf"
)

// AttachConfig says which NATS server to join, and as whom.
type AttachConfig struct {
	// URLs are the leafnode ports of the servers of one cluster, separated by
	// commas, with credentials in them or not: nats://user:password@host:7422.
	URLs string
	// Creds is a credentials file (JWT and seed); empty is none. It is read
	// anew for each connection.
	Creds string
	// CA, Cert and Key are PEM files: who may have signed the server's
	// certificate, and our own. Empty is the system's roots, and none.
	CA, Cert, Key string
	// MaxPayload tells the server's bound of a message once it is known.
	MaxPayload func() int
	Logger     *slog.Logger
}

// Attached is a NATS server somebody else runs, joined by its leafnode port.
//
// The path of messages is one leafnode connection (package leaf). What needs
// an ordinary connection, such as the micro API, has it to a nats-server of
// our own inside the process, which listens nowhere and is itself a leafnode of
// the server joined.
type Attached struct {
	cfg  AttachConfig
	urls []*url.URL
	tls  *tls.Config // nil if nothing is configured

	mu   sync.Mutex
	door *server.Server // nil before the first Connect
}

// Attach prepares to join a server. Nothing is connected yet.
func Attach(cfg AttachConfig) (*Attached, error) {
	urls, err := leaf.URLs(cfg.URLs)
	if err != nil {
		return nil, fmt.Errorf("server.leaf %w", err)
	}
	a := &Attached{cfg: cfg, urls: urls}
	if cfg.Creds != "" {
		if _, _, err := credentials(cfg.Creds, nil); err != nil {
			return nil, fmt.Errorf("server.leaf_creds: %w", err)
		}
	}
	return a, a.readTLS()
}

func (a *Attached) readTLS() error {
	if a.cfg.CA == "" && a.cfg.Cert == "" {
		return nil
	}
	a.tls = &tls.Config{MinVersion: tls.VersionTLS12}
	if a.cfg.CA != "" {
		pem, err := os.ReadFile(a.cfg.CA)
		if err != nil {
			return fmt.Errorf("server.leaf_ca: %w", err)
		}
		a.tls.RootCAs = x509.NewCertPool()
		if !a.tls.RootCAs.AppendCertsFromPEM(pem) {
			return fmt.Errorf("server.leaf_ca: %s has no certificate in PEM", a.cfg.CA)
		}
	}
	if a.cfg.Cert != "" {
		own := func() (tls.Certificate, error) { return tls.LoadX509KeyPair(a.cfg.Cert, a.cfg.Key) }
		if _, err := own(); err != nil {
			return fmt.Errorf("server.leaf_cert: %w", err)
		}
		// Read for each connection: certificates are renewed.
		a.tls.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
			c, err := own()
			return &c, err
		}
	}
	return nil
}

// credentials reads a credentials file and signs a nonce with it.
func credentials(file string, nonce []byte) (jwt string, signature []byte, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return "", nil, err
	}
	defer clear(text)
	if jwt, err = nkeys.ParseDecoratedJWT(text); err != nil {
		return "", nil, fmt.Errorf("%s: %w", file, err)
	}
	pair, err := nkeys.ParseDecoratedUserNKey(text)
	if err != nil {
		return "", nil, fmt.Errorf("%s: %w", file, err)
	}
	defer pair.Wipe()
	signature, err = pair.Sign(nonce)
	return jwt, signature, err
}

// Leaf is how the bridge reaches the server.
func (a *Attached) Leaf() leaf.Options {
	var addrs []string
	for _, u := range a.urls {
		addrs = append(addrs, u.String())
	}
	o := leaf.Options{Addr: strings.Join(addrs, ","), Name: "dsend", TLS: a.tls}
	if a.cfg.Creds != "" {
		o.Sign = func(nonce []byte) (jwt, nkey string, signature []byte, err error) {
			jwt, signature, err = credentials(a.cfg.Creds, nonce)
			return jwt, "", signature, err
		}
	}
	return o
}

// Connect makes an ordinary connection inside the process. It stays when the
// server joined goes away; what it asks for is then answered by nobody.
func (a *Attached) Connect(options ...nats.Option) (*nats.Conn, error) {
	door, err := a.open()
	if err != nil {
		return nil, err
	}
	options = append(options, nats.InProcessServer(door), nats.Name("dsend"), nats.MaxReconnects(-1))
	return nats.Connect("", options...)
}

// open starts the server of our own, once, and waits until it has joined.
func (a *Attached) open() (*server.Server, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.door != nil {
		return a.door, nil
	}
	door, err := server.NewServer(a.doorOptions())
	if err != nil {
		return nil, fmt.Errorf("nats-server: %w", err)
	}
	door.SetLoggerV2(&quietLog{serverLog{log: a.cfg.Logger, fatal: make(chan string, 1)}}, false, false, false)
	door.Start()
	if !door.ReadyForConnections(startTimeout) {
		door.Shutdown()
		door.WaitForShutdown()
		return nil, fmt.Errorf("nats-server is not ready after %s", startTimeout)
	}
	a.door = door
	a.joined()
	return door, nil
}

// joined waits until the server of our own is connected to the one joined. If
// that takes long, it will come by itself: the other one has gone again.
func (a *Attached) joined() {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for until := time.Now().Add(startTimeout); time.Now().Before(until) && a.door.NumLeafNodes() == 0; {
		<-tick.C
	}
}

func (a *Attached) doorOptions() *server.Options {
	o := &server.Options{DontListen: true, NoSigs: true}
	// A name of its own: a server takes the place of another one of its name.
	o.ServerName = "dsend-api-" + nuid.Next()
	if n := a.cfg.MaxPayload(); n > 0 {
		o.MaxPayload = int32(n) // neither side sends what the other one hangs up for
	}
	o.LeafNode.ReconnectInterval = 250 * time.Millisecond
	o.LeafNode.Remotes = []*server.RemoteLeafOpts{{
		URLs: a.urls, NoRandomize: true, Credentials: a.cfg.Creds, TLS: a.tls != nil, TLSConfig: a.tls,
	}}
	return o
}

// URL is where the server is, without what is secret in it.
func (a *Attached) URL() string {
	var shown []string
	for _, u := range a.urls {
		bare := *u
		bare.User = nil
		shown = append(shown, bare.String())
	}
	return strings.Join(shown, ",")
}

// Bare tells that the server keeps $JS.API from leafs.
func (*Attached) Bare() bool { return false }

// JetStream tells that $JS.API is not ours to answer: the server may have a
// JetStream of its own, now or later.
func (*Attached) JetStream() bool { return true }

// Close ends the server of our own; the one joined does not mind.
func (a *Attached) Close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.door != nil {
		a.door.Shutdown()
		a.door.WaitForShutdown()
	}
}

// quietLog is the log of the server of our own: what it complains of, the leaf
// says as well.
type quietLog struct{ serverLog }

func (l *quietLog) Warnf(format string, v ...any)  { l.Debugf(format, v...) }
func (l *quietLog) Errorf(format string, v ...any) { l.Debugf(format, v...) }
