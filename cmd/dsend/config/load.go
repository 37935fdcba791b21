package config

import (
	"errors"

	"github.com/spf13/pflag"
	"github.com/spf13/viper"

	"dsend/durable/queue"
	"dsend/retry"
)

// Options are the sources of a configuration.
type Options struct {
	// File is the path of a YAML, TOML or JSON file; empty is none, unless the
	// environment names one.
	File string
	// Env is an environment in the form of os.Environ.
	Env []string
	// Flags are those of AddFlags after parsing, with or without others; may be
	// nil.
	Flags *pflag.FlagSet
}

// Load reads all sources, the file first, the environment over it and the flags
// over both. Its error is a Problems with all there is to say; then there is no
// Config.
func Load(o Options) (*Config, error) {
	var l loader
	vars := variables(o.Env)
	if o.File == "" {
		o.File = vars[fileVariable]
	}
	l.file = newLayer()
	whole := o.File == "" || l.readFile(o.File)
	l.env = environment(vars, &l.problems)
	l.flags = flagLayer(o.Flags, &l.problems)
	if !whole { // what the file would say is missing: no more can be known
		return nil, l.problems.err()
	}
	settle(l.file, l.env, l.flags)
	c := l.merge(o)
	l.check(c)
	if err := l.problems.err(); err != nil {
		return nil, err
	}
	return c, nil
}

// A loader is one Load under way.
type loader struct {
	file, env, flags layer
	queues           []queueLayer
	problems         Problems
}

// readFile tells whether there is a tree of keys.
func (l *loader) readFile(path string) bool {
	root, err := readTree(path)
	if err != nil {
		at := place{fromFile, path, 0}
		if s := new(syntaxError); errors.As(err, &s) {
			at.line = s.line
		}
		l.problems.add(at, "", "%v", err)
		return false
	}
	r := reader{file: path, problems: &l.problems}
	r.root(root)
	l.file, l.queues = r.top, r.queues
	return true
}

// merge lets viper decide which source counts, and makes values of the texts.
func (l *loader) merge(o Options) *Config {
	c := Default()
	c.File, c.AutoCreate = o.File, o.File == ""
	keys := globalKeys()
	v := l.viper(c, keys, o.Flags)
	for _, k := range keys {
		// What cannot be stored has been refused where it was read.
		_ = k.kind.store(k.global(c), merged(v, k))
	}
	oneForm(&c.Defaults.Backoff)
	if !l.given("server.listen") && (c.Server.Config != "" || c.Server.Leaf != "") {
		c.Server.Listen = ""
	}
	own := queueKeys()
	for _, q := range l.queues {
		c.Queues = append(c.Queues, q.queue(own, &c.Defaults))
	}
	return c
}

// viper holds the layers in rising order.
func (l *loader) viper(c *Config, keys []key, fs *pflag.FlagSet) *viper.Viper {
	v, lists := viper.New(), map[string]bool{}
	for _, k := range keys {
		lists[k.name] = k.kind.list
		v.SetDefault(k.name, forViper(k.kind.texts(k.global(c)), k.kind.list))
	}
	list := func(name string) bool { return lists[name] }
	// Neither fails: the one merges maps, the other stores a pointer that is
	// not nil.
	_ = v.MergeConfigMap(l.file.raw(list))
	_ = v.MergeConfigMap(l.env.raw(list))
	for _, k := range keys {
		if _, ok := l.flags.values[k.name]; ok {
			_ = v.BindPFlag(k.name, fs.Lookup(k.flagName()))
		}
	}
	return v
}

// merged is the text, or texts, that viper holds of a key.
func merged(v *viper.Viper, k key) []string {
	if texts, ok := v.Get(k.name).([]string); ok {
		return texts
	}
	return split(k.kind, v.GetString(k.name))
}

// queue lays what a queue says over the defaults.
func (q *queueLayer) queue(keys []key, defaults *queue.Settings) Queue {
	s := *defaults
	if q.has(growth("")...) && len(s.Backoff.List) > 0 {
		jitter := s.Backoff.Jitter
		s.Backoff = retry.Default()
		s.Backoff.Jitter = jitter
	}
	for _, k := range keys {
		if v, ok := q.values[k.name]; ok {
			_ = k.kind.store(k.perQueue(&s), v.texts) // was read once already
		}
	}
	oneForm(&s.Backoff)
	return Queue{Name: q.name, Settings: s, File: q.at.name, Line: q.at.line}
}

// oneForm takes from a list of waits what it replaces.
func oneForm(p *retry.Policy) {
	if len(p.List) > 0 {
		p.Initial, p.Factor, p.Max = 0, 0, 0
	}
}

// given tells whether any source has set a key.
func (l *loader) given(name string) bool {
	return l.file.has(name) || l.env.has(name) || l.flags.has(name)
}

// text is the value that counts, as somebody gave it; empty if nobody did.
func (l *loader) text(name string) string {
	for _, layer := range []layer{l.flags, l.env, l.file} {
		if v, ok := layer.values[name]; ok {
			return v.texts[0]
		}
	}
	return ""
}

// at is the place of the value that counts.
func (l *loader) at(name string) place {
	for _, layer := range []layer{l.flags, l.env, l.file} {
		if v, ok := layer.values[name]; ok {
			return v.at
		}
	}
	return byDefault()
}
