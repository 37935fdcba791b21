package bridge

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
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
