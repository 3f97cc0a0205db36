package mcp

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/bus/actor"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/machine"
	"github.com/jetclaw/jetclaw/schemas/secret"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/subject"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/internal/execution"
	"github.com/jetclaw/jetclaw/services/mcp/definition"
	"github.com/jetclaw/jetclaw/services/mcp/internal/launch"
	"github.com/jetclaw/jetclaw/services/mcp/internal/oauth"
)

// Name is the service's name, and begins the names of its executors.
const Name = "mcp"

// Config is what the service needs. Conn, Key, Servers, Resolve and Log are required.
type Config struct {
	Conn *bus.Conn         // as Spec().Name
	Key  ed25519.PublicKey // of the approvals service
	// Servers reads the configured servers, again each time. Changed tells that they may be others now; nil: never.
	Servers func() (map[string]definition.Definition, error)
	Changed <-chan struct{}
	World   World
	Known   []string // secrets that leave no server
	// Patience is how long Ready waits for servers whose tools are not known yet, once each has been asked: for who stays no longer
	// than one turn. Waiting is told of which ones. 0: it does not wait.
	Patience time.Duration
	Waiting  func(servers []string)
	// Identity is the age key that stored OAuth credentials are encrypted with; "": none are kept.
	Identity string
	Observer Observer // nil: nobody is told of requests
	Log      *slog.Logger
}

// Observer is told of requests to servers, for metrics and traces. It may not block.
type Observer interface {
	// MCPRequest says that a request is about to be sent, and gives it a context, and a traceparent that the server is told of: ""
	// for none. target is the tool or prompt that it is about, "" for others. end is called once, with how it ended.
	MCPRequest(ctx context.Context, executor, method, target string) (_ context.Context, traceparent string, end func(error))
}

// World is what connections to servers need of their surroundings.
type World struct {
	// Resolve finds the values that a definition refers to. The texts are the secrets among them.
	Resolve func(d definition.Definition) (definition.Definition, []string, error)
	Home    string   // of this jetclaw, absolute: marks its child processes
	Environ []string // NAME=value; what a child process may have of it is definition.Inherited
	Proxy   func(*http.Request) (*url.URL, error)
	Version string // of jetclaw, for servers
}

// Service is the executor of all servers; see the package documentation.
type Service struct {
	conn   *bus.Conn
	actor  *actor.Actor[execution.State]
	key    ed25519.PublicKey
	config Config
	bells  *bells
	oauth  *oauth.Keeper // nil: no credentials are kept
	log    *slog.Logger

	asked  chan struct{} // closed once questions are answered
	reread chan struct{} // of size 1: the configuration is to be read again
	slots  chan struct{} // of connections that are opened beside calls
	told   uint64        // cursor up to which other processes were listened to; of Run and look

	// spawn runs something beside calls; its context ends when Run does.
	spawn func(func(ctx context.Context))
	work  sync.WaitGroup // what spawn runs, and ends of connections

	adopting  sync.Mutex // the configuration is taken up by one at a time
	mu        sync.Mutex
	upstreams map[string]*upstream // guarded by mu; by executor
	secrets   secret.Known         // guarded by mu; values that leave no server
	values    map[string]bool      // guarded by mu; those of secrets
}

// Spec says what the service does on the bus.
func Spec() bus.Spec {
	kind := func(b envelope.Body) string { return envelope.KindOf(b.EventType()) }
	return bus.Spec{
		Name:         Name,
		Appends:      []string{kind(callv1.Started{}) + ".*", kind(callv1.Completed{}) + ".*", kind(callv1.Asked{}) + ".*"},
		Doorbells:    []string{kind(turnv1.Cancelled{}), kind(turnv1.SessionDeleted{})},
		Rung:         true, // by `jetclaw doctor --repair`
		Snapshots:    true,
		Values:       true, // by which rules it has decided; credentials
		ReadsCatalog: true,
		Executors:    true,
		System:       true,
		Live:         true, // progress
		Follows:      true, // what people answer to servers
		Serves:       []string{StatusVerb, ReloadVerb, ProbeVerb, LoginVerb, CodeVerb, LogoutVerb},
	}
}

// Executors are the executors of servers, as the bus has to know them.
func Executors(servers map[string]definition.Definition) []bus.Executor {
	var all []bus.Executor
	for name, d := range servers {
		all = append(all, bus.Executor{Name: subject.Executor(Name, name), Serial: !d.SupportsParallelToolCalls})
	}
	return all
}

// Version is that of the machine of its calls; see execution.Version.
const Version = execution.Version

// Part is the part of its session that an event is about; see execution.Part.
func Part(ev envelope.Event) string { return execution.Part(ev) }

// Calls is the machine of the calls of all servers.
func Calls() execution.Machine {
	return execution.Machine{Owns: func(executor string) bool {
		return executor != Name && subject.ExecutorService(executor) == Name
	}}
}

// New makes the service; Run starts it, once.
func New(c Config) (*Service, error) {
	switch {
	case c.Conn == nil:
		return nil, errors.New("mcp needs a connection")
	case len(c.Key) != ed25519.PublicKeySize:
		return nil, errors.New("mcp needs the public key of the approvals service")
	case c.Servers == nil || c.World.Resolve == nil:
		return nil, errors.New("mcp needs the configured servers, and what their definitions refer to")
	case c.Log == nil:
		return nil, errors.New("mcp needs a logger")
	}
	s := &Service{
		conn: c.Conn, key: c.Key, config: c, log: c.Log, asked: make(chan struct{}), reread: make(chan struct{}, 1),
		slots: make(chan struct{}, maxOpening), upstreams: map[string]*upstream{}, values: map[string]bool{},
	}
	s.learn(c.Known)
	s.bells = newBells(c.Conn, c.Log)
	var err error
	if s.oauth, err = newKeeper(c); err != nil {
		return nil, err
	}
	ports := actor.OnBus(c.Conn, Spec())
	ports.Bells = s.bells
	s.actor, err = actor.NewOn(s.machine(), ports, Spec(), actor.Options{})
	return s, err
}

func (s *Service) machine() actor.Machine[execution.State] {
	rules, book := recorded{Attempts: attempts, Grace: grace}, actor.NewRulebook(s.conn)
	live := rules.rules()
	live.Refuse = func(c execution.Call, now time.Time) string { return s.refuse(c.Executor, now) }
	return actor.Machine[execution.State]{
		Service: Name,
		Version: execution.Version,
		Apply:   Calls().Apply,
		Part:    execution.Part,
		Next:    func(st execution.State, v machine.View) machine.Step { return st.Next(v, live) },
		Rules:   func(session.ID) string { return book.Digest("", func() any { return rules }) },
		Perform: s.perform,
	}
}

// maxOpening bounds the connections that are opened at a time to find out what servers offer.
const maxOpening = 4

// Run carries out calls until ctx ends; then running ones may finish for a while. When it returns, no server that it has started is
// left.
func (s *Service) Run(ctx context.Context) error {
	life, end := context.WithCancelCause(context.WithoutCancel(ctx))
	s.spawn = func(f func(context.Context)) { s.work.Go(func() { f(life) }) }
	sweep, done := context.WithTimeout(ctx, endTime)
	defer done()
	if n, err := launch.Sweep(sweep, s.config.World.Home, s.log); err != nil {
		s.log.Warn("servers that an earlier process has left could not be ended", "error", err)
	} else if n > 0 {
		s.log.Info("ended what servers of an earlier process had left running", "processes", n)
	}
	if err := s.begin(ctx); err != nil {
		end(nil)
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	g.Go(func() error { return s.actor.Run(ctx) })
	g.Go(func() error { return s.serve(ctx) })
	g.Go(func() error { return s.watch(ctx) })
	g.Go(func() error { return s.look(ctx) })
	err := g.Wait()
	end(errStopped)
	s.endLinks()
	s.work.Wait()
	if s.oauth != nil {
		s.oauth.Close()
	}
	return err
}

var errStopped = errors.New("jetclaw stops")

// Ready returns once calls are taken and questions are answered, or with ctx's error. It waits for no server, but see
// Config.Patience.
func (s *Service) Ready(ctx context.Context) error {
	select {
	case <-s.asked:
	case <-ctx.Done():
		return fmt.Errorf("mcp is not ready: %w", context.Cause(ctx))
	}
	if s.config.Patience > 0 {
		s.await(ctx, s.config.Patience, s.config.Waiting)
	}
	return s.actor.Ready(ctx)
}

// await returns when each server that is asked what it offers has been asked once, or when patience is over.
func (s *Service) await(ctx context.Context, patience time.Duration, waiting func(servers []string)) {
	var names []string
	var asked []<-chan struct{}
	for _, u := range s.all() {
		u.mu.Lock()
		if u.surveying != nil {
			names, asked = append(names, u.name), append(asked, u.surveying)
		}
		u.mu.Unlock()
	}
	if len(names) == 0 {
		return
	}
	slices.Sort(names)
	if waiting != nil {
		waiting(names)
	}
	over := time.NewTimer(patience)
	defer over.Stop()
	for _, one := range asked {
		select {
		case <-one:
		case <-over.C:
			return
		case <-ctx.Done():
			return
		}
	}
}

func (s *Service) serve(ctx context.Context) error {
	return s.conn.ServeAll(ctx, s.asked, bus.Endpoints{
		StatusVerb: s.answerStatus, ReloadVerb: s.answerReload, ProbeVerb: s.answerProbe,
		LoginVerb: s.answerLogin, CodeVerb: s.answerCode, LogoutVerb: s.answerLogout,
	})
}

// of is the server of an executor; nil when none is known.
func (s *Service) of(executor string) *upstream {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.upstreams[executor]
}

// all are the known servers, in no order.
func (s *Service) all() []*upstream {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := make([]*upstream, 0, len(s.upstreams))
	for _, u := range s.upstreams {
		list = append(list, u)
	}
	return list
}

// learn makes values known that are to leave no server, nor reach a log.
func (s *Service) learn(values []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	news := false
	for _, v := range values {
		if v != "" && !s.values[v] {
			s.values[v], news = true, true
		}
	}
	if news {
		list := make([]string, 0, len(s.values))
		for v := range s.values {
			list = append(list, v)
		}
		s.secrets = secret.Compile(list)
	}
}

// redact takes known secrets out of a text.
func (s *Service) redact(text string) string {
	s.mu.Lock()
	known := s.secrets
	s.mu.Unlock()
	return known.Redact(text)
}
