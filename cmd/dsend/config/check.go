package config

import (
	"os"
	"slices"
)

// check looks at what only shows once all sources are together.
func (l *loader) check(c *Config) {
	l.checkServer(c)
	found := l.checkDefaults(c)
	for i, q := range l.queues {
		l.checkQueue(q, c.Queues[i].Settings, found)
	}
	l.checkSubjects(c)
	l.checkCircles(c)
}

// checkServer is about server and http.
func (l *loader) checkServer(c *Config) {
	s := &c.Server
	for _, key := range fileKeys {
		if v := l.text(key); v != "" {
			l.checkFile(key, v)
		}
	}
	l.checkLeaf(s)
	if s.Account != "" && s.Config == "" && s.Leaf == "" {
		l.problems.add(l.at("server.account"), "server.account", "needs server.config, which defines the accounts")
	}
	if s.Listen != "" && s.Listen == c.HTTP.Listen && !freePort(s.Listen) {
		key := "http.listen"
		if !l.given(key) {
			key = "server.listen"
		}
		l.problems.add(l.at(key), key, "%s is both server.listen and http.listen", quote(s.Listen))
	}
}

// fileKeys are those that name a file which must be there.
var fileKeys = []string{"server.config", "server.leaf_creds", "server.leaf_ca", "server.leaf_cert", "server.leaf_key"}

func (l *loader) checkFile(key, path string) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		l.problems.add(l.at(key), key, "%s: %s", quote(path), reason(err))
	case info.IsDir():
		l.problems.add(l.at(key), key, "%s is a folder", quote(path))
	}
}

// checkLeaf is about joining a server instead of being one.
func (l *loader) checkLeaf(s *Server) {
	own := []string{"server.listen", "server.config", "server.account"}
	theirs := []string{"server.leaf_creds", "server.leaf_ca", "server.leaf_cert", "server.leaf_key"}
	if s.Leaf != "" {
		for _, key := range own {
			if l.text(key) != "" {
				l.problems.add(l.at(key), key, "is about the server inside, and server.leaf joins another one")
			}
		}
	} else if !slices.Contains(slices.Concat(l.file.bad, l.env.bad, l.flags.bad), "server.leaf") {
		for _, key := range theirs {
			if l.text(key) != "" {
				l.problems.add(l.at(key), key, "needs server.leaf, the server it is for")
			}
		}
	}
	if (s.LeafCert == "") != (s.LeafKey == "") {
		given, missing := "server.leaf_cert", "server.leaf_key"
		if s.LeafCert == "" {
			given, missing = missing, given
		}
		l.problems.add(l.at(given), given, "needs %s", missing)
	}
}
