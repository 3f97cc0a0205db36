package mcp

import (
	"context"
	"slices"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/subject"
	"github.com/jetclaw/jetclaw/services/mcp/definition"
	"github.com/jetclaw/jetclaw/services/mcp/internal/client"
	"github.com/jetclaw/jetclaw/services/mcp/internal/launch"
	"github.com/jetclaw/jetclaw/services/mcp/server"
)

// options are those of a connection of the service.
func (s *Service) options(name string, d definition.Definition) client.Options {
	o := s.config.World.options(name, d, s.log)
	o.Redact = s.redact
	if s.config.Observer != nil {
		executor := subject.Executor(Name, name)
		o.Observe = func(ctx context.Context, method, target string) (context.Context, string, func(error)) {
			return s.config.Observer.MCPRequest(ctx, executor, method, target)
		}
	}
	if a, err := s.authorizer(name, d); err == nil && a != nil {
		o.Authorize = a
	}
	return o
}

func (s *Service) command(name string, d definition.Definition) launch.Command {
	return s.config.World.command(name, d, s.redact, s.log)
}

func (s *Service) answerStatus(ctx context.Context, data []byte) (any, error) {
	r, err := bus.Question[StatusRequest](data)
	if err != nil {
		return nil, err
	}
	_ = s.readAgain(ctx) // it may have been written just now; what cannot be read changes nothing
	if r.Settled {
		s.await(ctx, settleTime, nil)
	}
	out := Status{Servers: []ServerStatus{}}
	for _, u := range s.all() {
		if len(r.Servers) > 0 && !slices.Contains(r.Servers, u.name) {
			continue
		}
		if one, ok := u.status(ctx); ok {
			out.Servers = append(out.Servers, one)
		}
	}
	slices.SortFunc(out.Servers, func(a, b ServerStatus) int { return compare(a.Name, b.Name) })
	return out, nil
}

// settleTime bounds the wait for servers that are new.
const settleTime = 10 * time.Second

// status is how the server is; false when it is not configured.
func (u *upstream) status(ctx context.Context) (ServerStatus, bool) {
	now := time.Now()
	u.mu.Lock()
	d, configured := u.resolved, u.left.IsZero()
	st := ServerStatus{
		Name: u.name, Since: u.state.Since, Failures: u.state.Failures, Pauses: u.state.Pauses, LastError: u.wrong,
		Tools: len(u.published.Tools), Calls: u.running, Stderr: u.stderr, State: u.phase(now),
	}
	if u.state.Paused(now) {
		st.RetryAfter = u.state.Until
	}
	if st.LastError == "" && (st.Failures > 0 || st.Pauses > 0) {
		st.LastError = u.state.Reason
	}
	if u.login != nil {
		st.LastError = u.login.Error()
	}
	if p := u.state.Peer; p.Protocol != "" {
		st.Server = &ServerInfo{Name: p.Name, Version: p.Version, Protocol: p.Protocol}
	}
	if u.built != nil {
		st.Issues = u.built.Issues
	}
	for _, l := range u.links {
		st.Connections++
		if p := l.program.running(); p != nil && p.Exit() == "" {
			st.PIDs = append(st.PIDs, p.PID())
			st.Stderr = p.Stderr()
		}
	}
	u.mu.Unlock()
	slices.Sort(st.PIDs)
	if x, err := u.s.conn.ExecutorState(ctx, u.executor); err == nil {
		st.Waiting = x.Waiting
	}
	if d.Auth == OAuthMode && u.s.oauth != nil {
		if a, err := u.s.oauth.Status(ctx, u.name, d); err == nil {
			status := authStatus(a)
			st.AuthStatus = &status
		}
	}
	return st, configured
}

// phase is the state of the server in a word. u.mu is held.
func (u *upstream) phase(now time.Time) string {
	switch {
	case !u.on:
		return "closed"
	case u.state.Paused(now):
		return "paused"
	}
	open, opening := false, false
	for _, l := range u.links {
		select {
		case <-l.open:
			open = open || l.session != nil && l.err == nil
		default:
			opening = true
		}
	}
	switch {
	case u.state.Failures > 0 || u.state.Pauses > 0 || u.problem != nil:
		return "failing"
	case open:
		return "ready"
	case opening:
		return "connecting"
	}
	return "disconnected"
}

func (s *Service) answerReload(ctx context.Context, _ []byte) (any, error) {
	out := Reloaded{Servers: []string{}, Resumed: []string{}, Problems: []string{}}
	if err := s.readAgain(ctx); err != nil {
		out.Problems = append(out.Problems, err.Error())
	}
	if err := s.conn.TellWorkers("reload"); err != nil {
		return nil, err
	}
	for _, u := range s.all() {
		u.mu.Lock()
		on, troubled := u.on, !u.state.Until.IsZero() || u.state.Failures > 0 || u.state.Pauses > 0
		u.mu.Unlock()
		if !on {
			continue
		}
		out.Servers = append(out.Servers, u.name)
		if troubled {
			u.note(ctx, server.Asked{By: "reload"})
			out.Resumed = append(out.Resumed, u.name)
		}
	}
	slices.Sort(out.Servers)
	slices.Sort(out.Resumed)
	return out, nil
}
