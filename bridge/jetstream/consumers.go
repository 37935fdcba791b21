package jetstream

import (
	"cmp"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nuid"

	"dsend/durable/queue"
)

// consumerCreate is asked on three subjects: with the stream alone (without a
// durable name), with a name, and with a name and a filter.
func (c *call) consumerCreate() (any, error) {
	req, err := c.consumerRequest()
	if err != nil {
		return nil, err
	}
	cfg := &req.Config
	if len(c.names) == 1 {
		switch {
		case cfg.Durable != "":
			return nil, server.NewJSConsumerEphemeralWithDurableNameError()
		case cfg.Name == "":
			cfg.Name = nuid.Next()
		}
		return c.declareConsumer(req)
	}
	cfg.Name = cmp.Or(cfg.Name, cfg.Durable, c.names[1])
	if filter := strings.Join(c.names[2:], "."); filter != "" && filter != cfg.FilterSubject {
		return nil, server.NewJSConsumerCreateFilterSubjectMismatchError()
	}
	if cfg.Name != c.names[1] {
		return nil, refuse(server.JSConsumerDurableNameNotMatchSubjectErr, "consumer name in subject does not match name in request")
	}
	return c.declareConsumer(req)
}

// consumerCreateDurable is what older clients ask.
func (c *call) consumerCreateDurable() (any, error) {
	req, err := c.consumerRequest()
	if err != nil {
		return nil, err
	}
	switch {
	case req.Config.Durable == "":
		return nil, server.NewJSConsumerDurableNameNotSetError()
	case req.Config.Durable != c.names[1]:
		return nil, server.NewJSConsumerDurableNameNotMatchSubjectError()
	case req.Config.Name == "":
		req.Config.Name = req.Config.Durable
	}
	return c.declareConsumer(req)
}

// consumerRequest reads a request to make a consumer.
func (c *call) consumerRequest() (*server.CreateConsumerRequest, error) {
	if err := c.checkLevel(); err != nil {
		return nil, err
	}
	var req server.CreateConsumerRequest
	if len(c.body) == 0 {
		return nil, server.NewJSBadRequestError()
	}
	if err := c.decode(&req); err != nil {
		return nil, err
	}
	if req.Stream != c.names[0] {
		return nil, server.NewJSStreamMismatchError()
	}
	if cfg := &req.Config; cfg.Durable != "" && cfg.Name != "" && cfg.Durable != cfg.Name {
		return nil, server.NewJSConsumerCreateDurableAndNameMismatchError()
	}
	return &req, nil
}

func (c *call) declareConsumer(req *server.CreateConsumerRequest) (any, error) {
	i, err := c.store.Info(c.ctx, req.Stream)
	if err != nil {
		return nil, err
	}
	cfg := &req.Config
	if err := c.checkConsumer(&i, cfg); err != nil {
		return nil, err
	}
	if err := checkConsumerName(cfg.Name); err != nil {
		return nil, err
	}
	_, err = c.change(&queue.DeclareConsumer{
		Queue: req.Stream, Name: cfg.Name, Settings: consumerSettings(cfg),
		MustCreate: req.Action == server.ActionCreate, MustExist: req.Action == server.ActionUpdate,
	})
	switch {
	case is(err, queue.NoConsumer):
		return nil, server.NewJSConsumerDoesNotExistError()
	case is(err, queue.BadSettings):
		return nil, refuse(server.JSConsumerInvalidPolicyErrF, "%s", err)
	case err != nil:
		return nil, err
	}
	info, err := c.consumer(req.Stream, cfg.Name)
	if err != nil {
		return nil, err
	}
	return server.JSApiConsumerCreateResponse{
		ApiResponse: server.ApiResponse{Type: server.JSApiConsumerCreateResponseType}, ConsumerInfo: info,
	}, nil
}

// consumer gives a consumer as JetStream has it.
func (c *call) consumer(stream, name string) (*server.ConsumerInfo, error) {
	q, i, err := c.store.Consumer(c.ctx, stream, name)
	if err != nil {
		return nil, err
	}
	return viewConsumer(&q, &i), nil
}

func viewConsumer(q *queue.Info, i *queue.ConsumerInfo) *server.ConsumerInfo {
	info := &server.ConsumerInfo{
		Stream: i.Queue, Name: i.Name, Created: at(i.Created), Config: consumerConfig(q, i),
		Delivered:  server.SequenceInfo{Consumer: i.Delivered, Stream: i.TopSeq},
		AckFloor:   server.SequenceInfo{Consumer: i.Answered, Stream: i.DoneSeq},
		NumPending: uint64(i.Pending), NumAckPending: i.InFlight, NumRedelivered: i.Redelivered, NumWaiting: i.Waiting,
		Paused: i.Paused, TimeStamp: now(),
	}
	if i.Active != 0 {
		last := at(i.Active)
		info.Delivered.Last = &last
	}
	if i.Paused {
		info.PauseRemaining = remaining(i.Settings.PausedUntil)
	}
	return info
}

// remaining is how long a pause goes on.
func remaining(until int64) time.Duration { return max(0, time.Until(at(until))) }

func (c *call) consumerInfo() (any, error) {
	info, err := c.consumer(c.names[0], c.names[1])
	if err != nil {
		return nil, err
	}
	return server.JSApiConsumerInfoResponse{
		ApiResponse: server.ApiResponse{Type: server.JSApiConsumerInfoResponseType}, ConsumerInfo: info,
	}, nil
}

func (c *call) consumerList() (any, error) {
	var req server.JSApiConsumersRequest
	if err := c.decode(&req); err != nil {
		return nil, err
	}
	q, infos, err := c.store.Consumers(c.ctx, c.names[0])
	if err != nil {
		return nil, err
	}
	some, paged := page(infos, req.Offset, server.JSApiListLimit)
	list := make([]*server.ConsumerInfo, 0, len(some))
	for i := range some {
		list = append(list, viewConsumer(&q, &some[i]))
	}
	return server.JSApiConsumerListResponse{
		ApiResponse: server.ApiResponse{Type: server.JSApiConsumerListResponseType}, ApiPaged: paged, Consumers: list,
	}, nil
}

func (c *call) consumerNames() (any, error) {
	var req server.JSApiConsumersRequest
	if err := c.decode(&req); err != nil {
		return nil, err
	}
	_, infos, err := c.store.Consumers(c.ctx, c.names[0])
	if err != nil {
		return nil, err
	}
	some, paged := page(infos, req.Offset, server.JSApiNamesLimit)
	names := make([]string, 0, len(some))
	for _, i := range some {
		names = append(names, i.Name)
	}
	return server.JSApiConsumerNamesResponse{
		ApiResponse: server.ApiResponse{Type: server.JSApiConsumerNamesResponseType}, ApiPaged: paged, Consumers: names,
	}, nil
}

func (c *call) consumerDelete() (any, error) {
	if len(c.body) > 0 {
		return nil, server.NewJSNotEmptyRequestError()
	}
	if _, err := c.change(&queue.RemoveConsumer{Queue: c.names[0], Name: c.names[1]}); err != nil {
		return nil, err
	}
	return server.JSApiConsumerDeleteResponse{
		ApiResponse: server.ApiResponse{Type: server.JSApiConsumerDeleteResponseType}, Success: true,
	}, nil
}

func (c *call) consumerPause() (any, error) {
	if err := c.checkLevel(); err != nil {
		return nil, err
	}
	var req server.JSApiConsumerPauseRequest
	if err := c.decode(&req); err != nil {
		return nil, err
	}
	if req.PauseUntil.After(latest) {
		return nil, refuse(server.JSBadRequestErr, "pause_until: %s", tooLate)
	}
	op := &queue.PauseConsumer{Queue: c.names[0], Name: c.names[1], Until: pausedUntil(req.PauseUntil)}
	if _, err := c.change(op); err != nil {
		return nil, err
	}
	_, i, err := c.store.Consumer(c.ctx, op.Queue, op.Name)
	if err != nil {
		return nil, err
	}
	resp := server.JSApiConsumerPauseResponse{
		ApiResponse: server.ApiResponse{Type: server.JSApiConsumerPauseResponseType}, Paused: i.Paused, PauseUntil: req.PauseUntil,
	}
	if i.Paused {
		resp.PauseRemaining = remaining(i.Settings.PausedUntil)
	}
	return resp, nil
}
