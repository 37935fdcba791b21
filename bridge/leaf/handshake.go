package leaf

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
)

// version is what we say we are: the nats-server whose leaf protocol this speaks. A server may have a minimum (min_version).
const version = "2.15.3"

// serverInfo is what we use of the server's INFO line (server/server.go:108).
type serverInfo struct {
	ID, Name, Version string
	Account           string // our account, known after CONNECT
	Nonce             string
	MaxPayload        int
	Headers           bool
	TLSRequired       bool
	leafPort          bool
	connected         bool        // the INFO that answers CONNECT
	publish           *permission // what our user may publish
}

type infoJSON struct {
	ID            string      `json:"server_id"`
	Name          string      `json:"server_name"`
	Version       string      `json:"version"`
	Account       string      `json:"remote_account"`
	Nonce         string      `json:"nonce"`
	MaxPayload    int         `json:"max_payload"`
	Headers       bool        `json:"headers"`
	TLSRequired   bool        `json:"tls_required"`
	LeafURLs      []string    `json:"leafnode_urls"`
	InfoOnConnect bool        `json:"info_on_connect"`
	ConnectInfo   bool        `json:"connect_info"`
	Export        *permission `json:"export"`
}

// connect is our CONNECT line (server/leafnode.go:2310). It has no "lang": that would make us a client on the wrong
// port (leafnode.go:2355). No "remote_account": with it the server would evict another leaf of our name (leafnode.go:2105-2116).
type connect struct {
	Version  string `json:"version"`
	ID       string `json:"server_id"`
	Name     string `json:"name"`
	Headers  bool   `json:"headers"`
	Protocol int    `json:"protocol"`
	Compress string `json:"compress_mode"`
	User     string `json:"user,omitempty"`
	Pass     string `json:"pass,omitempty"`
	Token    string `json:"auth_token,omitempty"`
	JWT      string `json:"jwt,omitempty"`
	NKey     string `json:"nkey,omitempty"`
	Sig      string `json:"sig,omitempty"`
}

// open dials and sends CONNECT and the first PING. What comes back is for the read loop, under the same deadline.
func (s *session) open(ctx context.Context) error {
	timed, cancel := context.WithTimeout(ctx, s.c.o.HandshakeTimeout)
	defer cancel()
	conn, err := s.to.connect(timed)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	s.conn = conn
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	deadline, _ := timed.Deadline()
	if err := conn.SetDeadline(deadline); err != nil {
		return fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	if err := s.greet(timed); err != nil {
		return err
	}
	line, err := s.connectLine()
	if err != nil {
		return err
	}
	s.out.line(line)
	s.out.ping(s.attached)
	return nil
}

// greet gets the server's INFO, before or after TLS.
func (s *session) greet(ctx context.Context) error {
	if s.c.o.TLSFirst {
		if err := s.startTLS(ctx); err != nil {
			return err
		}
	}
	if err := s.readInfo(); err != nil {
		return err
	}
	if s.c.o.TLSFirst || s.to.tls == nil && !s.info.TLSRequired {
		return nil
	}
	if !s.info.TLSRequired {
		return errors.New("leaf: TLS is configured and the server does not offer it: nothing was sent")
	}
	if s.r != s.w { // whoever put plain bytes there would have them taken for protected ones
		return fmt.Errorf("%w: bytes before the TLS handshake", ErrProtocol)
	}
	return s.startTLS(ctx)
}

func (s *session) readInfo() error {
	o, err := s.readLine()
	switch {
	case err != nil:
		return fmt.Errorf("leaf: waiting for the server's INFO: %w", err)
	case o == opErr:
		return ServerError(s.parser.arg)
	case o != opInfo:
		return fmt.Errorf("%w: the first line is not INFO", ErrProtocol)
	}
	s.learn(s.parser.arg)
	switch {
	case !s.info.leafPort:
		return fmt.Errorf("%w: this is not a leafnode port", ErrProtocol)
	case !s.info.Headers:
		return fmt.Errorf("%w: the server has headers turned off (no_header_support)", ErrProtocol)
	}
	return nil
}

func (s *session) startTLS(ctx context.Context) error {
	cfg := s.to.tls
	if cfg == nil {
		cfg = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	cfg = cfg.Clone()
	if cfg.ServerName == "" {
		cfg.ServerName = s.to.host()
	}
	conn := tls.Client(s.conn, cfg)
	if err := conn.HandshakeContext(ctx); err != nil {
		return fmt.Errorf("leaf: TLS: %w", err)
	}
	s.conn = conn
	return nil
}

// learn takes an INFO line, the first or an update. Only the one that answers CONNECT tells account and permissions.
// What it says counts for the Conn from attach on.
func (s *session) learn(line []byte) {
	var in infoJSON
	if err := json.Unmarshal(line, &in); err != nil {
		s.c.o.Logger.Warn("leaf: INFO of the server not understood", "error", err)
		return
	}
	old := s.info
	s.info = serverInfo{
		ID: in.ID, Name: in.Name, Version: in.Version, Account: in.Account, Nonce: in.Nonce, MaxPayload: in.MaxPayload,
		Headers: in.Headers, TLSRequired: in.TLSRequired, leafPort: in.InfoOnConnect || in.LeafURLs != nil,
		connected: in.ConnectInfo, publish: in.Export,
	}
	if !in.ConnectInfo && old.connected {
		s.info.Account, s.info.publish, s.info.connected = old.Account, old.publish, true
	}
	if s.c.current.Load() == s {
		s.c.adopt(s.info)
	}
}

func (s *session) connectLine() (string, error) {
	o := &s.c.o
	msg := connect{
		Version: version, ID: s.c.id, Name: o.Name, Headers: true, Protocol: 1, Compress: "not supported",
		User: s.to.user, Pass: s.to.password, Token: s.to.token,
	}
	if o.Sign != nil {
		jwt, nkey, sig, err := o.Sign([]byte(s.info.Nonce))
		if err != nil {
			return "", fmt.Errorf("leaf: signing the server's nonce: %w", err)
		}
		msg.JWT, msg.NKey, msg.Sig = jwt, nkey, base64.RawURLEncoding.EncodeToString(sig)
	}
	b, err := json.Marshal(msg)
	return "CONNECT " + string(b), err
}
