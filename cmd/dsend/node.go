package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"sync"

	"github.com/nats-io/nats.go"

	"dsend/bridge"
	"dsend/bridge/admin"
	"dsend/bridge/jetstream"
	"dsend/bridge/leaf"
	"dsend/cmd/dsend/config"
	"dsend/durable"
	"dsend/durable/ballast"
	"dsend/durable/queue"
	"dsend/durable/wal"
)

// node is everything that runs:
//
//	http ── health, metrics
//	server ─► bridge ─► store ─► wal
//	  │         └─► api ──┤
//	  └─► admin ──────────┘
//
// server is a NATS server inside, or one that somebody else runs.
type node struct {
	cfg  *config.Config
	load func() (*config.Config, error) // reads the configuration again

	log   *slog.Logger
	level *slog.LevelVar

	health  *admin.Health
	metrics *admin.Metrics
	http    *admin.Server // nil if it is turned off
	server  wireServer
	bridge  *bridge.Bridge
	wal     *wal.Log
	store   *durable.Store
	api     *jetstream.API
	broken  chan error // something that runs has failed

	reloading sync.Mutex
}

// wireServer is the NATS server Dsend works with: a bridge.Server or a
// bridge.Attached.
type wireServer interface {
	Leaf() leaf.Options
	Connect(...nats.Option) (*nats.Conn, error)
	JetStream() bool
	Bare() bool
	URL() string
	Close()
}

func newNode(cfg *config.Config, load func() (*config.Config, error), logTo io.Writer) *node {
	n := &node{
		cfg: cfg, load: load, level: new(slog.LevelVar),
		health: new(admin.Health), metrics: admin.NewMetrics(version().Version), broken: make(chan error, 2),
	}
	n.setLevel(cfg)
	options := &slog.HandlerOptions{Level: n.level}
	if cfg.Log.Format == "json" {
		n.log = slog.New(slog.NewJSONHandler(logTo, options))
	} else {
		n.log = slog.New(slog.NewTextHandler(logTo, options))
	}
	return n
}

func (n *node) setLevel(cfg *config.Config) {
	var level slog.Level
	if level.UnmarshalText([]byte(cfg.Log.Level)) == nil { // config has proven it
		n.level.Set(level)
	}
}

// box is one part of the picture: it starts, and tells how it is stopped.
type box func(context.Context) (stop func() error, err error)

// run starts the boxes in order, tells that they run, waits for the end and
// stops them in reverse.
func (n *node) run(ctx context.Context, ready func(*node)) (err error) {
	var stops []func() error
	defer func() {
		n.health.Stopping()
		for _, stop := range slices.Backward(stops) {
			if failed := stop(); !errors.Is(err, failed) { // one failure is said once
				err = errors.Join(err, failed)
			}
		}
	}()
	for _, start := range []box{n.startHTTP, n.startServer, n.makeBridge, n.openStore, n.startAPI, n.serveStore, n.openGateway, n.startAdmin} {
		stop, err := start(ctx)
		if errors.Is(err, context.Canceled) && ctx.Err() != nil {
			return nil // asked to stop while starting
		}
		if err != nil {
			return err
		}
		stops = append(stops, stop)
		if ctx.Err() != nil {
			return nil // asked to stop while starting
		}
	}
	n.health.Ready()
	ready(n)
	return n.wait(ctx)
}

// wait returns when the process shall end, with the reason if it failed.
func (n *node) wait(ctx context.Context) error {
	hangup := hangups(ctx)
	for {
		select {
		case <-ctx.Done():
			n.log.Info("stopping")
			return nil
		case <-n.store.Done():
			err := n.store.Err()
			n.health.Failed(err)
			return err
		case err := <-n.broken:
			n.health.Failed(err)
			return err
		case <-hangup:
			if _, err := n.reload(ctx); err != nil {
				n.log.Error("reload refused, nothing changed", "error", err)
			}
		}
	}
}

func nothing() error { return nil }

func (n *node) startHTTP(context.Context) (func() error, error) {
	if n.cfg.HTTP.Listen == "" {
		return nothing, nil
	}
	server, err := admin.Listen(n.cfg.HTTP.Listen, admin.Handler(n.health, n.metrics))
	if err != nil {
		return nil, err
	}
	n.http = server
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		err := server.Run(ctx)
		ended <- err
		if err != nil {
			n.broken <- err
		}
	}()
	return func() error { cancel(); return <-ended }, nil
}

func (n *node) startServer(context.Context) (func() error, error) {
	if n.cfg.Server.Leaf != "" {
		return n.attach()
	}
	server, err := bridge.StartServer(bridge.ServerConfig{
		Listen: n.cfg.Server.Listen, File: n.cfg.Server.Config, Account: n.cfg.Server.Account, Logger: n.log,
	})
	if err != nil {
		return nil, err
	}
	n.server = server
	return func() error { server.Close(); return nil }, nil
}

// attach joins a server that somebody else runs.
func (n *node) attach() (func() error, error) {
	s := n.cfg.Server
	server, err := bridge.Attach(bridge.AttachConfig{
		URLs: s.Leaf, Creds: s.LeafCreds, CA: s.LeafCA, Cert: s.LeafCert, Key: s.LeafKey,
		MaxPayload: func() int { return n.bridge.MaxPayload() }, Logger: n.log,
	})
	if err != nil {
		return nil, err
	}
	n.server = server
	return func() error { server.Close(); return nil }, nil
}

func (n *node) makeBridge(context.Context) (func() error, error) {
	b, err := bridge.New(bridge.Config{
		Prefix: n.cfg.Prefix, Leaf: n.server.Leaf(), Logger: n.log, Reconnected: n.metrics.LeafReconnected,
		API:  func(subject, reply string, header, body []byte) { n.api.Request(subject, reply, header, body) },
		Bare: n.server.Bare(),
	})
	if err != nil {
		return nil, err
	}
	n.bridge = b
	return b.Close, nil
}

func (n *node) openStore(ctx context.Context) (func() error, error) {
	dir := n.cfg.Storage.Dir
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return nil, fmt.Errorf("%s: %w", dir, wal.ErrNotFolder)
	}
	if err := hadLog(dir); err != nil {
		return nil, err
	}
	log, err := wal.Open(logFolder(dir), wal.Options{Logger: n.log})
	if err != nil {
		return nil, err
	}
	n.wal = log
	store, err := durable.Open(log, durable.Config{
		Queue:       n.queueConfig(n.cfg),
		Speaker:     n.bridge,
		Observer:    n.metrics,
		Logger:      n.log,
		AckInterval: n.cfg.Sync.AckInterval,
		Cache:       n.cfg.Storage.Cache,
		Reserve:     uint64(n.cfg.Storage.Reserve),
		Ballast:     ballast.New(ballastFile(dir), ballast.SizeFor(n.cfg.Storage.Reserve)),
		Slack:       n.cfg.Storage.Slack,
		Progress:    func(done, total int64) error { return n.recovering(ctx, done, total) },
	})
	if err != nil {
		return nil, unopened(dir, err)
	}
	debug.FreeOSMemory() // recovery needed more than what comes now
	n.store = store
	return store.Close, nil
}

// The log wants a folder of its own: a mounted disk has files of the file
// system's in its first one.
func logFolder(dir string) string { return filepath.Join(dir, "log") }

func ballastFile(dir string) string { return filepath.Join(dir, "ballast") }

// hadLog refuses a data folder that has the ballast of a server, and no log: the
// ballast is made when the log is there.
func hadLog(dir string) error {
	if _, err := os.Lstat(logFolder(dir)); !errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if _, err := os.Lstat(ballastFile(dir)); err != nil {
		return nil
	}
	return fmt.Errorf("%s: %w: remove %s to begin with nothing", logFolder(dir), wal.ErrVanished, ballastFile(dir))
}

// unopened is why the store of a folder does not open, and what to do if that is
// damage.
func unopened(dir string, err error) error {
	if errors.As(err, new(*wal.Damage)) {
		return fmt.Errorf("%s: %w; \"dsend repair --dry-run %s\" tells what that costs", dir, err, dir)
	}
	return fmt.Errorf("%s: %w", dir, err)
}

// recovering tells the probes how far recovery is, and ends it when the process
// shall end. Clients that come meanwhile are told that nobody is there: the
// bridge listens when the store has been recovered.
func (n *node) recovering(ctx context.Context, done, total int64) error {
	n.health.Starting(fmt.Sprintf("recovering the log, %d%%", done*100/max(total, 1)))
	return ctx.Err()
}

// logBytes is the size of the log on disk.
func (n *node) logBytes() (bytes int64) {
	for _, g := range n.wal.Generations() {
		bytes += g.Bytes
	}
	return bytes
}

func (n *node) queueConfig(cfg *config.Config) queue.Config {
	return queue.Config{AutoCreate: cfg.AutoCreate, Defaults: cfg.Defaults, Grace: cfg.WorkerGrace, MaxWaiting: maxWaitingPulls}
}

// maxWaitingPulls bounds the requests that wait on one queue.
const maxWaitingPulls = 100_000

// startAPI serves the JetStream API, as soon as the bridge brings requests.
func (n *node) startAPI(context.Context) (func() error, error) {
	n.api = jetstream.Start(n.store, jetstream.Config{
		Prefix: n.cfg.Prefix, Domain: bridge.Domain, Respond: n.bridge.Respond, Header: bridge.ShownHeader,
		Defaults: n.cfg.Defaults, Reserved: config.Reserved(n.cfg.Prefix), Log: n.log,
	})
	return func() error { n.api.Stop(); return nil }, nil
}

// openGateway lets clients in that set no JetStream domain, where the leaf does
// not hear them.
func (n *node) openGateway(context.Context) (func() error, error) {
	if n.server.JetStream() || n.server.Bare() {
		return nothing, nil
	}
	nc, err := n.server.Connect(nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
		n.log.Warn("JetStream gateway", "error", err)
	}))
	if err != nil {
		return nil, err
	}
	if err := jetstream.Gateway(nc, bridge.Domain, n.log); err != nil {
		nc.Close()
		return nil, err
	}
	return func() error { nc.Close(); return nil }, nil
}

// serveStore declares the queues of the configuration, and only then lets
// clients in.
func (n *node) serveStore(ctx context.Context) (func() error, error) {
	if err := n.declare(ctx, n.cfg); err != nil {
		return nil, err
	}
	return nothing, n.bridge.Start(ctx, n.store)
}

func (n *node) startAdmin(context.Context) (func() error, error) {
	nc, err := n.server.Connect(nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
		n.log.Warn("admin connection", "error", err)
	}))
	if err != nil {
		return nil, err
	}
	view := adminStore{n.store}
	service, err := admin.Start(nc, view, admin.Config{Prefix: n.cfg.Prefix, Version: version().Version, Reload: n.reload, Copy: n.copyLog, Log: n.log})
	if err != nil {
		nc.Close()
		return nil, err
	}
	n.metrics.Watch(view, n.logBytes)
	return func() error { err := service.Stop(); nc.Close(); return err }, nil
}

// copyLog holds the log for a backup.
func (n *node) copyLog(ctx context.Context) (admin.Copy, error) {
	hold, err := n.store.Hold(ctx)
	if err != nil {
		return nil, err // not a Copy that is a nil Hold
	}
	return hold, nil
}

// adminStore is the store as the admin package sees it.
type adminStore struct{ *durable.Store }

func (s adminStore) Message(ctx context.Context, e queue.Entry) (queue.Message, error) {
	_, m, err := s.Store.Message(ctx, e.Queue, e.Seq)
	return m, err
}
