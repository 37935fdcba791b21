package system

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/nats-io/nats.go"

	"dsend/testkit"
)

// hub is a NATS server that somebody else runs: the stock nats-server, a process
// with a folder, an address for clients and one for leafnodes.
type hub struct {
	t            testing.TB
	name         string
	client, leaf string // host:port
	login        string // "user:password@" of leafnodes
	config       string // path
	cmd          *exec.Cmd
	said         *journal
	ended        chan struct{}
}

// buildHub makes the stock nats-server of go.mod, once for all tests.
var buildHub = sync.OnceValues(func() (string, error) {
	if _, err := build(); err != nil { // makes the workshop
		return "", err
	}
	dir := workshop
	if dir == "" {
		var err error
		if dir, err = os.MkdirTemp("", "dsend-system-"); err != nil {
			return "", err
		}
		workshop = dir
	}
	path := filepath.Join(dir, "nats-server")
	out, err := exec.Command("go", "build", "-o", path, "github.com/nats-io/nats-server/v2").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go build nats-server: %w\n%s", err, out)
	}
	return path, nil
})

// hubConfig is a NATS server with JetStream of its own, in the domain hub. Its
// clients need no password; leafnodes do.
const hubConfig = `
server_name: %[1]s
listen: "%[2]s"
jetstream: {store_dir: "%[3]s", domain: hub, max_file_store: 1GB}
leafnodes: {listen: "%[4]s", authorization: {user: dsend, password: "s3cret"}}
`

// startHub starts a NATS server. The configuration is hubConfig, or another one with
// the same four values to fill in.
func startHub(t testing.TB, config string) *hub {
	t.Helper()
	return newHub(t, "hub", config, "dsend:s3cret@").start()
}

func newHub(t testing.TB, name, config, login string) *hub {
	t.Helper()
	h := &hub{t: t, name: name, client: testkit.PickAddr(t), leaf: testkit.PickAddr(t), login: login}
	dir := t.TempDir()
	h.config = filepath.Join(dir, "nats.conf")
	text := fmt.Sprintf(config, name, h.client, filepath.Join(dir, "js"), h.leaf)
	if err := os.WriteFile(h.config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.kill)
	return h
}

// startCluster starts a cluster of three.
func startCluster(t testing.TB) (hubs []*hub) {
	t.Helper()
	var routes, urls []string
	for range 3 {
		routes = append(routes, testkit.PickAddr(t))
		urls = append(urls, `"nats://`+routes[len(routes)-1]+`"`)
	}
	for i, route := range routes {
		cluster := fmt.Sprintf("cluster: {name: c, listen: %q, routes: [%s]}\n", route, strings.Join(urls, ","))
		hubs = append(hubs, newHub(t, fmt.Sprint("hub", i), hubConfig+cluster, "dsend:s3cret@").launch())
	}
	for _, h := range hubs {
		h.ready()
	}
	return hubs
}

// start starts the server, again if it ran before, and waits until it serves.
func (h *hub) start() *hub {
	h.t.Helper()
	h.launch().ready()
	return h
}

func (h *hub) launch() *hub {
	h.t.Helper()
	path, err := buildHub()
	if err != nil {
		h.t.Fatal(err)
	}
	h.cmd, h.said, h.ended = exec.Command(path, "-c", h.config), &journal{}, make(chan struct{})
	h.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	stderr, err := h.cmd.StderrPipe()
	if err != nil {
		h.t.Fatal(err)
	}
	if err := h.cmd.Start(); err != nil {
		h.t.Fatal(err)
	}
	cmd, said, ended := h.cmd, h.said, h.ended
	go func() {
		said.read(stderr)
		_ = cmd.Wait() // it is killed, or says why it ended
		close(ended)
	}()
	return h
}

func (h *hub) ready() {
	h.t.Helper()
	eventually(h.t, h.name+" serves", func() error {
		if len(h.said.with("Server is ready")) == 0 {
			return fmt.Errorf("nats-server says\n%s", h.said.last(20))
		}
		return nil
	})
}

// kill ends the server with SIGKILL, if it runs.
func (h *hub) kill() {
	if h.cmd == nil {
		return
	}
	if err := h.cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
		h.t.Errorf("kill %s: %v", h.name, err)
	}
	<-h.ended
}

// leafURLs are the addresses for server.leaf.
func leafURLs(hubs []*hub) string {
	var urls []string
	for _, h := range hubs {
		urls = append(urls, "nats://"+h.login+h.leaf)
	}
	return strings.Join(urls, ",")
}

// clientURLs are the addresses for clients.
func clientURLs(hubs []*hub) string {
	var urls []string
	for _, h := range hubs {
		urls = append(urls, "nats://"+h.client)
	}
	return strings.Join(urls, ",")
}

// connect makes a client of this server alone.
func (h *hub) connect(t testing.TB, more ...nats.Option) *client {
	t.Helper()
	return connectTo(t, "nats://"+h.client, more...)
}
