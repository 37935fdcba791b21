package config

import "os"

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
	if s.Config != "" {
		l.checkFile(s.Config)
	}
	if s.Account != "" && s.Config == "" {
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

func (l *loader) checkFile(path string) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		l.problems.add(l.at("server.config"), "server.config", "%s: %s", quote(path), reason(err))
	case info.IsDir():
		l.problems.add(l.at("server.config"), "server.config", "%s is a folder", quote(path))
	}
}
