package soak

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/loadtest/bench/pace"
	"github.com/jetclaw/jetclaw/loadtest/fake/fakemcp"
	"github.com/jetclaw/jetclaw/loadtest/user/approval"
	"github.com/jetclaw/jetclaw/loadtest/user/caller"
	"github.com/jetclaw/jetclaw/loadtest/user/client"
	"github.com/jetclaw/jetclaw/loadtest/user/crowd"
	"github.com/jetclaw/jetclaw/loadtest/user/exchange"
	"github.com/jetclaw/jetclaw/loadtest/user/marker"
)

const (
	soakList    = 10 * time.Second // between two looks of the MCP client at the conversations
	soakListing = 50
	soakPoll    = time.Second
	parkRest    = time.Second // between two parked calls
)

// drive starts everybody who works. working ends when nothing new is to begin; ctx when all has to end. Whoever is disappointed
// ends ctx.
func (s *soaked) drive(ctx, working context.Context, fail context.CancelCauseFunc) {
	each := func(what string, do func(ctx, working context.Context) error) {
		s.load.Go(func() {
			if err := do(ctx, working); err != nil && ctx.Err() == nil {
				fail(fmt.Errorf("%s: %w", what, err))
			}
		})
	}
	for i := range s.f.sessions {
		each("talk", func(ctx, working context.Context) error { return s.talk(ctx, working, i) })
	}
	if s.f.parked > 0 {
		each("parked calls", s.park)
	}
	if s.f.bridge {
		each("MCP client", s.follow)
	}
	if s.people != nil {
		if n := int(s.f.updates * s.f.span.Seconds()); n > 0 {
			s.people.Write(working, n, s.f.span)
		}
		s.load.Go(s.people.Wait)
	}
}

// talk is one sender; its sessions follow one another.
func (s *soaked) talk(ctx, working context.Context, i int) error {
	cl := s.d.Client(1)
	defer cl.Close()
	rnd := rand.New(rand.NewPCG(s.f.Seed, uint64(i)+2))
	for n := 0; working.Err() == nil; n++ {
		if n%s.f.perSession == 0 {
			s.begun.Add(1)
		}
		m := marker.New(s.run, i, n)
		msg := client.Message{Session: fmt.Sprintf("%s-%d-%d", s.run, i, n/s.f.perSession), Key: m, Text: m + " " + soakText(rnd, m)}
		if err := exchange.One(ctx, cl, msg, m); err != nil {
			return err
		}
		s.turns.Add(1)
		pace.Wait(working, s.f.pause)
	}
	return nil
}

// soakText is what people write: mostly a text, now and then something for a tool.
func soakText(rnd *rand.Rand, m string) string {
	switch at := rnd.Float64(); {
	case at < 0.1:
		return exchange.NowText
	case at < 0.2:
		return crowd.CallPeer(fakemcp.Look, "text")(m)
	}
	return exchange.HistoryText(40 + rnd.IntN(400))
}

// park keeps some calls waiting for a person: when there is one more, the oldest is allowed.
func (s *soaked) park(ctx, working context.Context) error {
	cl := s.d.Client(2)
	defer cl.Close()
	conn, err := s.d.Dial(ctx, "cli")
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	files := 2 * (s.f.parked + 1) // a call that waits is void when another one writes its file
	var waiting []approval.Parked
	for n := 0; working.Err() == nil; n++ {
		p := approval.Parked{Path: approval.Path(n%files, files), Marker: marker.New(s.run+"p", 0, n)}
		msg := client.Message{Session: fmt.Sprintf("%sp-%d", s.run, n), Key: p.Marker, Text: p.Marker + " " + approval.Text(p.Path)}
		if p.Accepted, err = approval.Park(ctx, cl, msg); err != nil {
			return err
		}
		s.begun.Add(1)
		if waiting = append(waiting, p); len(waiting) > s.f.parked {
			if err := allow(ctx, conn, cl, waiting[0]); err != nil {
				return err
			}
			s.turns.Add(1)
			waiting = waiting[1:]
		}
		pace.Wait(working, parkRest)
	}
	for _, p := range waiting { // what still waited would be told as not delivered
		if err := allow(ctx, conn, cl, p); err != nil {
			return err
		}
	}
	return nil
}

// allow says yes to the one call of a session, and waits for the reply of its turn.
func allow(ctx context.Context, conn *bus.Conn, cl *client.Client, p approval.Parked) error {
	id, err := approval.One(ctx, conn, p.Accepted.Session)
	if err != nil {
		return err
	}
	if _, err := approval.Decide(ctx, conn, approval.Request{Approval: id, Decision: approval.AllowOnce}); err != nil {
		return fmt.Errorf("approve %s: %w", id, err)
	}
	return approval.Finished(ctx, cl, p.Accepted, p.Marker)
}

// follow is an MCP client of jetclaw that is told of everything and looks at the conversations.
func (s *soaked) follow(ctx, working context.Context) error {
	x := &caller.Caller{Binary: s.Binary, Home: s.home}
	c, err := x.OverStdio(ctx)
	if err != nil {
		return err
	}
	defer c.Server.Kill()
	var looked time.Time
	for working.Err() == nil {
		if time.Since(looked) > soakList {
			if _, err := caller.Call(ctx, c.ClientSession, caller.ListTool, caller.Arguments{"limit": soakListing}); err != nil {
				return errors.Join(err, c.End())
			}
			looked = time.Now()
		}
		if _, err := x.Reach(ctx, c.ClientSession); err != nil {
			return errors.Join(err, c.End())
		}
		rss, err := c.Server.RSS()
		if err != nil {
			return err
		}
		s.served.Store(rss)
		pace.Wait(working, soakPoll)
	}
	return c.End()
}
