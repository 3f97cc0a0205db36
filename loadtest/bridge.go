package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/client"
	"github.com/jetclaw/jetclaw/loadtest/daemon"
	"github.com/jetclaw/jetclaw/loadtest/fakemodel"
	"github.com/jetclaw/jetclaw/loadtest/result"
)

// bridgeFlags are those of the command bridge.
type bridgeFlags struct {
	measureFlags

	sessions int
	messages int
	waits    int
	waiters  int
	starts   int
	crowd    int
	events   int
	unread   int
	catchUp  int
	calm     time.Duration
}

func parseBridge(args []string, p printer) (bridgeFlags, error) {
	fs := p.flags("bridge")
	var f bridgeFlags
	f.add(fs, timing{warmup: 300 * time.Millisecond, duration: 1500 * time.Millisecond}, ". 0: no calls and no waits are measured")
	fs.IntVar(&f.sessions, "sessions", 10_000, "that the journal has")
	fs.IntVar(&f.messages, "messages", 2, "of each, and as many answers")
	fs.IntVar(&f.waits, "waits", 100, "events that one client waits for, in a round; many clients wait for a tenth of that. 0: none")
	fs.IntVar(&f.waiters, "waiters", 200, "that wait for the same event")
	fs.IntVar(&f.starts, "starts", 5, "of the server; 0: none")
	fs.IntVar(&f.crowd, "crowd", 1000, "sessions that are open over HTTP at the same time; 0: none")
	fs.IntVar(&f.events, "events", 10_000, "that happen while clients read nothing; 0: none")
	fs.IntVar(&f.unread, "unread", 20, "pages of events that each of those clients has asked for before")
	fs.IntVar(&f.catchUp, "catch-up", 300, "messages after the daemon was killed, that a client must be told of; 0: none")
	fs.DurationVar(&f.calm, "calm", 3*time.Second, "until memory at rest is read")
	if err := parse(fs, args); err != nil {
		return f, err
	}
	switch {
	case f.sessions < 1 || f.messages < 1 || f.timing.duration <= 0 || f.timing.warmup < 0 || f.rounds < 0 || f.starts < 0:
		return f, asUsage(errors.New("sessions, messages and duration are at least 1, rounds, warmup and starts are not negative"))
	case f.waits < 0 || f.events < 0 || f.unread < 0 || f.unread > mostWaiters || f.catchUp < 0 || f.calm < 0:
		return f, asUsage(errors.New("waits, events, unread, catch-up and calm are not negative, and unread is at most 250"))
	case f.waiters < 1 || f.waiters > mostWaiters || f.crowd < 0 || f.crowd > mostSessions:
		return f, asUsage(fmt.Errorf("waiters are between 1 and %d, crowd at most %d: so many the server takes", mostWaiters, mostSessions))
	}
	return f, nil
}

// mostWaiters is a bound of the server: requests of one client over stdio.
const mostWaiters = 250

// bridgeReport is what --json prints. Durations are in nanoseconds, memory in bytes; fields are only added.
type bridgeReport struct {
	Sessions int             `json:"sessions"`
	Rounds   int             `json:"rounds"`
	Calls    []bridgeCall    `json:"calls,omitempty"`
	Waits    []bridgeWait    `json:"waits,omitempty"`
	Start    *bridgeStart    `json:"start,omitempty"`
	RSS      int64           `json:"rss_after_load_bytes,omitempty"` // of the server over stdio, at rest after all calls and waits
	Crowd    *bridgeCrowd    `json:"crowd,omitempty"`
	Mute     []bridgeMute    `json:"mute,omitempty"`
	CatchUp  *bridgeCatchUp  `json:"catch_up,omitempty"`
	Goals    []result.Figure `json:"goals"`
}

// bridgeCommand measures what MCP clients of jetclaw get, and what they cost.
func bridgeCommand(ctx context.Context, args []string, p printer) error {
	f, err := parseBridge(args, p)
	if err != nil {
		return err
	}
	return measured(ctx, f.bench, f.strict, p, func(ctx context.Context, b *bench) (bridgeReport, error) { return b.bridge(ctx, f) })
}

// bridged is a daemon whose conversations are served.
type bridged struct {
	*bench
	f     bridgeFlags
	home  daemon.Home
	d     *running // another one after a kill
	cl    *client.Client
	mcp   *caller
	waits []waited
}

const (
	longSession  = "long"
	longMessages = 15 // of it, so that it has more than a page of messages
)

func (b *bench) bridge(ctx context.Context, f bridgeFlags) (r bridgeReport, err error) {
	m, err := fakemodel.Start("127.0.0.1:0", fakemodel.Options{})
	if err != nil {
		return r, err
	}
	defer m.Close()
	x := &bridged{bench: b, f: f}
	if x.home, err = b.home("bridge", "interval", m.URL()); err != nil {
		return r, err
	}
	if x.d, err = b.start(ctx, x.home); err != nil {
		return r, err
	}
	defer func() { x.d.Kill() }()
	x.mcp = &caller{binary: b.binary, home: x.home}
	x.cl = x.d.client(fillParallel + 1)
	defer x.cl.Close()
	r.Sessions, r.Rounds = f.sessions, f.rounds
	if err := x.run(ctx, &r); err != nil {
		return r, fmt.Errorf("%w\n%s\n%s", err, logTail(x.home.LogFile()), logTail(x.home.ServeLog()))
	}
	if err := x.d.Stop(stopTime); err != nil {
		return r, fmt.Errorf("%w\n%s", err, logTail(x.home.LogFile()))
	}
	if len(x.waits) > 0 {
		journal, err := journalOf(ctx, x.home.Data())
		if err != nil {
			return r, err
		}
		if r.Waits, err = waitsOf(x.waits, journal); err != nil {
			return r, err
		}
	}
	if !b.keep {
		_ = os.RemoveAll(x.home.Dir)
	}
	r.goals()
	return r, nil
}

func (x *bridged) run(ctx context.Context, r *bridgeReport) error {
	x.p.note("filling a home with %d sessions of %d messages each", x.f.sessions, x.f.messages)
	for _, f := range []filling{
		{Run: "l", Sessions: []string{longSession}, Each: longMessages, Parallel: 1, Text: historyText(120)},
		{Run: "b", Sessions: names("talk", x.f.sessions), Each: x.f.messages, Parallel: min(fillParallel, x.f.sessions), Text: historyText(120)},
	} {
		if err := f.fill(ctx, x.cl); err != nil {
			return err
		}
	}
	for _, part := range []struct {
		wanted bool
		name   string
		do     func(context.Context, *bridgeReport) error
	}{
		{x.f.starts > 0, "starts", x.starts},
		{x.f.rounds > 0, "load", x.load},
		{x.f.crowd > 0, "open sessions", x.crowd},
		{x.f.events > 0, "clients that read nothing", x.mutes},
		{x.f.catchUp > 0, "catching up", x.catchUp},
	} {
		if !part.wanted {
			continue
		}
		if err := part.do(ctx, r); err != nil {
			return fmt.Errorf("%s: %w", part.name, err)
		}
	}
	return nil
}
