package bus

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/subject"
)

// MaxRequest is the largest request of a micro endpoint, in bytes; a larger one is fault.TooLarge.
const MaxRequest = 900 << 10 // below the server's largest message

const (
	maxConcurrent = 256 // requests of one endpoint that are worked on; the next is fault.Busy
	microVersion  = "1.0.0"
	headerTimeout = "jc-timeout" // how long the asker waits, as a Go duration
	replyReserve  = 4 << 10      // what headers may take of a message
)

// Handler answers one request. ctx ends with the service, or when the asker no longer waits. The result is sent as JSON;
// of an error the asker gets the text, and its kind when it is a *fault.Error (else fault.Internal).
type Handler func(ctx context.Context, data []byte) (any, error)

// serving is the micro service of a connection: made by the first Serve, ended with the last.
type serving struct {
	mu     sync.Mutex
	svc    micro.Service  // guarded by mu; nil while nothing is served
	open   int            // guarded by mu: endpoints whose context lives
	closed bool           // guarded by mu: no request is taken any more
	busy   sync.WaitGroup // handlers at work; Add under mu and only while !closed
}

// Serve answers questions on svc.<service>.<verb> until ctx ends. It returns once the server knows of it. Requests are
// handled concurrently, in no order; several processes that serve the same verb share them. Conn.Close waits for
// handlers at work.
func (c *Conn) Serve(ctx context.Context, verb string, h Handler) error {
	e := &endpoint{c: c, ctx: ctx, subject: subject.Service(c.service, verb), handle: h, slots: make(chan struct{}, maxConcurrent)}
	if err := c.serving.add(c, verb, e); err != nil {
		return fmt.Errorf("serve %s: %w", e.subject, err)
	}
	context.AfterFunc(ctx, c.serving.done)
	if err := c.flush(ctx); err != nil {
		return fmt.Errorf("serve %s: %w", e.subject, err)
	}
	return nil
}

func (s *serving) add(c *Conn, verb string, e *endpoint) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nats.ErrConnectionClosed
	}
	if s.svc == nil {
		svc, err := micro.AddService(c.nc, micro.Config{Name: c.service, Version: microVersion})
		if err != nil {
			return err
		}
		s.svc = svc
	}
	if err := s.svc.AddEndpoint(verb, micro.HandlerFunc(e.take), micro.WithEndpointSubject(e.subject)); err != nil {
		return err
	}
	s.open++
	return nil
}

// done counts an endpoint whose context has ended; the last one ends the micro service.
func (s *serving) done() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open--; s.open == 0 {
		s.end()
	}
}

// end is called with mu held.
func (s *serving) end() {
	if s.svc != nil {
		_ = s.svc.Stop() // fails only on a connection that is closed, and then there is nothing to stop
		s.svc = nil
	}
}

// close takes no more requests and waits for those at work, at most until ctx ends.
func (s *serving) close(ctx context.Context) {
	s.mu.Lock()
	s.closed = true
	s.end()
	s.mu.Unlock()
	idle := make(chan struct{})
	go func() {
		defer close(idle)
		s.busy.Wait()
	}()
	select {
	case <-idle:
	case <-ctx.Done():
	}
}

func (s *serving) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.busy.Add(1)
	return true
}

type endpoint struct {
	c       *Conn
	ctx     context.Context //nolint:containedctx // the service's: every request's context descends from it
	subject string
	handle  Handler
	slots   chan struct{}
}

// take starts one request; micro calls it for one after the other. Only an inbox is answered: whoever asks
// could otherwise name a subject that this service may write to, and it would.
func (e *endpoint) take(r micro.Request) {
	if !strings.HasPrefix(r.Reply(), inboxRoot) {
		e.c.log.Warn("a question without an inbox to answer to", "subject", e.subject, "reply", r.Reply())
		return
	}
	data, wait := r.Data(), r.Headers().Get(headerTimeout)
	reply := asker{r.Reply(), e.c.nc.Stats().Reconnects}
	switch {
	case len(data) > MaxRequest:
		e.refuse(reply, fault.New(fault.TooLarge, "%s: a request of %d bytes; at most %d", e.subject, len(data), MaxRequest))
		return
	case e.ctx.Err() != nil:
		e.refuse(reply, fault.New(fault.Unavailable, "%s: the service is shutting down", e.subject))
		return
	}
	select {
	case e.slots <- struct{}{}:
	default:
		e.refuse(reply, fault.New(fault.Busy, "%s: %d requests are at work; try again", e.subject, maxConcurrent))
		return
	}
	if !e.c.serving.begin() {
		<-e.slots
		e.refuse(reply, fault.New(fault.Unavailable, "%s: the service is shutting down", e.subject))
		return
	}
	go func() {
		defer e.c.serving.busy.Done()
		defer func() { <-e.slots }()
		e.answer(reply, data, wait)
	}()
}

func (e *endpoint) answer(reply asker, data []byte, wait string) {
	ctx := e.ctx
	if d, err := time.ParseDuration(wait); err == nil && d > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, d)
		defer cancel()
	}
	res, err := e.call(ctx, data)
	if err != nil {
		e.refuse(reply, err)
		return
	}
	b, err := compact(res)
	if err != nil {
		e.refuse(reply, fmt.Errorf("%s: encode the answer: %w", e.subject, err))
		return
	}
	if limit := e.c.nc.MaxPayload() - replyReserve; int64(len(b)) > limit {
		e.refuse(reply, fault.New(fault.TooLarge, "%s: the answer has %d bytes; at most %d; ask for less", e.subject, len(b), limit))
		return
	}
	e.send(reply, &nats.Msg{Data: b})
}

// call turns a panic into an error of the one who asked; the others go on.
func (e *endpoint) call(ctx context.Context, data []byte) (res any, err error) {
	defer func() {
		if p := recover(); p != nil {
			e.c.log.Error("panic in an endpoint", "subject", e.subject, "panic", p, "stack", string(debug.Stack()))
			err = fault.New(fault.Internal, "%s: a fault in the service; its log has more", e.subject)
		}
	}()
	return e.handle(ctx, data)
}

// refuse answers with an error: the headers of NATS micro (ADR-32) with the kind as code, and the whole fault as JSON.
func (e *endpoint) refuse(reply asker, err error) {
	f := &fault.Error{Kind: kindOf(err), Text: err.Error()}
	body, jerr := json.Marshal(f)
	if jerr != nil {
		body = nil // the headers say enough
	}
	e.send(reply, &nats.Msg{Data: body, Header: nats.Header{
		micro.ErrorHeader:     {strings.Join(strings.Fields(f.Text), " ")}, // a header is one line
		micro.ErrorCodeHeader: {string(f.Kind)},
	}})
}

// kindOf is fault.KindOf for errors that may be a context's own: its end is nobody's fault.
func kindOf(err error) fault.Kind {
	var f *fault.Error
	switch {
	case errors.As(err, &f):
	case errors.Is(err, context.DeadlineExceeded):
		return fault.Timeout
	case errors.Is(err, context.Canceled):
		return fault.Unavailable
	}
	return fault.KindOf(err)
}

// asker is who waits for an answer.
type asker struct {
	inbox string
	since uint64 // how often the connection had been found again when the question came
}

// send answers, unless the connection was lost meanwhile: the permission to answer is given with a question, for the connection
// that it came over.
func (e *endpoint) send(to asker, m *nats.Msg) {
	if e.c.nc.Stats().Reconnects != to.since {
		e.c.log.Warn("answer not sent: the bus was away since the question", "subject", e.subject)
		return
	}
	m.Subject = to.inbox
	if err := e.c.nc.PublishMsg(m); err != nil {
		e.c.log.Warn("answer not sent", "subject", e.subject, "error", err)
	}
}

// Ask asks another service's endpoint and decodes its answer. Every error is a *fault.Error: that of the service, or
// Unavailable (nobody serves it, no connection: it was not handled), Timeout (it may have been), Denied (the asker's
// Spec lacks it), TooLarge. Without a deadline in ctx it waits 10 s.
func Ask[Res any](ctx context.Context, c *Conn, service, verb string, req any) (Res, error) {
	var res Res
	subj := subject.Service(service, verb)
	b, err := compact(req)
	if err != nil {
		return res, fault.New(fault.Invalid, "%s: encode the request: %w", subj, err)
	}
	if len(b) > MaxRequest {
		return res, fault.New(fault.TooLarge, "%s: a request of %d bytes; at most %d", subj, len(b), MaxRequest)
	}
	m, err := c.ask(ctx, subj, b)
	if err != nil {
		return res, c.askFault(service, subj, err)
	}
	if f := answeredFault(subj, m); f != nil {
		return res, f
	}
	if err := json.Unmarshal(m.Data, &res); err != nil {
		return res, fault.New(fault.Internal, "%s: unreadable answer: %w", subj, err)
	}
	return res, nil
}

func (c *Conn) ask(ctx context.Context, subj string, data []byte) (*nats.Msg, error) {
	return once(ctx, c, subj, func(ctx context.Context) (*nats.Msg, error) {
		m := &nats.Msg{Subject: subj, Data: data}
		if d, ok := ctx.Deadline(); ok {
			m.Header = nats.Header{headerTimeout: {time.Until(d).String()}}
		}
		return c.nc.RequestMsgWithContext(ctx, m)
	})
}

func (c *Conn) askFault(service, subj string, err error) error {
	switch {
	case errors.Is(err, nats.ErrNoResponders):
		return fault.New(fault.Unavailable, "%s: the service %s is not running", subj, service)
	case errors.Is(err, errRefused):
		return fault.New(fault.Denied, "%s: %s may not ask this: it is not in its Spec", subj, c.service)
	case errors.Is(err, errLost):
		return fault.New(fault.Timeout, "%s: %w", subj, err)
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, nats.ErrTimeout), errors.Is(err, context.Canceled):
		return fault.New(fault.Timeout, "%s: no answer in time: %w", subj, err)
	}
	return fault.New(fault.Unavailable, "%s: %w", subj, err)
}

func answeredFault(subj string, m *nats.Msg) error {
	code := m.Header.Get(micro.ErrorCodeHeader)
	if code == "" {
		return nil
	}
	f := &fault.Error{}
	if err := json.Unmarshal(m.Data, f); err == nil && f.Kind != "" {
		return f
	}
	return fault.New(fault.Internal, "%s: %s %s", subj, code, m.Header.Get(micro.ErrorHeader))
}

// compact encodes v without the escapes that JSON inside HTML needs: a diff would grow to six times its size by them.
func compact(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}
