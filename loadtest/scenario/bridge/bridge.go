// Package bridge measures what MCP clients of jetclaw get: calls and waiting for events, beside a bare server of the SDK; start, memory, many
// sessions, clients that read nothing; and whether a client is told everything once after the daemon was killed.
package bridge

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/bench"
	"github.com/jetclaw/jetclaw/loadtest/bench/console"
	"github.com/jetclaw/jetclaw/loadtest/fake/fakemodel"
	"github.com/jetclaw/jetclaw/loadtest/figure/result"
	"github.com/jetclaw/jetclaw/loadtest/product/daemon"
	"github.com/jetclaw/jetclaw/loadtest/product/store"
	"github.com/jetclaw/jetclaw/loadtest/user/caller"
	"github.com/jetclaw/jetclaw/loadtest/user/client"
	"github.com/jetclaw/jetclaw/loadtest/user/exchange"
)

// flags are those of the command bridge.
type flags struct {
	bench.MeasureFlags

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

func parseBridge(args []string, p console.Printer) (flags, error) {
	fs := p.Flags("bridge")
	var f flags
	f.Add(fs, bench.Timing{Warmup: 300 * time.Millisecond, Duration: 1500 * time.Millisecond}, ". 0: no calls and no waits are measured")
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
	if err := console.Parse(fs, args); err != nil {
		return f, err
	}
	switch {
	case f.sessions < 1 || f.messages < 1 || f.Timing.Duration <= 0 || f.Timing.Warmup < 0 || f.Rounds < 0 || f.starts < 0:
		return f, console.Usage(errors.New("sessions, messages and duration are at least 1, rounds, warmup and starts are not negative"))
	case f.waits < 0 || f.events < 0 || f.unread < 0 || f.unread > mostWaiters || f.catchUp < 0 || f.calm < 0:
		return f, console.Usage(errors.New("waits, events, unread, catch-up and calm are not negative, and unread is at most 250"))
	case f.waiters < 1 || f.waiters > mostWaiters || f.crowd < 0 || f.crowd > caller.MostSessions:
		return f, console.Usage(fmt.Errorf("waiters are between 1 and %d, crowd at most %d: so many the server takes", mostWaiters, caller.MostSessions))
	}
	return f, nil
}

// mostWaiters is a bound of the server: requests of one client over stdio.
const mostWaiters = 250

// report is what --json prints. Durations are in nanoseconds, memory in bytes; fields are only added.
type report struct {
	Sessions int             `json:"sessions"`
	Rounds   int             `json:"rounds"`
	Calls    []callCost      `json:"calls,omitempty"`
	Waits    []waitCost      `json:"waits,omitempty"`
	Start    *startCost      `json:"start,omitempty"`
	RSS      int64           `json:"rss_after_load_bytes,omitempty"` // of the server over stdio, at rest after all calls and waits
	Crowd    *crowded        `json:"crowd,omitempty"`
	Mute     []muteCost      `json:"mute,omitempty"`
	CatchUp  *caughtUp       `json:"catch_up,omitempty"`
	Goals    []result.Figure `json:"goals"`
}

// Command measures what MCP clients of jetclaw get, and what they cost.
func Command(ctx context.Context, args []string, p console.Printer) error {
	f, err := parseBridge(args, p)
	if err != nil {
		return err
	}
	return bench.Measured(ctx, f.Bench, f.Strict, p, func(ctx context.Context, b *bench.Bench) (report, error) { return measure(ctx, b, f) })
}

// bridged is a daemon whose conversations are served.
type bridged struct {
	*bench.Bench
	f     flags
	home  daemon.Home
	d     *bench.Running // another one after a kill
	cl    *client.Client
	mcp   *caller.Caller
	waits []waited
}

const (
	longSession  = "long"
	longMessages = 15 // of it, so that it has more than a page of messages
)

func measure(ctx context.Context, b *bench.Bench, f flags) (r report, err error) {
	m, err := fakemodel.Start("127.0.0.1:0", fakemodel.Options{})
	if err != nil {
		return r, err
	}
	defer m.Close()
	x := &bridged{Bench: b, f: f}
	if x.home, err = b.Home("bridge", "interval", m.URL()); err != nil {
		return r, err
	}
	if x.d, err = b.Start(ctx, x.home); err != nil {
		return r, err
	}
	defer func() { x.d.Kill() }()
	x.mcp = &caller.Caller{Binary: b.Binary, Home: x.home}
	x.cl = x.d.Client(exchange.FillParallel + 1)
	defer x.cl.Close()
	r.Sessions, r.Rounds = f.sessions, f.Rounds
	if err := x.run(ctx, &r); err != nil {
		return r, fmt.Errorf("%w\n%s\n%s", err, daemon.LogTail(x.home.LogFile()), daemon.LogTail(x.home.ServeLog()))
	}
	if err := x.d.Stop(bench.StopTime); err != nil {
		return r, fmt.Errorf("%w\n%s", err, daemon.LogTail(x.home.LogFile()))
	}
	if len(x.waits) > 0 {
		journal, err := store.ReadJournal(ctx, x.home.Data())
		if err != nil {
			return r, err
		}
		if r.Waits, err = waitsOf(x.waits, journal); err != nil {
			return r, err
		}
	}
	if !b.Keep {
		_ = os.RemoveAll(x.home.Dir)
	}
	r.goals()
	return r, nil
}

func (x *bridged) run(ctx context.Context, r *report) error {
	x.P.Note("filling a home with %d sessions of %d messages each", x.f.sessions, x.f.messages)
	for _, f := range []exchange.Filling{
		{Run: "l", Sessions: []string{longSession}, Each: longMessages, Parallel: 1, Text: exchange.HistoryText(120)},
		{
			Run: "b", Sessions: exchange.Names("talk", x.f.sessions), Each: x.f.messages, Parallel: min(exchange.FillParallel, x.f.sessions),
			Text: exchange.HistoryText(120),
		},
	} {
		if err := f.Fill(ctx, x.cl); err != nil {
			return err
		}
	}
	for _, part := range []struct {
		wanted bool
		name   string
		do     func(context.Context, *report) error
	}{
		{x.f.starts > 0, "starts", x.starts},
		{x.f.Rounds > 0, "load", x.load},
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
