package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/jetclaw/jetclaw/services/mcp/definition"
)

// Kind is a list that a server announces changes of.
type Kind string

// The kinds.
const (
	KindTools     Kind = "tools"
	KindResources Kind = "resources"
	KindPrompts   Kind = "prompts"
)

// Authorizer says who we are to an HTTP server.
type Authorizer interface {
	// Authorization is the value of that header for the next request ("Bearer …"); "" is none.
	Authorization(ctx context.Context) (string, error)
	// Refused is told that the server answered 401 or 403. It says whether the request is worth sending once more.
	Refused(ctx context.Context, status int, challenge string) (retry bool, err error)
}

// Options are what Connect needs.
type Options struct {
	Server     string                // configured name
	Definition definition.Definition // all references resolved
	// Open starts the stdio server; nil for HTTP. ctx bounds the start, not the life of the process. It may be called twice.
	Open      func(ctx context.Context) (Pipe, error)
	Authorize Authorizer // nil: the configured headers are all there is
	Legacy    bool       // known not to speak 2026-07-28: it is not asked
	Client    string     // version of jetclaw
	Proxy     func(*http.Request) (*url.URL, error)
	// Redact takes secrets out of what the server says of itself and of its errors, before that is shortened: half a secret is not
	// found any more. nil: there are none.
	Redact func(string) string
	// Changed is told of lists that may have changed, at most about twice a second. It must not block.
	Changed func(Kind)
	// Elicit asks the person; nil: elicitation is not offered. While it runs no call times out before MaxCall. It ends with ctx.
	Elicit func(ctx context.Context, message string, schema json.RawMessage) (action string, content json.RawMessage, err error)
	// Observe is told of each request, see mcp.Observer. nil: nobody is.
	Observe func(ctx context.Context, method, target string) (_ context.Context, traceparent string, end func(error))
	Log     *slog.Logger
}

// Info is what a server says of itself.
type Info struct {
	Name, Version, Protocol   string
	Instructions              string // at most 4 KiB
	Tools, Resources, Prompts bool
	ListChanged               ListChanged // which lists it announces changes of
	Legacy                    bool        // older than 2026-07-28; worth remembering as Options.Legacy
}

// ListChanged are the lists that a server announces changes of.
type ListChanged struct{ Tools, Resources, Prompts bool }

// Session is a connection to a server that has been greeted. It is safe for concurrent use.
type Session struct {
	o       Options
	limit   time.Duration // of a request
	mcp     *mcp.ClientSession
	link    *link
	info    Info
	life    *leash // of requests; it ends with the session
	changed *changes
	asking  atomic.Int32  // questions to a person that are open
	turn    chan struct{} // held by the one question that a person sees
	tokens  atomic.Uint64

	mu      sync.Mutex
	calls   map[string]*call // by progress token
	err     error            // why the connection is gone
	closing bool             // no goroutine is begun any more

	work sync.WaitGroup // all goroutines of the session
	done chan struct{}  // the connection is gone
	over chan struct{}  // and nothing of the session runs any more
}

func newSession(o Options, l *link) *Session {
	s := &Session{
		o: o, link: l, limit: o.Definition.RequestTimeout(),
		life: newLeash(), changed: newChanges(), turn: make(chan struct{}, 1), calls: map[string]*call{},
		done: make(chan struct{}), over: make(chan struct{}),
	}
	l.flood.lost = func(method string) { // of a change that is announced too often, that there is one is enough
		if kind, ok := strings.CutSuffix(strings.TrimPrefix(method, notifications), "/list_changed"); ok {
			s.changed.note(Kind(kind))
		}
	}
	return s
}

// start begins what runs beside the requests.
func (s *Session) start(cs *mcp.ClientSession) {
	s.mcp, s.info = cs, infoOf(cs.InitializeResult(), s.hide)
	s.work.Go(s.watch)
	if s.o.Changed != nil {
		s.work.Go(func() { s.changed.announce(s.life.done(), s.o.Changed) })
		if !s.info.Legacy && s.info.ListChanged != (ListChanged{}) {
			s.work.Go(s.listen)
		}
	}
}

// watch waits for the end of the connection, and clears up after it.
func (s *Session) watch() {
	err := s.mcp.Wait()
	why := ErrClosed
	if err != nil {
		if why = translate(&brokenError{err}, s.hide); !errors.Is(why, ErrClosed) {
			why = fmt.Errorf("%w: %w", ErrClosed, why)
		}
	}
	s.mu.Lock()
	if s.closing {
		why = ErrClosed
	}
	s.err = why
	s.mu.Unlock()
	s.life.end(ErrClosed)
	close(s.done)
	s.link.abort()
}

// Info is what the server said of itself.
func (s *Session) Info() Info { return s.info }

// Done is closed when the connection is gone. Close is still to be called.
func (s *Session) Done() <-chan struct{} { return s.done }

// Err is why the connection is gone, once it is; it is an ErrClosed.
func (s *Session) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// closeGrace is how long a server may take to let go: a goodbye over HTTP, the end of a program after that of its input.
const closeGrace = 3 * time.Second

// Close ends the session: requests under way fail with ErrClosed. It returns when nothing of it runs any more, or with ctx; what
// is left then ends by itself.
func (s *Session) Close(ctx context.Context) error {
	s.mu.Lock()
	first := !s.closing
	s.closing = true
	s.mu.Unlock()
	if first {
		s.life.end(ErrClosed)
		s.work.Go(func() {
			late := time.AfterFunc(closeGrace, s.link.abort)
			defer late.Stop()
			_ = s.mcp.Close() // its error is the server's bad manners: it is gone for us either way
		})
		go func() {
			s.work.Wait()
			close(s.over)
		}()
	}
	select {
	case <-s.over:
		return nil
	case <-ctx.Done():
		go s.link.abort() // closing a pipe may wait for a process
		return &endedError{"closing", context.Cause(ctx)}
	}
}

// run begins a goroutine that Close waits for, unless the session is closing.
func (s *Session) run(f func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing {
		return false
	}
	s.work.Go(f)
	return true
}

func infoOf(r *mcp.InitializeResult, h hide) Info {
	var i Info
	if r == nil {
		return i
	}
	i.Protocol = r.ProtocolVersion
	i.Legacy = r.ProtocolVersion < modern
	i.Instructions = cut(h(cut(r.Instructions, 4*maxInstructions)), maxInstructions)
	if r.ServerInfo != nil {
		i.Name, i.Version = h.line(r.ServerInfo.Name, maxName), h.line(r.ServerInfo.Version, maxName)
	}
	if c := r.Capabilities; c != nil {
		i.Tools, i.Resources, i.Prompts = c.Tools != nil, c.Resources != nil, c.Prompts != nil
		i.ListChanged = ListChanged{
			Tools:     c.Tools != nil && c.Tools.ListChanged,
			Resources: c.Resources != nil && c.Resources.ListChanged,
			Prompts:   c.Prompts != nil && c.Prompts.ListChanged,
		}
	}
	return i
}

const (
	maxInstructions = 4 << 10
	maxName         = 200
)
