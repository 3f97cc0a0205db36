package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/daemon"
	"github.com/jetclaw/jetclaw/loadtest/disk"
	"github.com/jetclaw/jetclaw/loadtest/fakemodel"
	"github.com/jetclaw/jetclaw/loadtest/judge"
	"github.com/jetclaw/jetclaw/loadtest/sink"
)

// killOptions of one run.
type killOptions struct {
	chance
	crowdOptions

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

// killCommand kills the daemon again and again and judges what is left.
func killCommand(ctx context.Context, args []string, p printer) error {
	fs := p.flags("kill")
	f := addBenchFlags(fs)
	var o killOptions
	fs.IntVar(&o.kills, "kills", 200, "how often the daemon is killed")
	finish := o.flags(fs)
	if err := parse(fs, args); err != nil {
		return err
	}
	if err := finish(); err != nil {
		return err
	}
	return tryKill(ctx, f, o, p, nil)
}

// flags are those that all ways to end a daemon share; what they say is checked by the function that is returned.
func (o *killOptions) flags(fs *flag.FlagSet) func() error {
	o.chance.add(fs, "instants, texts and delays", "0-500ms", "")
	o.crowdOptions.add(fs, 24, 20)
	fs.StringVar(&o.sync, "sync", "always", "bus.sync")
	fs.DurationVar(&o.maxUp, "max-up", 2*time.Second, "longest life after 8 turns are in flight; a few kills do not wait for them")
	fs.DurationVar(&o.drain, "drain", time.Minute, "for everything to come to rest after the last kill")
	fs.DurationVar(&o.settle, "settle", 12*time.Second, "shortest time between the last start and the end: deliveries to the dead come again within it")
	fs.BoolVar(&o.callback, "callback", true, "have replies pushed too, and count them")
	fs.StringVar(&o.mix, "mix", "plain", "plain: messages only; all: also stops, messages that steer and interrupt, a model that fails and its fallback,\n"+
		"and conversations that are summarised all the time; tools: tool calls, some of which may not be repeated;\n"+
		"mcp: the same, of an MCP server")
	return func() error {
		if roles[o.mix] == nil {
			return asUsage(fmt.Errorf("mix %q: want plain, all, tools or mcp", o.mix))
		}
		if o.kills < 1 || o.sessions < 1 || o.window < 1 || o.perSession < 1 || o.maxUp <= 0 {
			return asUsage(errors.New("kills, cuts, sessions, window, per-session and max-up are at least 1"))
		}
		return o.draw()
	}
}

// tryKill runs it and says whether it proves enough. prepare, if any, comes first.
func tryKill(ctx context.Context, f benchFlags, o killOptions, p printer, prepare func(context.Context, *bench) error) error {
	limit := time.Duration(o.kills)*(o.maxUp+flightPatience+readyTime) + o.drain + 3*time.Minute
	r, err := try(ctx, f, o.chance, limit, p, func(ctx context.Context, b *bench) (killReport, error) {
		if prepare != nil {
			if err := prepare(ctx, b); err != nil {
				return killReport{}, err
			}
		}
		return b.killRun(ctx, o)
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
func (k *killRun) settle(conf daemon.Config) (err error) {
	if k.o.power != nil {
		if k.disk, err = k.bench.disk(k.o.power, "kill"); err != nil {
			return err
		}
	}
	if k.o.clock != nil {
		if err := k.o.clock.begin(k.dir); err != nil {
			return err
		}
		conf.Env = []string{k.o.clock.clocks[0].Environ()}
	}
	if k.home, err = k.homeOf("kill", conf); err == nil && k.disk != nil {
		err = k.disk.Sync() // the configuration is older than any power failure
	}
	if err != nil && k.disk != nil {
		err = errors.Join(err, k.disk.Close())
	}
	return err
}

// undisturbed says whether no process is killed.
func (o killOptions) undisturbed() bool { return o.clock != nil || o.power != nil && o.power.full > 0 }

// killRun has the parts of one run.
type killRun struct {
	*bench
	o     killOptions
	rnd   *rand.Rand
	model *fakemodel.Server
	sink  *sink.Sink // nil without callbacks
	home  daemon.Home
	crowd *crowd
	life  []lifetime
	calls chan struct{} // tells that the model has asked for a tool; lossy; nil where it never does
	disk  *disk.Disk    // that the home is on; nil: that of this machine
	steps []clockStep   // of clocks
	full  []fullTime    // of the disk

	second *daemon.Process // beside the daemon, where clocks are stepped
}

func (b *bench) killRun(ctx context.Context, o killOptions) (r killReport, err error) {
	k := &killRun{bench: b, o: o, rnd: rand.New(rand.NewPCG(o.seed, 1))}
	conf, model := daemon.Config{Sync: o.sync}, fakemodel.Options{Delay: o.delay, Seed: o.seed}
	if callsTools(o.mix) {
		k.calls = make(chan struct{}, 1)
		model.OnCall = func() { tell(k.calls) }
	}
	if o.mix == mixMCP {
		argv, err := peerArgv("--ledger", k.ledgerFile())
		if err != nil {
			return r, err
		}
		conf.MCP = []daemon.MCPServer{{Name: peerName, Argv: argv}}
	}
	if o.mix == mixAll {
		conf.Fallback, conf.Context = fallbackModel, smallContext
		if model.Fail, err = fakemodel.ParsePlan(flakyPlan, o.seed); err != nil {
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
	d, err := b.start(ctx, k.home)
	if err != nil {
		return r, err
	}
	k.crowd = newCrowd(ctx, o.crowdOptions, o.seed, d.client(o.sessions*(o.window+2)), "k"+strconv.FormatUint(o.seed%(36*36*36*36), 36))
	switch {
	case o.clock != nil:
		err = k.stepping(ctx)
	case o.power != nil && o.power.full > 0:
		err = k.filling(ctx, d)
	default:
		d, err = k.killing(ctx, d)
	}
	k.crowd.stopSending()
	if err != nil {
		k.crowd.abort()
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
		if err := k.second.Stop(stopTime); err != nil {
			k.crowd.say(judge.Stuck, "", "the second process: %v", err)
		}
	}
	if err := d.Stop(stopTime); err != nil {
		k.crowd.say(judge.Stuck, "", "%v", err)
	}
	return k.judge(ctx, rested)
}

// killing kills and restarts; it returns the last daemon, ready and alive.
func (k *killRun) killing(ctx context.Context, d *running) (*running, error) {
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
			if p, err = daemon.Start(k.binary, k.home); err != nil {
				return nil, err
			}
			l.Started = p.Started
			k.life = append(k.life, l)
			wait(ctx, time.Duration(k.rnd.Float64()*float64(earlyTime)))
			if l, err = k.kill(p); err != nil {
				return nil, err
			}
			l.Early = true
			k.crowd.early.Add(1)
		}
		next, err := k.start(ctx, k.home)
		if err != nil {
			return nil, fmt.Errorf("after kill %d: %w", i+1, err)
		}
		d, p = next, next.Process
		l.Started, l.Ready = d.Started, d.Started.Add(d.ReadyAfter)
		k.life = append(k.life, l)
		if (i+1)%20 == 0 || i+1 == k.o.kills {
			k.p.note("%d kills, %d messages accepted, %d answered", i+1, k.crowd.accepted.Load(), k.crowd.answered.Load())
		}
	}
	return d, nil
}

func processOf(d *running) *daemon.Process {
	if d == nil {
		return nil
	}
	return d.Process
}

func (k *killRun) kill(p *daemon.Process) (lifetime, error) {
	open := k.model.OpenNow()
	l := lifetime{Open: open.All, Summaries: open.Summaries, Fallbacks: open.Models[fallbackModel]}
	l.Killed = time.Now()
	p.Kill()
	return l, k.cut(&l)
}

// rest waits until every sender has his reply and every reply is pushed, within the time to drain, and says how
// long that took. It returns when the doorbells have had their time too.
func (k *killRun) rest(ctx context.Context, notBefore time.Time) time.Duration {
	began := time.Now()
	deadline := began.Add(k.o.drain)
	k.crowd.finish(deadline)
	for k.sink != nil && time.Now().Before(deadline) && k.sink.Marked() < k.crowd.completed() {
		if !wait(ctx, 50*time.Millisecond) {
			break
		}
	}
	took := time.Since(began)
	if k.o.clock != nil { // what was put off by a clock that was set back comes when it is right again
		for _, c := range k.o.clock.clocks {
			if err := c.Set(0); err != nil {
				k.crowd.say(judge.Stuck, "", "%v", err)
			}
		}
		notBefore = time.Now().Add(k.o.settle)
	}
	// What comes after the last reply: receipts, acknowledgements, pushes too many.
	wait(ctx, max(time.Second, time.Until(notBefore)))
	return took
}
