// Package soak has a daemon work steadily for long, with work of all kinds: does anything in it grow without end?
package soak

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/bench"
	"github.com/jetclaw/jetclaw/loadtest/bench/console"
	"github.com/jetclaw/jetclaw/loadtest/bench/pace"
	"github.com/jetclaw/jetclaw/loadtest/bench/recheck"
	"github.com/jetclaw/jetclaw/loadtest/bench/trial"
	"github.com/jetclaw/jetclaw/loadtest/fake/fakemodel"
	"github.com/jetclaw/jetclaw/loadtest/fake/faketelegram"
	"github.com/jetclaw/jetclaw/loadtest/fake/peer"
	"github.com/jetclaw/jetclaw/loadtest/figure/result"
	"github.com/jetclaw/jetclaw/loadtest/product/daemon"
	"github.com/jetclaw/jetclaw/loadtest/product/store"
	"github.com/jetclaw/jetclaw/loadtest/user/approval"
	"github.com/jetclaw/jetclaw/loadtest/user/people"
)

// flags are those of the command soak.
type flags struct {
	trial.Chance

	bench      bench.Flags
	span       time.Duration
	every      time.Duration
	warmup     float64
	sessions   int
	perSession int
	pause      time.Duration
	chats      int
	updates    float64
	parked     int
	bridge     bool
	sync       string
}

const (
	soakReadings = 20 // after the warm-up: fewer say nothing of a slope
	soakRest     = time.Minute
)

func parseSoak(args []string, p console.Printer) (flags, error) {
	fs := p.Flags("soak")
	f := flags{bench: bench.AddFlags(fs)}
	fs.DurationVar(&f.span, "for", time.Hour, "how long people write")
	fs.DurationVar(&f.every, "every", 0, "between two readings; 0: a 240th of --for, and a second at the least")
	fs.Float64Var(&f.warmup, "warmup", 0.25, "share of the time that counts for no slope: caches fill, pools and heaps find their size")
	fs.IntVar(&f.sessions, "sessions", 8, "that talk over HTTP at the same time: plain turns, the tool now, a tool of an MCP server")
	fs.IntVar(&f.perSession, "per-session", 20, "messages until a session is replaced by a new one")
	fs.DurationVar(&f.pause, "pause", 200*time.Millisecond, "of each of them between an answer and the next message")
	fs.IntVar(&f.chats, "chats", 20, "of a fake Telegram; 0: none")
	fs.Float64Var(&f.updates, "updates", 2, "of people in these chats, a second")
	fs.IntVar(&f.parked, "parked", 20,
		"calls that wait for a person all the time, each in a session of its own: when one more waits, the oldest is allowed. 0: none")
	fs.BoolVar(&f.bridge, "bridge", true, "an MCP client of jetclaw follows what happens, and lists the conversations")
	fs.StringVar(&f.sync, "sync", "interval", "bus.sync")
	f.Chance.Add(fs, "texts and delays", "20ms-120ms", "")
	if err := console.Parse(fs, args); err != nil {
		return f, err
	}
	if f.every == 0 {
		f.every = max(time.Second, f.span/240)
	}
	switch {
	case f.span <= 0 || f.every <= 0 || f.warmup < 0 || f.warmup >= 1:
		return f, console.Usage(errors.New("for and every are more than 0, warmup is a share below 1"))
	case (1-f.warmup)*float64(f.span/f.every) < soakReadings:
		return f, console.Usage(fmt.Errorf("a slope needs %d readings after the warm-up: choose --for longer, --every shorter", soakReadings))
	case f.sessions < 1 || f.perSession < 1 || f.pause < 0 || f.chats < 0 || f.updates < 0 || f.parked < 0:
		return f, console.Usage(errors.New("sessions and per-session are at least 1; pause, chats, updates and parked are not negative"))
	}
	return f, f.Draw()
}

// Command has a daemon work steadily for long, and looks whether anything in it grows without end.
func Command(ctx context.Context, args []string, p console.Printer) error {
	f, err := parseSoak(args, p)
	if err != nil {
		return err
	}
	p.Note("seed %d", f.Seed)
	return bench.Measured(ctx, f.bench, false, p, func(ctx context.Context, b *bench.Bench) (report, error) { return run(ctx, b, f) })
}

// soaked has the parts of one run.
type soaked struct {
	*bench.Bench
	f      flags
	run    string
	model  *fakemodel.Server
	fake   *faketelegram.Server // nil without chats
	people *people.People       // the same
	home   daemon.Home
	d      *bench.Running
	began  time.Time

	turns, begun atomic.Int64 // answered; sessions that have begun
	served       atomic.Int64 // memory of jetclaw mcp serve
	load         sync.WaitGroup
}

func run(ctx context.Context, b *bench.Bench, f flags) (r report, err error) {
	s := &soaked{Bench: b, f: f, run: "s" + people.Name(f.Seed)}
	if s.model, err = fakemodel.Start("127.0.0.1:0", fakemodel.Options{Delay: f.Delay, Seed: f.Seed}); err != nil {
		return r, err
	}
	defer s.model.Close()
	if err := s.prepare(ctx); err != nil {
		return r, err
	}
	if s.fake != nil {
		defer s.fake.Close()
	}
	if s.d, err = b.Start(ctx, s.home); err != nil {
		return r, err
	}
	defer s.d.Kill()
	if err := peer.Offered(ctx, s.Bench, s.home); err != nil {
		return r, err
	}
	r = report{Seed: f.Seed, For: f.span, Warmup: f.warmup}
	if r.Samples, err = s.steady(ctx); err != nil {
		return r, fmt.Errorf("%w\n%s", err, daemon.LogTail(s.home.LogFile()))
	}
	if err := s.d.Stop(bench.StopTime); err != nil {
		return r, fmt.Errorf("%w\n%s", err, daemon.LogTail(s.home.LogFile()))
	}
	journal, bells, err := store.Left(ctx, s.home.Data())
	if err != nil {
		return r, err
	}
	for _, x := range bells {
		r.Undelivered += int(x.Unsent) + x.Unacked
	}
	r.Replay = recheck.Journal(ctx, b, s.home)
	r.finish(len(journal))
	return r, nil
}

// prepare makes the home, with a bot, an MCP server, and files about which a person is asked.
func (s *soaked) prepare(ctx context.Context) error {
	argv, err := peer.Argv()
	if err != nil {
		return err
	}
	c := daemon.Config{Sync: s.f.sync, ModelURL: s.model.URL(), Ask: approval.AskPaths, MCP: []daemon.MCPServer{{Name: peer.Name, Argv: argv}}}
	if s.f.chats > 0 {
		if s.fake, err = faketelegram.Start(faketelegram.Options{}); err != nil {
			return err
		}
		if s.people, err = people.New(s.fake, s.run+"t", s.f.Seed, s.f.chats, s.f.chats/10); err != nil {
			return err
		}
		c.Telegram = &daemon.Telegram{Token: faketelegram.DefaultToken, APIRoot: s.fake.URL(), Groups: s.people.Groups()}
		s.begun.Add(int64(s.f.chats))
	}
	if s.home, err = s.HomeOf("soak", c); err != nil {
		return err
	}
	can, err := s.home.Monitors(ctx, s.Binary)
	if err != nil {
		return err
	}
	if !can {
		s.P.Note("this jetclaw serves no metrics: nothing is known of its heap and its goroutines")
		return nil
	}
	s.home.Monitor, err = daemon.FreeAddress()
	return err
}

// steady has everybody work while readings are taken, and waits until all is at rest.
func (s *soaked) steady(ctx context.Context) (all []sample, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	working, stop := context.WithTimeout(ctx, s.f.span)
	defer stop()
	s.began = time.Now()
	go func() {
		<-ctx.Done()
		stop()
	}()
	s.drive(ctx, working, cancel)
	tick := time.NewTicker(s.f.every)
	defer tick.Stop()
	for n := 1; working.Err() == nil; n++ {
		select {
		case <-tick.C:
		case <-working.Done():
			continue
		}
		x, err := s.look(ctx)
		if err != nil {
			cancel(err)
			break
		}
		all = append(all, x)
		if n%10 == 0 {
			s.P.Note("%s of %s: %d turns, %s, lag %d", time.Since(s.began).Round(time.Second), s.f.span, x.Turns, result.With(float64(x.RSS), "B"), x.Lag)
		}
	}
	s.load.Wait()
	if err := context.Cause(ctx); err != nil {
		return all, err
	}
	return all, s.rest(ctx)
}

// rest waits until nothing waits for anybody any more.
func (s *soaked) rest(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, soakRest, fmt.Errorf("not at rest within %s", soakRest))
	defer cancel()
	for {
		x, err := s.look(ctx)
		if err != nil {
			return err
		}
		if x.Lag == 0 && s.model.OpenNow().All == 0 && (s.fake == nil || s.fake.Report().Pending == 0) {
			return nil
		}
		if !pace.Wait(ctx, bench.RestPoll) {
			return fmt.Errorf("%w: lag %d, %d model calls open", context.Cause(ctx), x.Lag, s.model.OpenNow().All)
		}
	}
}
