package mcp

import (
	"context"
	"errors"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/mcpv1"
	"github.com/jetclaw/jetclaw/services/mcp/server"
)

// fold takes over events of the server that are newer than what is known of it: all of them at once, for a call may look meanwhile.
// Whole says that nothing is known without them: they are the last ones of each verb.
func (u *upstream) fold(whole bool, told ...bus.SystemEvent) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if len(told) == 0 || told[len(told)-1].Cursor <= u.cursor {
		return
	}
	state, seen := u.state, u.cursor
	if whole {
		state, seen = server.State{}, 0
	}
	for _, ev := range told {
		if ev.Cursor <= seen {
			continue
		}
		seen = ev.Cursor
		e, err := mcpv1.Decode(ev.Verb, ev.Body)
		if err != nil {
			u.log.Warn("an event of the server cannot be read", "error", err)
			continue
		}
		state = state.Apply(e, ev.Time)
	}
	u.state, u.cursor = state, seen
}

// refold takes over all that is told of the server.
func (u *upstream) refold(ctx context.Context) error {
	told, err := u.s.conn.SystemLast(ctx, u.name)
	if err != nil {
		return err
	}
	u.fold(true, told...)
	return nil
}

// listen takes over what other processes have told since it did so last.
func (s *Service) listen(ctx context.Context) error {
	for {
		told, err := s.conn.SystemSince(ctx, s.told)
		if err != nil || len(told) == 0 {
			return err
		}
		for _, ev := range told {
			s.told = ev.Cursor
			if u := s.of(executorOf(ev.Item)); u != nil {
				u.fold(false, ev)
			}
		}
	}
}

// tells is how often an event is decided again when another process was faster.
const tells = 8

// note tells what follows of something that this process has seen.
func (u *upstream) note(ctx context.Context, in server.Input) {
	u.mu.Lock()
	nothing := u.state.Next(in, time.Now()) == nil
	u.mu.Unlock()
	if nothing {
		return // as most of the time
	}
	u.decide(ctx, func(s server.State) mcpv1.Event { return s.Next(in, time.Now()) })
	u.converge(ctx)
}

// tell tells a fact.
func (u *upstream) tell(ctx context.Context, e mcpv1.Event) {
	u.decide(ctx, func(server.State) mcpv1.Event { return e })
}

// decide appends what is to be told of the newest state, by compare-and-set. What cannot be told now is not kept: the state is as
// if it had not happened, and it will happen again.
func (u *upstream) decide(ctx context.Context, what func(server.State) mcpv1.Event) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), tellTime)
	defer cancel()
	u.telling.Lock()
	defer u.telling.Unlock()
	for try := range tells {
		u.mu.Lock()
		e, prev := what(u.state), u.cursor
		u.mu.Unlock()
		if e == nil {
			return
		}
		cursor, err := u.s.conn.AppendSystem(ctx, u.name, e.Verb(), e, prev)
		if err == nil {
			u.mu.Lock()
			if cursor > u.cursor { // else it was read in between
				u.state, u.cursor = u.state.Apply(e, time.Now()), cursor
			}
			u.mu.Unlock()
			u.announce(e)
			return
		}
		if news, lost := errors.AsType[*bus.Conflict](err); lost {
			if err = news.Settle(ctx, try); err == nil {
				err = u.refold(ctx)
			}
		}
		if err != nil {
			u.log.Warn("what happened to an MCP server is not told", "verb", e.Verb(), "error", err)
			return
		}
	}
}

// tellTime bounds what is told of a server: a call may wait for it.
const tellTime = 3 * time.Second

// announce logs what a person should see.
func (u *upstream) announce(e mcpv1.Event) {
	switch e := e.(type) {
	case mcpv1.Failed:
		u.log.Warn("an MCP server has failed", "failures", e.Failures, "reason", e.Reason)
	case mcpv1.Paused:
		u.log.Warn("an MCP server is paused: it keeps failing", "until", e.Until, "pauses", e.Pauses, "reason", e.Reason)
	case mcpv1.Resumed:
		u.log.Info("an MCP server is used again", "by", e.By)
	case mcpv1.Connected:
		u.log.Info("connected to an MCP server", "name", e.Name, "version", e.Version, "protocol", e.Protocol, "transport", e.Transport)
	case mcpv1.Listed:
		u.log.Info("an MCP server offers tools", "tools", e.Tools, "filtered", e.Filtered, "dropped", e.Dropped)
	case mcpv1.Closed:
		u.log.Info("a connection to an MCP server has ended", "reason", e.Reason)
	}
}

// converge brings the consumer and the catalogue in line with what is told, and answers what was handed to a server that is paused.
// It is called again and again, and does nothing when all is so.
func (u *upstream) converge(ctx context.Context) {
	now := time.Now()
	u.mu.Lock()
	due := !u.state.Until.IsZero()
	paused := u.state.Paused(now)
	u.mu.Unlock()
	if due && !paused {
		u.decide(ctx, func(s server.State) mcpv1.Event { return s.Next(server.Tick{}, now) })
	}
	u.mu.Lock()
	until := time.Time{}
	if u.state.Paused(now) {
		until = u.state.Until
	}
	shown := u.shown
	u.mu.Unlock()
	if !until.Equal(shown) && !u.show(ctx, until) {
		return
	}
	if !until.IsZero() {
		u.sweep(ctx)
	}
}

// show has the server deliver no calls until then, and all executors' clients see it; zero: not any more.
func (u *upstream) show(ctx context.Context, until time.Time) bool {
	if err := u.s.conn.PauseExecutor(ctx, u.executor, until); err != nil && !errors.Is(err, bus.ErrNoExecutor) {
		u.log.Warn("the consumer of an MCP server is not paused or resumed yet", "error", err)
		return false
	}
	u.mu.Lock()
	u.shown, u.swept = until, 0
	u.mu.Unlock()
	if err := u.republish(ctx); err != nil {
		u.log.Warn("the catalogue of an MCP server does not show yet whether it is paused", "error", err)
		u.mu.Lock()
		u.shown = notShown
		u.mu.Unlock()
		return false
	}
	return true
}

// notShown is no pause that there could be: what the bus shows is not known.
var notShown = time.Time{}.Add(1) //nolint:gochecknoglobals // a constant

// sweep rings for the calls that were handed to the server and are not delivered while it is paused: they are answered.
func (u *upstream) sweep(ctx context.Context) {
	u.mu.Lock()
	from := u.swept
	u.mu.Unlock()
	if from == 0 {
		st, err := u.s.conn.ExecutorState(ctx, u.executor)
		if err != nil {
			return
		}
		from = st.Floor + 1
	}
	next, err := u.s.conn.Calls(ctx, u.executor, from, func(ev envelope.Event) { u.s.bells.again(u.s.spawn, ev) })
	if err != nil {
		u.log.Debug("calls of a paused server are answered later", "error", err)
	}
	u.mu.Lock()
	u.swept = next
	u.mu.Unlock()
}
