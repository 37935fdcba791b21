package jetstream

import (
	"errors"
	"slices"
	"strings"

	"github.com/nats-io/nats-server/v2/server"

	"dsend/dlq"
	"dsend/durable/queue"
)

// listLimit bounds the messages that are looked at between two commits.
const listLimit = 1000

// wanted is a message that is asked for.
type wanted struct {
	name    string
	seq     uint64 // this one, or with subject the first from here
	subject string // pattern; empty is any
	last    bool   // the last of the subject
}

// want reads a request for one message.
func (c *call) want(name string, req *server.JSApiMsgGetRequest) (wanted, error) {
	err := firstOf([]field{
		{req.Batch != 0, "batch", server.JSBadRequestErr, "is not supported: ask for one message"},
		{req.MaxBytes != 0, "max_bytes", server.JSBadRequestErr, "is not supported"},
		{len(req.MultiLastFor) > 0, "multi_last", server.JSBadRequestErr, "is not supported"},
		{req.StartTime != nil, "start_time", server.JSBadRequestErr, "is not supported"},
		{req.UpToSeq != 0, "up_to_seq", server.JSBadRequestErr, "is not supported"},
		{req.UpToTime != nil, "up_to_time", server.JSBadRequestErr, "is not supported"},
		{req.LastFor != "" && (req.NextFor != "" || req.Seq != 0), "last_by_subj", server.JSBadRequestErr, "goes with nothing else"},
		{req.LastFor == "" && req.NextFor == "" && req.Seq == 0, "seq", server.JSBadRequestErr, "say which message"},
	})
	w := wanted{name: name, seq: req.Seq, subject: req.NextFor}
	if req.LastFor != "" {
		w.subject, w.last = req.LastFor, true
	}
	return w, err
}

// get finds a message. One of a certain subject is looked for among the bodies,
// as long as there is time.
func (c *call) get(w wanted) (queue.Message, error) {
	if w.subject == "" {
		return c.read(w.name, w.seq)
	}
	i, err := c.store.Info(c.ctx, w.name)
	if err != nil {
		return queue.Message{}, err
	}
	if w.last {
		return c.lastOf(&i, w.subject)
	}
	return c.nextOf(&i, w.seq, w.subject)
}

// read gives a message as it is shown.
func (c *call) read(name string, seq uint64) (queue.Message, error) {
	e, m, err := c.store.Message(c.ctx, name, seq)
	if err == nil {
		m.Seq, m.Header = seq, c.cfg.Header(&m, e.Letter) // its record may bear older numbers
	}
	return m, err
}

// nextOf finds the first message of a subject from a sequence on.
func (c *call) nextOf(i *queue.Info, from uint64, subject string) (queue.Message, error) {
	var next queue.Message
	err := c.eachEntry(i.Name, from, func(e *queue.Entry) error {
		m, found, err := c.matches(e, subject)
		if found {
			next, err = m, errFound
		}
		return err
	})
	switch {
	case errors.Is(err, errFound):
		return next, nil
	case err != nil:
		return next, err
	}
	return next, server.NewJSNoMessageFoundError()
}

// errFound ends a walk.
var errFound = errors.New("found")

// lastOf finds the last message of a subject, from the newest back.
func (c *call) lastOf(i *queue.Info, subject string) (queue.Message, error) {
	for end := i.LastSeq + 1; end > i.FirstSeq && i.FirstSeq > 0; end -= min(end, listLimit) {
		from := end - min(end, listLimit)
		entries, err := c.store.List(c.ctx, queue.List{Queue: i.Name, From: from, Limit: listLimit})
		if err != nil {
			return queue.Message{}, err
		}
		for _, e := range slices.Backward(entries) {
			if e.Seq >= end { // seen already: there are gaps
				continue
			}
			if m, found, err := c.matches(&e, subject); found || err != nil {
				return m, err
			}
		}
	}
	return queue.Message{}, server.NewJSNoMessageFoundError()
}

// matches reads a message and tells whether it is of a subject, and still there.
func (c *call) matches(e *queue.Entry, subject string) (m queue.Message, found bool, err error) {
	m, err = c.read(e.Queue, e.Seq)
	if is(err, queue.NoMessage) {
		return m, false, nil
	}
	return m, err == nil && dlq.MatchSubject(subject, string(m.Subject)), err
}

func (c *call) messageGet() (any, error) {
	var req server.JSApiMsgGetRequest
	if len(c.body) == 0 {
		return nil, server.NewJSBadRequestError()
	}
	if err := c.decode(&req); err != nil {
		return nil, err
	}
	w, err := c.want(c.names[0], &req)
	if err != nil {
		return nil, err
	}
	m, err := c.get(w)
	if err != nil {
		return nil, err
	}
	return server.JSApiMsgGetResponse{
		ApiResponse: server.ApiResponse{Type: server.JSApiMsgGetResponseType},
		Message: &server.StoredMsg{
			Subject: string(m.Subject), Sequence: m.Seq, Header: m.Header, Data: m.Body, Time: at(m.At),
		},
	}, nil
}

func (c *call) messageDelete() (any, error) {
	var req server.JSApiMsgDeleteRequest
	if len(c.body) == 0 {
		return nil, server.NewJSBadRequestError()
	}
	if err := c.decode(&req); err != nil {
		return nil, err
	}
	if _, err := c.change(&queue.Delete{Name: c.names[0], Seq: req.Seq}); err != nil {
		if is(err, queue.NoMessage) {
			return nil, server.NewJSSequenceNotFoundError(req.Seq)
		}
		return nil, err
	}
	return server.JSApiMsgDeleteResponse{
		ApiResponse: server.ApiResponse{Type: server.JSApiMsgDeleteResponseType}, Success: true,
	}, nil
}

// directGet is the form of MSG.GET that answers with the message itself.
func (c *call) directGet() (any, error) {
	var req server.JSApiMsgGetRequest
	subject := strings.Join(c.names[1:], ".")
	if err := c.decode(&req); err != nil {
		c.directError("408 Bad Request - " + wireError(err).Description)
		return nil, nil
	}
	if subject != "" {
		req.LastFor = subject
	}
	w, err := c.want(c.names[0], &req)
	if err != nil {
		c.directError("408 Bad Request - " + wireError(err).Description)
		return nil, nil
	}
	m, err := c.get(w)
	switch {
	case err == nil:
		c.direct(&m, req.NoHeaders)
	case wireError(err).Code == 404:
		c.directError("404 Message Not Found")
	default:
		c.directError("503 " + wireError(err).Description)
	}
	return nil, nil
}
