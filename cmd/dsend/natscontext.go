package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// natsContext is a context file of the nats CLI, as far as dsend honours it.
// github.com/nats-io/jsm.go/natscontext reads all of it, but brings the NATS
// server along.
type natsContext struct {
	URL         string `json:"url"`
	User        string `json:"user"`
	Password    string `json:"password"`
	Token       string `json:"token"`
	Creds       string `json:"creds"`
	NKey        string `json:"nkey"`
	JWT         string `json:"user_jwt"`
	Seed        string `json:"user_seed"`
	Cert        string `json:"cert"`
	Key         string `json:"key"`
	CA          string `json:"ca"`
	InboxPrefix string `json:"inbox_prefix"`
	TLSFirst    bool   `json:"tls_first"`

	NSC       string `json:"nsc"`
	Proxy     string `json:"socks_proxy"`
	CertStore string `json:"windows_cert_store"`
}

// loadContext reads the context that was named, by name or file, or the selected
// one. Without any it is empty.
func (a *app) loadContext() (c natsContext, err error) {
	name := a.context
	if name == "" {
		name = a.env("NATS_CONTEXT")
	}
	if name == "" {
		if name, err = a.selectedContext(); name == "" || err != nil {
			return c, err
		}
	}
	path := name
	if !strings.HasSuffix(name, ".json") || !exists(name) {
		if strings.ContainsAny(name, `/\`) || name == ".." {
			return c, fmt.Errorf("NATS context %q: not a name", name)
		}
		path = filepath.Join(a.configFolder(), "nats", "context", name+".json")
	}
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return c, fmt.Errorf("there is no NATS context %s (%s)", name, path)
	}
	if err == nil {
		err = json.Unmarshal(text, &c)
	}
	if err == nil {
		err = c.supported()
	}
	if err != nil {
		return c, fmt.Errorf("NATS context %s: %w", name, err)
	}
	for _, path := range []*string{&c.Creds, &c.NKey, &c.Cert, &c.Key, &c.CA} {
		*path = a.expand(*path)
	}
	return c, nil
}

// selectedContext is the one that "nats context select" chose; empty is none.
func (a *app) selectedContext() (string, error) {
	text, err := os.ReadFile(filepath.Join(a.configFolder(), "nats", "context.txt"))
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return strings.TrimSpace(string(text)), err
}

func (a *app) configFolder() string {
	if dir := a.env("XDG_CONFIG_HOME"); dir != "" {
		return dir
	}
	return filepath.Join(a.env("HOME"), ".config")
}

// supported refuses what would otherwise be ignored.
func (c *natsContext) supported() error {
	switch {
	case c.NSC != "":
		return errors.New("nsc is not supported by dsend; use creds")
	case c.Proxy != "":
		return errors.New("socks_proxy is not supported by dsend")
	case c.CertStore != "":
		return errors.New("windows_cert_store is not supported by dsend")
	}
	for field, value := range map[string]string{
		"creds": c.Creds, "nkey": c.NKey, "password": c.Password, "token": c.Token,
		"user_jwt": c.JWT, "user_seed": c.Seed,
	} {
		for _, scheme := range []string{"op://", "nsc://", "env://", "data:"} {
			if strings.HasPrefix(value, scheme) {
				return fmt.Errorf("%s from %s is not supported by dsend", field, scheme)
			}
		}
	}
	return nil
}

// expand resolves what the nats CLI does in paths: $VAR, ~ and file://.
func (a *app) expand(path string) string {
	path = os.Expand(strings.TrimPrefix(path, "file://"), a.env)
	if rest, ok := strings.CutPrefix(path, "~"); ok {
		return a.env("HOME") + rest
	}
	return path
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
