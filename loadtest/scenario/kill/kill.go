// Package kill ends a daemon under load in whatever way (kill), cuts the power of its disk or fills that (power), or steps the clocks of two
// processes (clock), and judges what is left: is anything lost, doubled, out of order or stuck?
package kill

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/bench"
	"github.com/jetclaw/jetclaw/loadtest/bench/console"
	"github.com/jetclaw/jetclaw/loadtest/bench/pace"
	"github.com/jetclaw/jetclaw/loadtest/bench/trial"
	"github.com/jetclaw/jetclaw/loadtest/fake/fakemodel"
	"github.com/jetclaw/jetclaw/loadtest/fake/peer"
	"github.com/jetclaw/jetclaw/loadtest/fake/sink"
	"github.com/jetclaw/jetclaw/loadtest/fault/disk"
	"github.com/jetclaw/jetclaw/loadtest/judge"
	"github.com/jetclaw/jetclaw/loadtest/product/daemon"
	"github.com/jetclaw/jetclaw/loadtest/user/crowd"
)

// options of one run.
type options struct {
	trial.Chance
	crowd.Options

	kills    int
	sync     string
	maxUp    time.Duration
	drain    time.Duration
	settle   time.Duration
	callback bool
	power    *powerOptions // nil: the disk survives
	clock    *clockOptions // not nil: nobody is killed, clocks are stepped
}

const (
	earlyShare = 0.04 // of the kills come while the daemon starts
	inFlight   = 8    // turns that a kill should interrupt
	flightGoal = 0.9  // of the kills do

	flightKills    = 50                   // fewer are too few for a share to mean anything
	anywhereShare  = 0.06                 // of the kills do not wait for turns in flight
	stopKills      = 0.2                  // of the others come with a stop, where there are any: it is carried out too soon to be met by chance
	stopSpan       = 4 * time.Millisecond // after it was sent
	stopWait       = 3 * time.Second
	callKills      = 0.5                  // of all come when the model has just asked for a tool, where it does
	callSpan       = 8 * time.Millisecond // after its answer
	flightPatience = 10 * time.Second
	flightPoll     = 5 * time.Millisecond
)

// Command kills the daemon again and again and judges what is left.
func Command(ctx context.Context, args []string, p console.Printer) error {
	fs := p.Flags("kill")
	f := bench.AddFlags(fs)
	var o options
	fs.IntVar(&o.kills, "kills", 200, "how often the daemon is killed")
	finish := o.flags(fs)
	if err := console.Parse(fs, args); err != nil {
		return err
	}
	if err := finish(); err != nil {
		return err
	}
	return tryKill(ctx, f, o, p, nil)
}

// flags are those that all ways to end a daemon share; what they say is checked by the function that is returned.
func (o *options) flags(fs *flag.FlagSet) func() error {
	o.Chance.Add(fs, "instants, texts and delays", "0-500ms", "")
	o.Options.Add(fs, 24, 20)
	fs.StringVar(&o.sync, "sync", "always", "bus.sync")
	fs.DurationVar(&o.maxUp, "max-up", 2*time.Second, "longest life after 8 turns are in flight; a few kills do not wait for them")
	fs.DurationVar(&o.drain, "drain", time.Minute, "for everything to come to rest after the last kill")
	fs.DurationVar(&o.settle, "settle", 12*time.Second, "shortest time between the last start and the end: deliveries to the dead come again within it")
	fs.BoolVar(&o.callback, "callback", true, "have replies pushed too, and count them")
	fs.StringVar(&o.Mix, "mix", "plain", "plain: messages only; all: also stops, messages that steer and interrupt, a model that fails and its fallback,\n"+
		"and conversations that are summarised all the time; tools: tool calls, some of which may not be repeated;\n"+
		"mcp: the same, of an MCP server")
	return func() error {
		if !crowd.Mixed(o.Mix) {
			return console.Usage(fmt.Errorf("mix %q: want plain, all, tools or mcp", o.Mix))
		}
		if o.kills < 1 || o.Sessions < 1 || o.Window < 1 || o.PerSession < 1 || o.maxUp <= 0 {
			return console.Usage(errors.New("kills, cuts, sessions, window, per-session and max-up are at least 1"))
		}
		return o.Draw()
	}
}

// tryKill runs it and says whether it proves enough. prepare, if any, comes first.
func tryKill(ctx context.Context, f bench.Flags, o options, p console.Printer, prepare func(context.Context, *bench.Bench) error) error {
	limit := time.Duration(o.kills)*(o.maxUp+flightPatience+bench.ReadyTime) + o.drain + 3*time.Minute
	r, err := trial.Try(ctx, f, o.Chance, limit, p, func(ctx context.Context, b *bench.Bench) (report, error) {
		if prepare != nil {
			if err := prepare(ctx, b); err != nil {
				return report{}, err
			}
		}
		return attempt(ctx, b, o)
	})
	if err != nil || o.undisturbed() { // nobody was killed
		return err
	}
	if err := r.Mix.missing(); err != nil && o.kills >= flightKills {
		return err
	}
	if r.FlightShare < flightGoal && o.kills >= flightKills {
		return fmt.Errorf("only %.0f %% of the kills met %d turns in flight, want %.0f %%: the run proves too little",
			100*r.FlightShare, inFlight, 100*flightGoal)
	}
	return nil
}

// settle makes the home, on a disk and with clocks of its own where those are what is tried.
func (k *run) settle(conf daemon.Config) (err error) {
	if k.o.power != nil {
		if k.disk, err = mount(k.Bench, k.o.power, "kill"); err != nil {
			return err
		}
	}
	if k.o.clock != nil {
		if err := k.o.clock.begin(k.Dir); err != nil {
			return err
		}
		conf.Env = []string{k.o.clock.clocks[0].Environ()}
	}
	if k.home, err = k.HomeOf("kill", conf); err == nil && k.disk != nil {
		err = k.disk.Sync() // the configuration is older than any power failure
	}
	if err != nil && k.disk != nil {
		err = errors.Join(err, k.disk.Close())
	}
	return err
}

// undisturbed says whether no process is killed.
func (o options) undisturbed() bool { return o.clock != nil || o.power != nil && o.power.full > 0 }

// run has the parts of one run.
type run struct {
	*bench.Bench
	o     options
	rnd   *rand.Rand
	model *fakemodel.Server
	sink  *sink.Sink // nil without callbacks
	home  daemon.Home
	crowd *crowd.Crowd
	life  []trial.Life
	early int64         // kills while it started
	calls chan struct{} // tells that the model has asked for a tool; lossy; nil where it never does
	disk  *disk.Disk    // that the home is on; nil: that of this machine
	steps []clockStep   // of clocks
	full  []fullTime    // of the disk

	second *daemon.Process // beside the daemon, where clocks are stepped
}

func attempt(ctx context.Context, b *bench.Bench, o options) (r report, err error) {
	k := &run{Bench: b, o: o, rnd: rand.New(rand.NewPCG(o.Seed, 1))}
	conf, model := daemon.Config{Sync: o.sync}, fakemodel.Options{Delay: o.Delay, Seed: o.Seed}
	if callsTools(o.Mix) {
		k.calls = make(chan struct{}, 1)
		model.OnCall = func() { pace.Tell(k.calls) }
	}
	if o.Mix == crowd.MixMCP {
		argv, err := peer.Argv("--ledger", k.ledgerFile())
		if err != nil {
			return r, err
		}
		conf.MCP = []daemon.MCPServer{{Name: peer.Name, Argv: argv}}
	}
	if o.Mix == crowd.MixAll {
		conf.Fallback, conf.Context = crowd.FallbackModel, crowd.SmallContext
		if model.Fail, err = fakemodel.ParsePlan(crowd.FlakyPlan, o.Seed); err != nil {
			return r, err
		}
	}
	if k.model, err = fakemodel.Start("127.0.0.1:0", model); err != nil {
		return r, err
	}
	defer k.model.Close()
	if o.callback {
		if k.sink, err = sink.Start("127.0.0.1:0"); err != nil {
			return r, err
		}
		defer k.sink.Close()
		conf.Callback = k.sink.URL()
	}
	conf.ModelURL = k.model.URL()
	if err := k.settle(conf); err != nil {
		return r, err
	}
	if k.disk != nil {
		defer func() { err = errors.Join(err, k.disk.Close()) }()
	}
	d, err := b.Start(ctx, k.home)
	if err != nil {
		return r, err
	}
	k.crowd = crowd.New(ctx, o.Options, o.Seed, d.Client(o.Sessions*(o.Window+2)), "k"+strconv.FormatUint(o.Seed%(36*36*36*36), 36))
	switch {
	case o.clock != nil:
		err = k.stepping(ctx)
	case o.power != nil && o.power.full > 0:
		err = k.filling(ctx, d)
	default:
		d, err = k.killing(ctx, d)
	}
	k.crowd.StopSending()
	if err != nil {
		k.crowd.Abort()
		for _, p := range []*daemon.Process{k.second, processOf(d)} {
			if p != nil {
				p.Kill()
			}
		}
		return r, err
	}
	defer d.Kill()
	rested := k.rest(ctx, d.Started.Add(k.o.settle))
	if k.second != nil {
		if err := k.second.Stop(bench.StopTime); err != nil {
			k.crowd.Say(judge.Stuck, "", "the second process: %v", err)
		}
	}
	if err := d.Stop(bench.StopTime); err != nil {
		k.crowd.Say(judge.Stuck, "", "%v", err)
	}
	return k.judge(ctx, rested)
}

// killing kills and restarts; it returns the last daemon, ready and alive.
func (k *run) killing(ctx context.Context, d *bench.Running) (*bench.Running, error) {
	p := d.Process
	for i := range k.o.kills {
		if !k.live(ctx) {
			p.Kill()
			return nil, context.Cause(ctx)
		}
		l, err := k.kill(p)
		if err != nil {
			return nil, err
		}
		if k.rnd.Float64() < earlyShare {
			if p, err = daemon.Start(k.Binary, k.home); err != nil {
				return nil, err
			}
			l.Started = p.Started
			k.life = append(k.life, l)
			pace.Wait(ctx, time.Duration(k.rnd.Float64()*float64(trial.EarlyTime)))
			if l, err = k.kill(p); err != nil {
				return nil, err
			}
			l.Early = true
			k.early++
		}
		next, err := k.Start(ctx, k.home)
		if err != nil {
			return nil, fmt.Errorf("after kill %d: %w", i+1, err)
		}
		d, p = next, next.Process
		l.Started, l.Ready = d.Started, d.Started.Add(d.ReadyAfter)
		k.life = append(k.life, l)
		if (i+1)%20 == 0 || i+1 == k.o.kills {
			k.P.Note("%d kills, %d messages accepted, %d answered", i+1, k.crowd.Accepted.Load(), k.crowd.Answered.Load())
		}
	}
	return d, nil
}

func processOf(d *bench.Running) *daemon.Process {
	if d == nil {
		return nil
	}
	return d.Process
}

func (k *run) kill(p *daemon.Process) (trial.Life, error) {
	open := k.model.OpenNow()
	l := trial.Life{Open: open.All, Summaries: open.Summaries, Fallbacks: open.Models[crowd.FallbackModel]}
	l.Killed = time.Now()
	p.Kill()
	return l, k.cut(&l)
}

// rest waits until every sender has his reply and every reply is pushed, within the time to drain, and says how
// long that took. It returns when the doorbells have had their time too.
func (k *run) rest(ctx context.Context, notBefore time.Time) time.Duration {
	began := time.Now()
	deadline := began.Add(k.o.drain)
	k.crowd.Finish(deadline)
	for k.sink != nil && time.Now().Before(deadline) && k.sink.Marked() < k.crowd.Completed() {
		if !pace.Wait(ctx, 50*time.Millisecond) {
			break
		}
	}
	took := time.Since(began)
	if k.o.clock != nil { // what was put off by a clock that was set back comes when it is right again
		for _, c := range k.o.clock.clocks {
			if err := c.Set(0); err != nil {
				k.crowd.Say(judge.Stuck, "", "%v", err)
			}
		}
		notBefore = time.Now().Add(k.o.settle)
	}
	// What comes after the last reply: receipts, acknowledgements, pushes too many.
	pace.Wait(ctx, max(time.Second, time.Until(notBefore)))
	return took
}
