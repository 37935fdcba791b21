package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"dsend/cmd/dsend/config"
	"dsend/durable/queue"
)

// reload reads the configuration again and puts it into effect, or refuses all
// of it.
func (n *node) reload(ctx context.Context) ([]string, error) {
	n.reloading.Lock()
	defer n.reloading.Unlock()
	cfg, err := n.load()
	if err != nil {
		return nil, err
	}
	changes, immutable := config.Diff(n.cfg, cfg)
	if len(immutable) > 0 {
		return nil, fmt.Errorf("cannot change while running: %s", strings.Join(immutable, ", "))
	}
	again, err := n.missing(ctx, cfg)
	if err != nil {
		return nil, err
	}
	if err := n.declare(ctx, cfg); err != nil {
		return nil, err
	}
	changes = append(changes, again...)
	n.setLevel(cfg)
	n.api.Configure(cfg.Defaults)
	n.cfg = cfg
	for _, c := range changes {
		n.log.Info("reloaded", "change", c)
	}
	if len(changes) == 0 {
		n.log.Info("reloaded, nothing changed")
	}
	return changes, nil
}

// missing are the queues that the configuration has had before, and that were
// removed since.
func (n *node) missing(ctx context.Context, cfg *config.Config) (changes []string, err error) {
	infos, err := n.store.Infos(ctx)
	if err != nil {
		return nil, err
	}
	there := map[string]bool{}
	for _, info := range infos {
		there[info.Name] = true
	}
	before := map[string]bool{}
	for _, q := range n.cfg.Queues {
		before[q.Name] = true
	}
	for _, q := range cfg.Queues {
		if before[q.Name] && !there[q.Name] {
			changes = append(changes, "queues."+q.Name+": was removed, made again")
		}
	}
	return changes, nil
}

// declare makes the queues what the configuration says.
func (n *node) declare(ctx context.Context, cfg *config.Config) error {
	infos, err := n.store.Infos(ctx)
	if err != nil {
		return err
	}
	ops := append([]queue.Op{&queue.Configure{Config: n.queueConfig(cfg)}}, declarations(cfg, infos)...)
	for _, op := range ops {
		r, err := n.store.Do(ctx, op)
		if err == nil && r.Err != nil {
			err = r.Err
		}
		if err != nil {
			return err
		}
	}
	for _, op := range ops {
		if u, ok := op.(*queue.Undeclare); ok {
			n.log.Warn("queue is not in the configuration any more: its messages are kept, publishes refused", "queue", u.Name)
		}
	}
	return nil
}

// declarations are the ops that make the queues what the configuration says. A
// subject that moves from one queue to another is given up first.
func declarations(cfg *config.Config, infos []queue.Info) (ops []queue.Op) {
	want := map[string]config.Queue{}
	for _, q := range cfg.Queues {
		want[q.Name] = q
	}
	for _, info := range infos {
		q, wanted := want[info.Name]
		switch {
		case !wanted && info.Source == queue.FromFile: // also one that is out already: it is told of at each start
			ops = append(ops, &queue.Undeclare{Name: info.Name})
		case !wanted && info.Source == queue.FromUse:
			ops = append(ops, &queue.Declare{Name: info.Name, Settings: cfg.Defaults, Source: queue.FromUse})
		case !wanted && info.Source == queue.FromDeath:
			if settings := cfg.Defaults.ForDead(info.Name); settings.Validate(info.Name) == nil {
				ops = append(ops, &queue.Declare{Name: info.Name, Settings: settings, Source: queue.FromDeath})
			}
		case wanted && len(info.Settings.Subjects) > 0:
			less := info.Settings
			less.Subjects = slices.DeleteFunc(slices.Clone(less.Subjects), func(s string) bool {
				return !slices.Contains(q.Settings.Subjects, s)
			})
			if len(less.Subjects) < len(info.Settings.Subjects) {
				ops = append(ops, &queue.Declare{Name: info.Name, Settings: less, Source: queue.FromFile})
			}
		}
	}
	for _, q := range cfg.Queues {
		ops = append(ops, &queue.Declare{Name: q.Name, Settings: q.Settings, Source: queue.FromFile})
	}
	return ops
}
