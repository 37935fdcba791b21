package bridge

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// A configuration file that the NATS server refuses is named, once.
func TestServerConfigRefused(t *testing.T) {
	for what, text := range map[string]string{
		"no syntax":          "authorization {",
		"an unset variable":  "authorization { token: $DSEND_TEST_NEVER_SET }",
		"an unknown setting": "no_such_setting: 1",
	} {
		file := filepath.Join(t.TempDir(), "nats.conf")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := StartServer(ServerConfig{File: file, Listen: "127.0.0.1:0"})
		if err == nil {
			s.Close()
			t.Errorf("%s: taken", what)
			continue
		}
		t.Logf("%s: %v", what, err)
		if !strings.HasPrefix(err.Error(), "server.config: "+file+":") || strings.Count(err.Error(), file) != 1 {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// Subjects that are used once leave nothing behind in the server, also in one
// that has a configuration file.
func TestServerKeepsNoSubjects(t *testing.T) {
	file := filepath.Join(t.TempDir(), "nats.conf")
	if err := os.WriteFile(file, []byte("max_payload: 1MB"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{"", file} {
		s, err := StartServer(ServerConfig{File: file, Listen: "127.0.0.1:0", Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		nc, err := nats.Connect("", nats.InProcessServer(s.server))
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		for i := range 100 {
			if err := nc.Publish(fmt.Sprintf("used.once.%d", i), nil); err != nil {
				t.Fatal(err)
			}
		}
		if err := nc.Flush(); err != nil {
			t.Fatal(err)
		}
		subs, err := s.server.Subsz(&server.SubszOptions{Account: server.DEFAULT_GLOBAL_ACCOUNT})
		if err != nil {
			t.Fatal(err)
		}
		if subs.NumMatches < 100 || subs.NumCache != 0 {
			t.Errorf("file %q: %d matches, %d subjects kept", file, subs.NumMatches, subs.NumCache)
		}
	}
}
