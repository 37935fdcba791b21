package bridge

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"dsend/bridge/leaf"
)

// ServerConfig says how to embed a NATS server.
type ServerConfig struct {
	// Listen is where clients connect, host:port; empty is what File says.
	Listen string
	// File is a nats-server configuration, used as it is; empty is none.
	File string
	// Account is the account Dsend serves; empty is the global one.
	Account string
	Logger  *slog.Logger
}

// Server is an embedded nats-server, with a door for Dsend that nobody else
// can use.
type Server struct {
	server  *server.Server
	account string
	secret  string
	login   []nats.Option // how Dsend's own client connection gets in
	leaf    string        // the leafnode port
	tls     *tls.Config

	jetStream bool // the server has its own
	free      bool // our leaf is denied nothing
}

// startTimeout bounds the start of the server.
const startTimeout = 10 * time.Second

// StartServer starts a nats-server and waits until it takes connections.
func StartServer(cfg ServerConfig) (*Server, error) {
	opts, err := serverOptions(cfg)
	if err != nil {
		return nil, err
	}
	s := &Server{account: cfg.Account, secret: rand.Text()}
	if s.account == "" {
		s.account = server.DEFAULT_GLOBAL_ACCOUNT
	}
	s.jetStream = opts.JetStream
	if err := s.openDoor(opts); err != nil {
		return nil, err
	}
	if err := checkPort(opts); err != nil {
		return nil, err
	}
	if s.server, err = server.NewServer(opts); err != nil {
		return nil, fmt.Errorf("nats-server: %w", err)
	}
	if cfg.Account == "" && len(opts.Accounts) > 1 {
		cfg.Logger.Warn("the server has accounts and Dsend serves the global one: set server.account", "file", cfg.File)
	}
	log := &serverLog{log: cfg.Logger, fatal: make(chan string, 1)}
	s.server.SetLoggerV2(log, opts.Debug, opts.Trace, false)
	s.server.Start()
	if !s.server.ReadyForConnections(startTimeout) {
		s.Close()
		select {
		case why := <-log.fatal:
			return nil, errors.New("nats-server: " + why)
		default:
			return nil, fmt.Errorf("nats-server is not ready after %s", startTimeout)
		}
	}
	return s, s.findLeaf(opts)
}

// inFile names the file of an error; some of the server's say it themselves.
func inFile(file string, err error) error {
	if strings.Contains(err.Error(), file) {
		return err
	}
	return fmt.Errorf("%s: %w", file, err)
}

// serverOptions reads the configuration file and fills what it leaves open.
func serverOptions(cfg ServerConfig) (*server.Options, error) {
	opts := &server.Options{}
	if cfg.File != "" {
		var err error
		if opts, err = server.ProcessConfigFile(cfg.File); err != nil {
			return nil, fmt.Errorf("server.config: %w", inFile(cfg.File, err))
		}
	}
	if cfg.Listen != "" {
		host, port, err := net.SplitHostPort(cfg.Listen)
		if err != nil {
			return nil, fmt.Errorf("server.listen: %w", err)
		}
		n, err := strconv.Atoi(port)
		if err != nil || n < 0 || n > 65535 {
			return nil, fmt.Errorf("server.listen: %q is not a port", port)
		}
		if n == 0 {
			n = server.RANDOM_PORT
		}
		opts.Host, opts.Port = host, n
	}
	if opts.Host == "" {
		opts.Host = "127.0.0.1" // not the server's own default, all interfaces
	}
	if opts.Port == 0 {
		opts.Port = server.DEFAULT_PORT
	}
	opts.NoSigs = true
	// Its cache of who gets a subject, one of 1024 for all connections and behind a
	// lock, costs more than it saves: a request has a reply subject of its own, and
	// there may be more queues. Each connection keeps one of 512 in any case.
	opts.NoSublistCache = true
	if opts.ServerName == "" {
		opts.ServerName = "dsend"
	}
	if opts.JetStreamDomain == Domain {
		return nil, fmt.Errorf("%s: the JetStream domain %q is Dsend's own", cfg.File, Domain)
	}
	return opts, nil
}

// openDoor makes a way in for Dsend: a user of its own where the server has
// users, and a leafnode port on loopback unless there is one.
func (s *Server) openDoor(opts *server.Options) error {
	if len(opts.TrustedOperators) > 0 || len(opts.TrustedKeys) > 0 {
		return errors.New("nats-server in operator mode (JWT) cannot be embedded")
	}
	account, err := accountOf(opts, s.account)
	if err != nil {
		return err
	}
	const name = "dsend-internal"
	switch {
	case len(opts.Users) > 0 || len(opts.Nkeys) > 0 || len(opts.Accounts) > 0:
		opts.Users = append(opts.Users, &server.User{Username: name, Password: s.secret, Account: account})
		s.login = []nats.Option{nats.UserInfo(name, s.secret)}
	case opts.Username != "":
		s.login = []nats.Option{nats.UserInfo(opts.Username, opts.Password)}
	case opts.Authorization != "":
		s.login = []nats.Option{nats.Token(opts.Authorization)}
	}
	l := &opts.LeafNode
	if l.Port == 0 {
		l.Host, l.Port = "127.0.0.1", server.RANDOM_PORT
		l.Username, l.Password, l.Account = name, s.secret, s.account
		s.freeLeaf(opts)
		return nil
	}
	if l.Username != "" {
		l.Users = append(l.Users, &server.User{Username: l.Username, Password: l.Password, Account: named(opts, l.Account)})
		l.Username, l.Password = "", ""
	}
	if len(l.Users) > 0 || len(opts.Users) == 0 {
		l.Users = append(l.Users, &server.User{Username: name, Password: s.secret, Account: account})
	}
	if l.TLSConfig != nil { // we dial ourselves, on loopback
		s.tls = &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12}
	}
	return nil
}

// freeLeaf spares our leaf the server's own denials. To a leaf it denies
// JetStream's subjects, so that two JetStreams do not answer one request, and
// looks up every message to us in that list: those with a subject of their own,
// as acks are, cost it a tenth of all it does. Where there is no JetStream, and
// no leaf but ours, nothing needs to be denied.
func (s *Server) freeLeaf(opts *server.Options) {
	if !opts.JetStream && len(opts.LeafNode.Remotes) == 0 && opts.JsAccDefaultDomain == nil {
		opts.JsAccDefaultDomain = map[string]string{s.account: ""}
		s.free = true
	}
}

// accountOf finds the account Dsend serves; nil is the global one.
func accountOf(opts *server.Options, name string) (*server.Account, error) {
	if name == server.DEFAULT_GLOBAL_ACCOUNT {
		return nil, nil
	}
	if a := named(opts, name); a != nil {
		return a, nil
	}
	return nil, fmt.Errorf("server.account: the server has no account %q", name)
}

func named(opts *server.Options, name string) *server.Account {
	for _, a := range opts.Accounts {
		if a.Name == name {
			return a
		}
	}
	return nil
}

// checkPort tells at once and in plain words if the port is taken; the server
// would say so in its log only.
func checkPort(opts *server.Options) error {
	if opts.DontListen || opts.Port == server.RANDOM_PORT {
		return nil
	}
	l, err := net.Listen("tcp", net.JoinHostPort(opts.Host, strconv.Itoa(opts.Port)))
	if err != nil {
		return fmt.Errorf("server.listen: %w", err)
	}
	return l.Close()
}

// findLeaf notes the leafnode port that was chosen.
func (s *Server) findLeaf(opts *server.Options) error {
	v, err := s.server.Varz(nil)
	if err != nil {
		s.Close()
		return err
	}
	host := opts.LeafNode.Host
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	s.leaf = net.JoinHostPort(host, strconv.Itoa(v.LeafNode.Port))
	return nil
}

// Leaf is how the bridge reaches the server.
func (s *Server) Leaf() leaf.Options {
	return leaf.Options{Addr: s.leaf, Name: "dsend", User: "dsend-internal", Password: s.secret, TLS: s.tls}
}

// Connect makes an ordinary connection inside the process.
func (s *Server) Connect(options ...nats.Option) (*nats.Conn, error) {
	options = append(options, nats.InProcessServer(s.server), nats.Name("dsend"), nats.MaxReconnects(-1))
	options = append(options, s.login...)
	return nats.Connect("", options...)
}

// URL is where clients connect.
func (s *Server) URL() string { return s.server.ClientURL() }

// Bare tells whether the leaf may serve the JetStream API without a domain.
func (s *Server) Bare() bool { return s.free }

// JetStream tells whether the server has a JetStream of its own.
func (s *Server) JetStream() bool { return s.jetStream }

// Close stops the server and waits for it.
func (s *Server) Close() {
	s.server.Shutdown()
	s.server.WaitForShutdown()
}

// serverLog hands the server's log on.
type serverLog struct {
	log   *slog.Logger
	fatal chan string
}

var _ server.Logger = (*serverLog)(nil)

func (l *serverLog) Noticef(format string, v ...any) { l.say(slog.LevelDebug, format, v) }
func (l *serverLog) Debugf(format string, v ...any)  { l.say(slog.LevelDebug, format, v) }
func (l *serverLog) Tracef(format string, v ...any)  { l.say(slog.LevelDebug, format, v) }
func (l *serverLog) Warnf(format string, v ...any)   { l.say(l.concern(format), format, v) }

// Errorf says what has failed. A leaf that closes while it is written to has not: the server says so of clients at its
// debug level, and of leafs, which we are one of, as an error.
func (l *serverLog) Errorf(format string, v ...any) {
	level := slog.LevelError
	if strings.Contains(format, "Error flushing") {
		level = slog.LevelDebug
	}
	l.say(level, format, v)
}

// concern is how much a warning matters: that an option of ours will go away in
// a later version is nothing for people.
func (l *serverLog) concern(format string) slog.Level {
	if strings.Contains(format, "default_js_domain") {
		return slog.LevelDebug
	}
	return slog.LevelWarn
}

// Fatalf does not end the process, as the server expects of its own logger:
// whoever started the server is told.
func (l *serverLog) Fatalf(format string, v ...any) {
	l.say(slog.LevelError, format, v)
	select {
	case l.fatal <- fmt.Sprintf(format, v...):
	default:
	}
}

func (l *serverLog) say(level slog.Level, format string, v []any) {
	if l.log.Enabled(context.Background(), level) {
		l.log.Log(context.Background(), level, fmt.Sprintf(format, v...), "from", "nats-server")
	}
}
