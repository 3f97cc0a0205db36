package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/loadtest/client"
	"github.com/jetclaw/jetclaw/loadtest/fakemcp"
	"github.com/jetclaw/jetclaw/loadtest/marker"
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
			s.people.write(working, n, s.f.span)
		}
		s.load.Go(s.people.wait)
	}
}

// talk is one sender; its sessions follow one another.
func (s *soaked) talk(ctx, working context.Context, i int) error {
	cl := s.d.client(1)
	defer cl.Close()
	rnd := rand.New(rand.NewPCG(s.f.seed, uint64(i)+2))
	for n := 0; working.Err() == nil; n++ {
		if n%s.f.perSession == 0 {
			s.begun.Add(1)
		}
		m := marker.New(s.run, i, n)
		msg := client.Message{Session: fmt.Sprintf("%s-%d-%d", s.run, i, n/s.f.perSession), Key: m, Text: m + " " + soakText(rnd, m)}
		if err := exchange(ctx, cl, msg, m); err != nil {
			return err
		}
		s.turns.Add(1)
		wait(working, s.f.pause)
	}
	return nil
}

// soakText is what people write: mostly a text, now and then something for a tool.
func soakText(rnd *rand.Rand, m string) string {
	switch at := rnd.Float64(); {
	case at < 0.1:
		return nowText
	case at < 0.2:
		return callPeer(fakemcp.Look, "text")(m)
	}
	return historyText(40 + rnd.IntN(400))
}

// park keeps some calls waiting for a person: when there is one more, the oldest is allowed.
func (s *soaked) park(ctx, working context.Context) error {
	cl := s.d.client(2)
	defer cl.Close()
	conn, err := s.d.Dial(ctx, "cli")
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	files := 2 * (s.f.parked + 1) // a call that waits is void when another one writes its file
	var waiting []parkedSession
	for n := 0; working.Err() == nil; n++ {
		p := parkedSession{path: parkedPath(n%files, files), marker: marker.New(s.run+"p", 0, n)}
		msg := client.Message{Session: fmt.Sprintf("%sp-%d", s.run, n), Key: p.marker, Text: p.marker + " " + parkedText(p.path)}
		if p.accepted, err = parkOne(ctx, cl, msg); err != nil {
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
		wait(working, parkRest)
	}
	for _, p := range waiting { // what still waited would be told as not delivered
		if err := allow(ctx, conn, cl, p); err != nil {
			return err
		}
	}
	return nil
}

// allow says yes to the one call of a session, and waits for the reply of its turn.
func allow(ctx context.Context, conn *bus.Conn, cl *client.Client, p parkedSession) error {
	l, err := listApprovals(ctx, conn, p.accepted.Session)
	if err != nil {
		return err
	}
	if len(l.Approvals) != 1 {
		return fmt.Errorf("%s has %d open approvals, want 1", p.accepted.Session, len(l.Approvals))
	}
	if _, err := decide(ctx, conn, decideRequest{Approval: l.Approvals[0].Approval, Decision: allowOnce}); err != nil {
		return fmt.Errorf("approve %s: %w", l.Approvals[0].Approval, err)
	}
	return finished(ctx, cl, p.accepted, p.marker)
}

// follow is an MCP client of jetclaw that is told of everything and looks at the conversations.
func (s *soaked) follow(ctx, working context.Context) error {
	x := &caller{binary: s.binary, home: s.home}
	c, err := x.overStdio(ctx)
	if err != nil {
		return err
	}
	defer c.server.Kill()
	var looked time.Time
	for working.Err() == nil {
		if time.Since(looked) > soakList {
			if _, err := call(ctx, c.ClientSession, listTool, arguments{"limit": soakListing}); err != nil {
				return errors.Join(err, c.end())
			}
			looked = time.Now()
		}
		if _, err := x.reach(ctx, c.ClientSession); err != nil {
			return errors.Join(err, c.end())
		}
		rss, err := c.server.RSS()
		if err != nil {
			return err
		}
		s.served.Store(rss)
		wait(working, soakPoll)
	}
	return c.end()
}
