package jetstream

import (
	"errors"
	"strings"

	"github.com/nats-io/nats-server/v2/server"

	"dsend/durable/queue"
)

// streamAsked reads the configuration of a stream, whose name is in the subject.
func (c *call) streamAsked() (*server.StreamConfig, error) {
	if err := c.checkLevel(); err != nil {
		return nil, err
	}
	var cfg server.StreamConfigRequest
	if len(c.body) == 0 {
		return nil, server.NewJSBadRequestError()
	}
	if err := c.decode(&cfg); err != nil {
		return nil, err
	}
	if cfg.Name != c.names[0] {
		return nil, server.NewJSStreamMismatchError()
	}
	return &cfg.StreamConfig, c.checkStream(&cfg.StreamConfig)
}

func (c *call) streamCreate() (any, error) {
	cfg, err := c.streamAsked()
	if err != nil {
		return nil, err
	}
	op := &queue.Declare{Name: cfg.Name, Settings: c.fresh(cfg), Source: queue.FromAPI, MustCreate: true}
	_, err = c.change(op)
	created := err == nil
	if is(err, queue.Exists) {
		err = c.claim(cfg)
	}
	if err != nil {
		return nil, err
	}
	info, err := c.stream(cfg.Name)
	if err != nil {
		return nil, err
	}
	return server.JSApiStreamCreateResponse{
		ApiResponse: server.ApiResponse{Type: server.JSApiStreamCreateResponseType}, StreamInfo: info, DidCreate: created,
	}, nil
}

// claim tells whether a queue that is there is what a stream asks for.
func (c *call) claim(cfg *server.StreamConfig) error {
	i, err := c.store.Info(c.ctx, cfg.Name)
	if err != nil {
		return err
	}
	if !i.Settings.Equal(c.claimed(cfg, i.Settings)) {
		return server.NewJSStreamNameExistError()
	}
	return nil
}

func is(err error, code queue.Code) bool {
	var refused *queue.Error
	return errors.As(err, &refused) && refused.Code == code
}

func (c *call) streamUpdate() (any, error) {
	cfg, err := c.streamAsked()
	if err != nil {
		return nil, err
	}
	i, err := c.store.Info(c.ctx, cfg.Name)
	if err != nil {
		return nil, err
	}
	switch settings := c.updated(cfg, i.Settings); {
	case settings.Equal(i.Settings):
	case i.Source == queue.FromFile:
		return nil, refuse(server.JSStreamUpdateErrF, "queue %s is declared in the configuration file: change it there", cfg.Name)
	default:
		if _, err := c.change(&queue.Declare{Name: cfg.Name, Settings: settings, Source: queue.FromAPI, MustExist: true}); err != nil {
			return nil, err
		}
	}
	info, err := c.stream(cfg.Name)
	if err != nil {
		return nil, err
	}
	return server.JSApiStreamUpdateResponse{
		ApiResponse: server.ApiResponse{Type: server.JSApiStreamUpdateResponseType}, StreamInfo: info,
	}, nil
}

func (c *call) streamDelete() (any, error) {
	if len(c.body) > 0 {
		return nil, server.NewJSNotEmptyRequestError()
	}
	if _, err := c.change(&queue.Remove{Name: c.names[0]}); err != nil {
		return nil, err
	}
	return server.JSApiStreamDeleteResponse{
		ApiResponse: server.ApiResponse{Type: server.JSApiStreamDeleteResponseType}, Success: true,
	}, nil
}

func (c *call) streamPurge() (any, error) {
	var req server.JSApiStreamPurgeRequest
	if err := c.decode(&req); err != nil {
		return nil, err
	}
	if req.Sequence > 0 && req.Keep > 0 {
		return nil, refuse(server.JSBadRequestErr, "seq, keep: only one of them can be given")
	}
	i, err := c.store.Info(c.ctx, c.names[0])
	if err != nil {
		return nil, err
	}
	if req.Subject != "" && !c.covers(&i, req.Subject) {
		return nil, refuse(server.JSBadRequestErr, "filter: only the whole queue can be purged")
	}
	op := &queue.Purge{Name: i.Name, Keep: req.Keep}
	purged := 0
	if op.Upto = req.Sequence - 1; req.Sequence == 0 {
		op.Upto = 0
	}
	if req.Sequence != 1 { // nothing is below 1
		r, err := c.change(op)
		if err != nil {
			return nil, err
		}
		purged = r.Count
	}
	return server.JSApiStreamPurgeResponse{
		ApiResponse: server.ApiResponse{Type: server.JSApiStreamPurgeResponseType}, Success: true, Purged: uint64(purged),
	}, nil
}

// covers tells whether filters together match everything that a queue captures.
func (a *API) covers(i *queue.Info, filters ...string) bool {
	subjects := i.Settings.Subjects
	if len(subjects) == 0 {
		subjects = []string{a.publishSubject(i.Name)}
	}
	for _, subject := range subjects {
		if !anyCovers(filters, subject) {
			return false
		}
	}
	return true
}

func anyCovers(filters []string, subject string) bool {
	for _, f := range filters {
		if within(subject, f) {
			return true
		}
	}
	return false
}

// within tells whether every subject that matches the pattern inner matches
// outer.
func within(inner, outer string) bool {
	for {
		i, restInner, moreInner := strings.Cut(inner, ".")
		o, restOuter, moreOuter := strings.Cut(outer, ".")
		switch {
		case o == ">":
			return true
		case i == ">" || o != "*" && o != i || moreInner != moreOuter:
			return false
		case !moreInner:
			return true
		}
		inner, outer = restInner, restOuter
	}
}
