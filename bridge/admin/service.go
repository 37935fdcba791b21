package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"
)

// Name is the name of the micro service.
const Name = "dsend"

// Bounds of a request and an answer, in bytes.
const (
	MaxRequest = 64 << 10
	MaxAnswer  = 1 << 20
)

// Config is what a Service is told once.
type Config struct {
	// Prefix is the subject prefix; the endpoints are at <Prefix>.api.….
	Prefix string
	// Version is the program's; what is not a semantic version is shown as
	// 0.0.0.
	Version string
	// Reload reads the configuration again and tells what changed, a line
	// each. nil refuses reloads.
	Reload func(ctx context.Context) ([]string, error)
	// Copy holds the log of the store for a backup. nil refuses backups.
	Copy func(ctx context.Context) (Copy, error)
	// Silence is how long a backup may ask for nothing; 0 is DefaultSilence.
	Silence time.Duration
	// Log gets one line for each request that changes something.
	Log *slog.Logger
	// Timeout bounds the work of one request; 0 is DefaultTimeout.
	Timeout time.Duration
}

// DefaultTimeout is below the patience of the nats CLI (5 s).
const DefaultTimeout = 4 * time.Second

// Service answers the API of a store on a NATS connection.
type Service struct {
	nc    *nats.Conn
	store Store
	cfg   Config
	micro micro.Service

	ctx    context.Context // of all requests
	cancel context.CancelFunc
	mu     sync.Mutex // guards stopped, and Add beside Wait
	closed bool
	busy   sync.WaitGroup // handlers that run, and the backup's timer

	backup session
}

// Start serves a store's API on nc, until Stop. The connection stays the
// caller's; its error and closed handlers must have been set before.
func Start(nc *nats.Conn, store Store, cfg Config) (*Service, error) {
	if cfg.Timeout == 0 {
		cfg.Timeout = DefaultTimeout
	}
	if cfg.Silence == 0 {
		cfg.Silence = DefaultSilence
	}
	s := &Service{nc: nc, store: store, cfg: cfg}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	if err := s.announce(); err != nil {
		return nil, errors.Join(fmt.Errorf("admin: %w", err), s.Stop())
	}
	return s, nil
}

func (s *Service) announce() (err error) {
	s.micro, err = micro.AddService(s.nc, micro.Config{
		Name:        Name,
		Version:     semantic(s.cfg.Version),
		Description: "Durable work queues: look, pause, purge, replay",
		Metadata:    map[string]string{"prefix": s.cfg.Prefix},
	})
	if err != nil {
		return err
	}
	group := s.micro.AddGroup(s.cfg.Prefix + ".api")
	for _, e := range s.endpoints() {
		name := strings.ReplaceAll(e.subject, ".", "-")
		err := group.AddEndpoint(name, micro.HandlerFunc(func(r micro.Request) { s.serve(e, r) }),
			micro.WithEndpointSubject(e.subject),
			micro.WithEndpointMetadata(map[string]string{
				"description":     e.about,
				"request_schema":  schema(e.request),
				"response_schema": schema(e.response),
			}))
		if err != nil {
			return fmt.Errorf("endpoint %s: %w", e.subject, err)
		}
	}
	return s.nc.FlushTimeout(s.cfg.Timeout) // from now on there is somebody there
}

// Stop takes no more requests, cuts short those that run, and returns when they
// are answered.
func (s *Service) Stop() (err error) {
	s.cancel()
	if s.micro != nil {
		err = s.micro.Stop()
	}
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.stopBackup()
	s.busy.Wait()
	return err
}

// enter tells whether a request is still taken; leave with s.busy.Done.
func (s *Service) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.busy.Add(1)
	}
	return !s.closed
}

// endpoint is one thing that can be asked.
type endpoint struct {
	subject           string // below <prefix>.api
	about             string
	changes           bool
	request, response reflect.Type
	handle            func(ctx context.Context, body []byte) (request, answer any, err error)
}

// look is an endpoint that changes nothing.
func look[Req, Resp any](subject, about string, do func(context.Context, Req) (Resp, error)) endpoint {
	return endpoint{
		subject: subject, about: about,
		request: reflect.TypeFor[Req](), response: reflect.TypeFor[Resp](),
		handle: func(ctx context.Context, body []byte) (any, any, error) {
			req, err := decode[Req](body)
			if err != nil {
				return req, nil, err
			}
			resp, err := do(ctx, req)
			return req, resp, err
		},
	}
}

// change is an endpoint that changes something.
func change[Req, Resp any](subject, about string, do func(context.Context, Req) (Resp, error)) endpoint {
	e := look(subject, about, do)
	e.changes = true
	return e
}

// checker is a request that can be wrong in a way that its types cannot say.
type checker interface{ check() error }

// decode takes a request strictly; no body is an empty request.
func decode[Req any](body []byte) (req Req, err error) {
	if len(body) > MaxRequest {
		return req, &Problem{413, "too_large", fmt.Sprintf("the request has %d bytes; %d are taken", len(body), MaxRequest)}
	}
	if len(bytes.TrimSpace(body)) > 0 {
		d := json.NewDecoder(bytes.NewReader(body))
		d.DisallowUnknownFields()
		if err := d.Decode(&req); err != nil {
			return req, badRequest("%s", complaint(err))
		}
		if _, err := d.Token(); err != io.EOF {
			return req, badRequest("the request goes on behind its JSON object")
		}
	}
	if c, ok := any(&req).(checker); ok {
		if err := c.check(); err != nil {
			return req, badRequest("%s", err)
		}
	}
	return req, nil
}

// complaint says what is wrong with JSON without the words of a Go program.
func complaint(err error) string {
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &wrong) && wrong.Field != "":
		return fmt.Sprintf("%s cannot be a %s", wrong.Field, wrong.Value)
	case errors.As(err, &wrong):
		return "the request is a JSON " + wrong.Value + ", not an object"
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "the request's JSON ends early"
	}
	return strings.TrimPrefix(err.Error(), "json: ")
}

// serve answers one request: always, and once.
func (s *Service) serve(e endpoint, r micro.Request) {
	if !s.enter() {
		s.fail(e, r, context.Canceled)
		return
	}
	defer s.busy.Done()
	ctx, cancel := context.WithTimeout(s.ctx, s.cfg.Timeout)
	defer cancel()
	request, answer, err := e.handle(ctx, r.Data())
	if e.changes && !isDry(request) {
		s.note(e, request, answer, err)
	}
	if err != nil {
		s.fail(e, r, err)
		return
	}
	body, err := marshal(answer)
	if err == nil && len(body) > int(s.nc.MaxPayload()) {
		err = &Problem{413, "too_large", fmt.Sprintf("the answer has %d bytes, more than the server's max_payload", len(body))}
	}
	if err != nil {
		s.fail(e, r, err)
		return
	}
	s.spoken(e, r.Respond(body))
}

func (s *Service) fail(e endpoint, r micro.Request, err error) {
	p := problem(err)
	body, err := marshal(ErrorAnswer{p})
	if err != nil {
		body = nil // a problem is plain text; the headers say the same
	}
	s.spoken(e, r.Error(strconv.Itoa(p.Code), oneLine(p.Description), body))
}

// spoken notes that an answer could not be sent; whoever asked will ask again.
func (s *Service) spoken(e endpoint, err error) {
	if err != nil {
		s.cfg.Log.Warn("admin answer not sent", "endpoint", e.subject, "error", err)
	}
}

// note writes the log line of a change.
func (s *Service) note(e endpoint, request, answer any, err error) {
	if err != nil {
		s.cfg.Log.Info("admin "+e.subject, "request", inline(request), "error", problem(err).Description)
		return
	}
	attrs := []any{"request", inline(request)}
	if o, ok := answer.(outcome); ok {
		attrs = append(attrs, o.outcome()...)
	}
	s.cfg.Log.Info("admin "+e.subject, attrs...)
}

// outcome is an answer with something to log.
type outcome interface{ outcome() []any }

// dry is a request that may ask what would happen.
type dry interface{ dry() bool }

func isDry(request any) bool {
	d, ok := request.(dry)
	return ok && d.dry()
}

func inline(v any) string {
	body, err := marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(body)
}

// marshal is json.Marshal without the escapes that only HTML needs.
func marshal(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// oneLine makes a text a header value.
func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, s)
}

// room is how many bytes an answer may have.
func (s *Service) room() int { return int(min(s.nc.MaxPayload(), MaxAnswer)) }

// semantic is a version as micro takes it.
func semantic(version string) string {
	v := strings.TrimPrefix(version, "v")
	if ok, err := regexp.MatchString(`^\d+\.\d+\.\d+([-+][0-9A-Za-z.+-]+)?$`, v); err != nil || !ok {
		return "0.0.0"
	}
	return v
}
