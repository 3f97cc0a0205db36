// Package chaos runs three NATS servers and several processes of every service while people write and decide, has whatever go wrong that can,
// and judges everything that is left.
package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/loadtest/bench"
	"github.com/jetclaw/jetclaw/loadtest/bench/console"
	"github.com/jetclaw/jetclaw/loadtest/bench/trial"
	"github.com/jetclaw/jetclaw/loadtest/fake/fakemodel"
	"github.com/jetclaw/jetclaw/loadtest/fake/peer"
	"github.com/jetclaw/jetclaw/loadtest/fake/sink"
	"github.com/jetclaw/jetclaw/loadtest/product/cluster"
	"github.com/jetclaw/jetclaw/loadtest/product/daemon"
	"github.com/jetclaw/jetclaw/loadtest/user/crowd"
)

// options of one run.
type options struct {
	trial.Chance
	crowd.Options

	span   time.Duration
	sync   string
	nats   string // a built server; "": it is built
	each   int
	faults []string
	calm   bool
	most   int
	bound  time.Duration
}

const (
	chaosNodes = 3
	restBound  = 3 * time.Minute // for what is owed still when every session has answered: deliveries of the dead come again
)

// Command has things go wrong for a while, and judges.
func Command(ctx context.Context, args []string, p console.Printer) error {
	fs := p.Flags("chaos")
	f := bench.AddFlags(fs)
	o := options{Options: crowd.Options{Mix: crowd.MixChaos}}
	o.Chance.Add(fs, "faults, texts and delays", "0-500ms", "")
	o.Options.Add(fs, 20, 40)
	fs.StringVar(&o.nats, "nats-server", "", "a built nats-server; default: build the one of go.mod")
	fs.DurationVar(&o.span, "for", 30*time.Minute, "how long things go wrong")
	fs.StringVar(&o.sync, "sync", "interval", "of the NATS servers: always, or interval")
	fs.IntVar(&o.each, "each", 2, "processes of every service")
	which := fs.String("fault", "", "only these, with commas; default: all:\n"+strings.Join(faultNames(), ", "))
	fs.BoolVar(&o.calm, "calm", false, "nothing goes wrong: what a run with faults is to be compared with")
	fs.IntVar(&o.most, "most", 3, "faults at a time")
	fs.DurationVar(&o.bound, "bound", 2*time.Minute, "for every session to answer once more when all is well again")
	if err := console.Parse(fs, args); err != nil {
		return err
	}
	if *which != "" {
		o.faults = strings.Split(*which, ",")
	}
	for _, name := range o.faults {
		if !slices.Contains(faultNames(), name) {
			return console.Usage(fmt.Errorf("there is no fault %q: want some of %s", name, strings.Join(faultNames(), ", ")))
		}
	}
	if o.span <= 0 || o.Sessions < 1 || o.Window < 1 || o.PerSession < 1 || o.each < 1 || o.most < 1 {
		return console.Usage(errors.New("for, sessions, window, per-session, each and most are at least 1"))
	}
	if err := o.Draw(); err != nil {
		return err
	}
	limit := o.span + o.bound + restBound + 10*time.Minute
	_, err := trial.Try(ctx, f, o.Chance, limit, p, func(ctx context.Context, b *bench.Bench) (report, error) { return attempt(ctx, b, o) })
	return err
}

// run has the parts of one run.
type run struct {
	*bench.Bench
	o       options
	model   *fakemodel.Server
	sink    *sink.Sink
	cluster *cluster.Cluster
	admin   *bus.Conn // past all faults, to ask who leads
	crowd   *crowd.Crowd
	chats   *messengers
	deciders
}

func attempt(ctx context.Context, b *bench.Bench, o options) (r report, err error) {
	k := &run{Bench: b, o: o}
	nats, err := b.NATS(ctx, o.nats)
	if err != nil {
		return r, err
	}
	if k.model, err = fakemodel.Start("127.0.0.1:0", fakemodel.Options{Delay: o.Delay, Seed: o.Seed}); err != nil {
		return r, err
	}
	defer k.model.Close()
	if k.sink, err = sink.Start("127.0.0.1:0"); err != nil {
		return r, err
	}
	defer k.sink.Close()
	run := "x" + strconv.FormatUint(o.Seed%(36*36*36*36), 36)
	if k.chats, err = newMessengers(run, o.Seed, o.calm); err != nil {
		return r, err
	}
	defer k.chats.fake.Close()
	argv, err := peer.Argv("--ledger", k.ledgerFile())
	if err != nil {
		return r, err
	}
	k.cluster, err = cluster.Start(ctx, cluster.Options{
		Dir: filepath.Join(b.Dir, "cluster"), Binary: b.Binary, NATS: nats, Nodes: chaosNodes, Copies: chaosNodes, Services: cluster.Each(o.each),
		Config: daemon.Config{
			Sync: o.sync, ModelURL: k.model.URL(), Callback: k.sink.URL(), Ask: crowd.AskedFiles,
			Owners: append(k.chats.owners(), "local", "http:default"), Telegram: k.chats.config(),
			MCP: []daemon.MCPServer{{Name: peer.Name, Argv: argv}},
		},
	})
	if err != nil {
		return r, err
	}
	defer k.cluster.Close()
	if k.admin, err = k.cluster.Dial(ctx, bus.Admin); err != nil {
		return r, err
	}
	defer func() { _ = k.admin.Close(context.WithoutCancel(ctx)) }()
	doors, err := k.doors()
	if err != nil {
		return r, err
	}
	p := &parade{k: k, rnd: rand.New(rand.NewPCG(o.Seed, 1)), busy: map[string]bool{}}
	k.P.Note("%d NATS servers and %d processes run; %s of %s", len(k.cluster.Nodes), len(k.cluster.Services), o.span, what(o))
	k.crowd = crowd.New(ctx, o.Options, o.Seed, doors, run)
	var work sync.WaitGroup
	deciding, stop := context.WithCancel(ctx)
	work.Go(func() { k.decideAll(deciding, k, rand.New(rand.NewPCG(o.Seed, 1<<33))) })
	began := time.Now()
	writing, hush := context.WithDeadline(deciding, began.Add(o.span))
	defer hush()
	k.chats.write(deciding, writing, &k.deciders, run, o.span)
	defer func() {
		stop()
		work.Wait()
		k.chats.people.Wait()
		k.chats.work.Wait()
	}()
	err = p.run(ctx, began.Add(o.span))
	k.crowd.StopSending()
	hush()
	if err == nil {
		err = p.heal(ctx)
	}
	if err != nil {
		k.crowd.Abort()
		return r, err
	}
	healed := time.Now()
	k.finish(ctx, p, healed.Add(o.bound))
	answered := time.Since(healed)
	journal, rested := k.rest(ctx, p, healed)
	stop()
	work.Wait()
	k.chats.people.Wait()
	k.chats.work.Wait()
	return k.judge(ctx, p, journal, times{Began: began, Healed: healed, Answered: answered, Rested: rested})
}

func what(o options) string {
	switch {
	case o.calm:
		return "calm"
	case len(o.faults) > 0:
		return strings.Join(o.faults, ", ")
	}
	return "everything that can go wrong"
}

func (k *run) ledgerFile() string { return filepath.Join(k.Dir, "ledger") }

// finish waits until every sender has his answers and every session has answered once more; meanwhile the parade looks after the
// processes.
func (k *run) finish(ctx context.Context, p *parade, deadline time.Time) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		k.crowd.Finish(deadline)
	}()
	tick := time.NewTicker(paradeTick)
	defer tick.Stop()
	for {
		select {
		case <-done:
			return
		case <-tick.C:
			p.supervise(ctx)
		}
	}
}
