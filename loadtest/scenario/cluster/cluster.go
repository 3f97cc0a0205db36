// Package cluster measures turns on three NATS servers with every service a process of its own, by workers and copies, and how long a
// fail-over takes.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/bench"
	"github.com/jetclaw/jetclaw/loadtest/bench/console"
	"github.com/jetclaw/jetclaw/loadtest/fake/fakemodel"
	"github.com/jetclaw/jetclaw/loadtest/product/cluster"
	"github.com/jetclaw/jetclaw/loadtest/product/daemon"
	"github.com/jetclaw/jetclaw/loadtest/user/client"
	"github.com/jetclaw/jetclaw/loadtest/user/exchange"
)

// options of one run.
type options struct {
	workers  []int // of turns, one cell each
	sessions int
	delay    fakemodel.Delay
	warmup   time.Duration
	duration time.Duration
	rounds   int // of each kind of fail-over
	sync     string
	nats     string
}

const (
	failoverSessions = 16
	failoverDelay    = "1s-2s" // a turn is in flight for long enough to be met
)

// Command measures a cluster of real processes.
func Command(ctx context.Context, args []string, p console.Printer) error {
	fs := p.Flags("cluster")
	f := bench.AddFlags(fs)
	var o options
	fs.StringVar(&o.nats, "nats-server", "", "a built nats-server; default: build the one of go.mod")
	workers := fs.String("workers", "1,2,4", "numbers of processes of turns")
	fs.IntVar(&o.sessions, "sessions", 64, "that talk at the same time")
	delay := fs.String("delay", "200ms", "of the model: what a turn waits for")
	fs.DurationVar(&o.warmup, "warmup", 2*time.Second, "of each measurement")
	fs.DurationVar(&o.duration, "duration", 6*time.Second, "of each measurement")
	fs.IntVar(&o.rounds, "rounds", 5, "of each kind of fail-over; 0: none")
	fs.StringVar(&o.sync, "sync", "interval", "of the NATS servers: always, or interval")
	if err := console.Parse(fs, args); err != nil {
		return err
	}
	var err error
	if o.delay, err = fakemodel.ParseDelay(*delay); err != nil {
		return console.Usage(err)
	}
	for text := range strings.SplitSeq(*workers, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil || n < 1 {
			return console.Usage(fmt.Errorf("workers %q: want numbers with commas", *workers))
		}
		o.workers = append(o.workers, n)
	}
	if o.sessions < 1 || o.duration <= 0 || o.rounds < 0 {
		return console.Usage(errors.New("sessions and duration are at least 1, rounds is not negative"))
	}
	return bench.Shown(ctx, f, p, func(ctx context.Context, b *bench.Bench) (report, error) { return measure(ctx, b, o) })
}

func measure(ctx context.Context, b *bench.Bench, o options) (r report, err error) {
	r.Sync, r.Rounds = o.sync, o.rounds
	if o.nats, err = b.NATS(ctx, o.nats); err != nil {
		return r, err
	}
	for _, n := range o.workers {
		c := cell{Workers: n, Copies: 3, Sessions: o.sessions, Delay: o.delay.String()}
		if err := measureCell(ctx, b, o, &c); err != nil {
			return r, fmt.Errorf("%d workers: %w", n, err)
		}
		r.Cells = append(r.Cells, c)
	}
	for _, sessions := range []int{1, o.sessions} { // what three copies cost, beside one, with a model that answers at once
		for _, copies := range []int{1, 3} {
			c := cell{Workers: 1, Copies: copies, Sessions: sessions, Delay: "0s"}
			if err := measureCell(ctx, b, o, &c); err != nil {
				return r, fmt.Errorf("%d copies: %w", copies, err)
			}
			r.Cells = append(r.Cells, c)
		}
	}
	if o.rounds > 0 {
		if err := failovers(ctx, b, o, &r); err != nil {
			return r, fmt.Errorf("fail-over: %w", err)
		}
	}
	return r, nil
}

// alone is one process of every service, and so many of turns.
func alone(workers int) []cluster.Many {
	many := cluster.Each(1)
	for i := range many {
		if many[i].Target == "turns" {
			many[i].N = workers
		}
	}
	return many
}

// startCluster starts one with three servers and no proxies.
func startCluster(ctx context.Context, b *bench.Bench, o options, name, model string, workers, copies int) (*cluster.Cluster, error) {
	dir, err := os.MkdirTemp(b.Dir, name+"-")
	if err != nil {
		return nil, err
	}
	return cluster.Start(ctx, cluster.Options{
		Dir: dir, Binary: b.Binary, NATS: o.nats, Nodes: 3, Copies: copies, Direct: true,
		Services: alone(workers), Config: daemon.Config{Sync: o.sync, ModelURL: model},
	})
}

// measureCell measures turns on a cluster of its own.
func measureCell(ctx context.Context, b *bench.Bench, o options, c *cell) error {
	b.P.Note("%d workers, %d copies, %d sessions, model %s", c.Workers, c.Copies, c.Sessions, c.Delay)
	delay, err := fakemodel.ParseDelay(c.Delay)
	if err != nil {
		return err
	}
	m, err := fakemodel.Start("127.0.0.1:0", fakemodel.Options{Delay: delay})
	if err != nil {
		return err
	}
	defer m.Close()
	name := fmt.Sprintf("w%dr%ds%dd%d", c.Workers, c.Copies, c.Sessions, delay.Max.Milliseconds())
	k, err := startCluster(ctx, b, o, name, m.URL(), c.Workers, c.Copies)
	if err != nil {
		return err
	}
	defer k.Close()
	cl, err := clientOf(k, c.Sessions)
	if err != nil {
		return err
	}
	defer cl.Close()
	var before, since used
	x := exchange.Loop{Run: name, Sessions: c.Sessions, PerSession: 20, Warmup: o.warmup, Duration: o.duration}
	x.AtOpen = func() { before = usedBy(k) }
	x.AtShut = func() { since = usedBy(k).less(before) }
	e, err := x.Drive(ctx, cl)
	if err != nil {
		return err
	}
	c.measured(e, since)
	return k.Stop()
}

func clientOf(k *cluster.Cluster, conns int) (*client.Client, error) {
	in := k.Of("intake")[0]
	token, err := in.Home.Token()
	if err != nil {
		return nil, err
	}
	return client.New(in.Home.URL(), token, conns+1), nil
}

// used is processor time.
type used struct{ turns, services, nats time.Duration }

func (u used) less(o used) used {
	return used{u.turns - o.turns, u.services - o.services, u.nats - o.nats}
}

// usedBy adds up what all processes have used.
func usedBy(k *cluster.Cluster) (u used) {
	for _, s := range k.Services {
		d, err := s.Process().CPU()
		if err != nil {
			continue // it has ended, and its part is missed by the run itself
		}
		u.services += d
		if s.Target == "turns" {
			u.turns += d
		}
	}
	for _, x := range k.Nodes {
		if d, err := x.Process().CPU(); err == nil {
			u.nats += d
		}
	}
	return u
}
