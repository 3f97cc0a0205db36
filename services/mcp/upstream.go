package mcp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/subject"
	"github.com/jetclaw/jetclaw/schemas/toolv1"
	"github.com/jetclaw/jetclaw/services/mcp/catalogue"
	"github.com/jetclaw/jetclaw/services/mcp/definition"
	"github.com/jetclaw/jetclaw/services/mcp/server"
)

// upstream is one server, as this process has it: how it is configured, how it is known to be, and the connections to it.
type upstream struct {
	s              *Service
	name, executor string
	log            *slog.Logger

	telling  sync.Mutex    // one decision about the server at a time
	building sync.Mutex    // one catalogue at a time
	alone    chan struct{} // of size 1: held by the call of a server that takes one at a time

	mu       sync.Mutex
	on       bool                  // guarded by mu: it is configured, and enabled
	conf     definition.Definition // guarded by mu; as it is written
	resolved definition.Definition // guarded by mu; with the values of its references
	problem  error                 // guarded by mu; why it could not be resolved
	left     time.Time             // guarded by mu; since when it is not configured any more; zero while it is

	state  server.State // guarded by mu
	cursor uint64       // guarded by mu; of the last event of state
	shown  time.Time    // guarded by mu; the pause that consumer and catalogue show
	swept  uint64       // guarded by mu; cursor up to which calls were answered in this pause

	links  map[session.ID]*link // guarded by mu; "" is the one that all share
	old    map[*link]bool       // guarded by mu; that are used for the last time
	legacy bool                 // guarded by mu; it does not speak the newest protocol
	login  error                // guarded by mu; why somebody has to log in first
	wrong  string               // guarded by mu; the last thing that went wrong
	stderr string               // guarded by mu; of a process that has ended

	published toolv1.Catalogue   // guarded by mu; what the bus has
	lists     *catalogue.Listing // guarded by mu; what the server has listed last; nil: nothing yet
	built     *catalogue.Built   // guarded by mu; made of lists
	stale     bool               // guarded by mu; the server has announced a change
	relist    time.Time          // guarded by mu; before it nobody but a call reads the list again
	rest      time.Duration      // guarded by mu; between two such readings
	// surveying is closed once the server was asked what it offers, by who is about to find out; nil: nobody is. Guarded by mu.
	surveying chan struct{}
	anew      chan struct{} // of size 1: who is about to find out is to begin anew
	running   int           // guarded by mu; calls
}

func newUpstream(s *Service, name string) *upstream {
	return &upstream{
		s: s, name: name, executor: subject.Executor(Name, name), log: s.log.With("server", name),
		links: map[session.ID]*link{}, old: map[*link]bool{}, shown: notShown, alone: make(chan struct{}, 1), anew: make(chan struct{}, 1),
	}
}

// configure takes up a definition.
func (u *upstream) configure(ctx context.Context, d definition.Definition) {
	resolved, values, err := u.s.config.World.Resolve(d)
	u.s.learn(values)
	u.mu.Lock()
	was, first := u.resolved, u.left.IsZero() && !u.on
	other := !u.on || u.problem != nil // it could not be asked for its tools
	u.on, u.conf, u.problem, u.left = d.IsEnabled(), d, err, time.Time{}
	if err == nil {
		u.resolved = resolved
	}
	moved := err == nil && !was.Connects().Equal(resolved.Connects())
	if moved {
		u.legacy, u.login, u.lists, u.built = false, nil, nil, nil
	}
	if moved || other {
		select {
		case u.anew <- struct{}{}:
		default:
		}
	}
	var end []*link
	if moved || !u.on || err != nil {
		end = u.retire()
	}
	on := u.on
	u.mu.Unlock()
	u.s.endAll(end, "its configuration has changed")
	switch {
	case !on:
		u.withdraw(ctx)
	case err != nil:
		u.log.Warn("an MCP server cannot be used", "error", err)
		u.broken(err)
	case moved && !first:
		u.note(ctx, server.Asked{By: "reload"})
	}
	if on && err == nil {
		u.offer(ctx)
	}
}

func (u *upstream) broken(err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.wrong = u.s.redact(err.Error())
}

// remove takes it up that the server is not configured any more. What was handed to it is answered.
func (u *upstream) remove(ctx context.Context) {
	u.mu.Lock()
	if u.left.IsZero() {
		u.left = time.Now()
	}
	was := u.on
	u.on = false
	end := u.retire()
	u.mu.Unlock()
	u.s.endAll(end, "it is not configured any more")
	if was {
		u.log.Info("an MCP server is not configured any more")
	}
	u.withdraw(ctx)
}

// retire lets no new call use the connections, and returns those that nobody uses. What is only being opened is given up: who waits
// for it takes another. u.mu is held.
func (u *upstream) retire() []*link {
	var idle []*link
	for key, l := range u.links {
		delete(u.links, key)
		close(l.retired)
		if l.users == 0 {
			idle = append(idle, l)
		}
		u.old[l] = true
	}
	return idle
}

// forgetAfter is how long calls to a server that is gone are still answered.
const forgetAfter = time.Minute

// forgotten says whether there is nothing left to do for it.
func (u *upstream) forgotten(now time.Time) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return !u.left.IsZero() && now.Sub(u.left) > forgetAfter && u.running == 0 && len(u.links)+len(u.old) == 0
}

// refusal says why the server takes no call now; "" when it does.
func (u *upstream) refusal(now time.Time) string {
	u.mu.Lock()
	defer u.mu.Unlock()
	switch {
	case !u.on && u.left.IsZero():
		return fmt.Sprintf("the server %s is switched off", u.name)
	case !u.on:
		return fmt.Sprintf("the server %s %v any more", u.name, errNoServer)
	case u.state.Paused(now):
		return fmt.Sprintf("the server %s is paused until %s (%s); do it in another way, or later",
			u.name, u.state.Until.Format(time.RFC3339), pausedWhy)
	}
	return ""
}

// basis identifies all that a catalogue is made of beside what the server lists.
func basis(d definition.Definition) string {
	raw, err := json.Marshal(struct {
		Version  int                    `json:"version"`
		Endpoint string                 `json:"endpoint"`
		Filter   *definition.ToolFilter `json:"filter"`
		Approval definition.Approval    `json:"approval"`
		Times    [2]time.Duration       `json:"times"`
		Elicit   bool                   `json:"elicit"`
	}{catalogueVersion, d.Endpoint(), d.ToolFilter, d.ApprovalMode(), [2]time.Duration{d.RequestTimeout(), d.ConnectionTimeout()}, d.Elicitation})
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:8])
}

// catalogueVersion changes when catalogues are made otherwise.
const catalogueVersion = 2

// definitionNow is the definition by which the server is reached.
func (u *upstream) definitionNow() (definition.Definition, error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	switch {
	case !u.on:
		return definition.Definition{}, fmt.Errorf("the server %s %w", u.name, errNoServer)
	case u.problem != nil:
		return definition.Definition{}, u.problem
	}
	return u.resolved, nil
}

// begin makes the servers that are configured or were at work before, as the bus knows them.
func (s *Service) begin(ctx context.Context) error {
	s.bells.on = s.heard
	known, err := s.known(ctx)
	if err != nil {
		return err
	}
	servers, err := s.config.Servers()
	if err != nil {
		return err
	}
	for name := range servers {
		known[subject.Executor(Name, name)] = true
	}
	for executor := range known {
		s.ensure(executor)
	}
	s.adopt(ctx, servers)
	for _, u := range s.all() {
		u.converge(ctx)
	}
	return nil
}

// known are the executors of the service that the bus knows of, each with its state taken over.
func (s *Service) known(ctx context.Context) (map[string]bool, error) {
	all := map[string]bool{}
	names, err := s.conn.Executors(ctx, Name)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		all[name] = true
	}
	raw, err := s.conn.Catalog(ctx)
	if err != nil {
		return nil, err
	}
	for executor, data := range raw {
		var c toolv1.Catalogue
		if executor == Name || subject.ExecutorService(executor) != Name || json.Unmarshal(data, &c) != nil {
			continue
		}
		all[executor] = true
		u := s.ensure(executor)
		u.mu.Lock()
		u.published = c
		u.mu.Unlock()
	}
	told, err := s.conn.SystemLast(ctx, "*")
	if err != nil {
		return nil, err
	}
	items := map[string][]bus.SystemEvent{}
	for _, ev := range told {
		items[ev.Item] = append(items[ev.Item], ev)
		s.told = max(s.told, ev.Cursor)
	}
	for item, events := range items {
		s.ensure(subject.Executor(Name, item)).fold(true, events...)
	}
	return all, nil
}

// ensure is the server of an executor, made when it is new.
func (s *Service) ensure(executor string) *upstream {
	s.mu.Lock()
	defer s.mu.Unlock()
	if u := s.upstreams[executor]; u != nil {
		return u
	}
	u := newUpstream(s, executor[len(Name)+1:])
	s.upstreams[executor] = u
	return u
}

// adopt takes up the configured servers.
func (s *Service) adopt(ctx context.Context, servers map[string]definition.Definition) {
	for name, d := range servers {
		executor := subject.Executor(Name, name)
		first := s.of(executor) == nil
		u := s.ensure(executor)
		if first { // it may have been configured before, and be paused
			if err := u.refold(ctx); err != nil {
				s.log.Debug("what happened to an MCP server is not known", "server", name, "error", err)
			}
		}
		s.bells.want(u.executor, true)
		u.configure(ctx, d)
	}
	for _, u := range s.all() {
		if _, ok := servers[u.name]; !ok {
			s.bells.want(u.executor, true) // until it is forgotten
			u.remove(ctx)
		}
	}
}

// watch takes up changes of the configuration until ctx ends.
func (s *Service) watch(ctx context.Context) error {
	hear := func(string) { // somebody has logged in, or wants all to be tried again
		select {
		case s.reread <- struct{}{}:
		default:
		}
	}
	if err := s.conn.HearWorkers(ctx, hear); err != nil {
		return fmt.Errorf("mcp: %w", err)
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.config.Changed:
		case <-s.reread:
			for _, u := range s.all() {
				u.mu.Lock()
				u.login = nil
				u.mu.Unlock()
			}
		}
		if err := s.readAgain(ctx); err != nil {
			s.log.Warn("the configuration of MCP servers cannot be read; the last one holds", "error", err)
		}
	}
}

// readAgain takes up the configuration as it is now.
func (s *Service) readAgain(ctx context.Context) error {
	s.adopting.Lock()
	defer s.adopting.Unlock()
	servers, err := s.config.Servers()
	if err != nil {
		return err
	}
	s.adopt(ctx, servers)
	return nil
}

// lookEvery is how often what depends on time is looked at.
const lookEvery = time.Second

// look ends what nobody uses, and brings the bus in line with what is told of servers, until ctx ends.
func (s *Service) look(ctx context.Context) error {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case now := <-tick.C:
			err := s.listen(ctx)
			if err != nil {
				s.log.Debug("what other processes say of servers is not known", "error", err)
			}
			for _, u := range s.all() {
				u.look(ctx, now, err == nil)
			}
		}
	}
}

// look: informed says that all that is told of the server is known.
func (u *upstream) look(ctx context.Context, now time.Time, informed bool) {
	u.s.endAll(u.idle(now), "nobody has used it for a while")
	u.keepUp(now)
	if informed {
		u.converge(ctx)
	}
	if !u.forgotten(now) || !u.s.adopting.TryLock() { // who takes up the configuration may be about to have it back
		return
	}
	defer u.s.adopting.Unlock()
	if u.forgotten(now) {
		u.s.bells.want(u.executor, false)
		u.s.mu.Lock()
		delete(u.s.upstreams, u.executor)
		u.s.mu.Unlock()
	}
}

// refuse says why a call is not to be started.
func (s *Service) refuse(executor string, now time.Time) string {
	u := s.of(executor)
	if u == nil {
		return fmt.Sprintf("the server of %s %v any more", executor, errNoServer)
	}
	return u.refusal(now)
}
