package cluster

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/loadtest/bench"
	"github.com/jetclaw/jetclaw/loadtest/bench/pace"
	"github.com/jetclaw/jetclaw/loadtest/fake/fakemodel"
	"github.com/jetclaw/jetclaw/loadtest/figure/stat"
	"github.com/jetclaw/jetclaw/loadtest/product/cluster"
	"github.com/jetclaw/jetclaw/loadtest/product/store"
	"github.com/jetclaw/jetclaw/loadtest/user/crowd"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

const (
	failoverCalm  = 6 * time.Second // from one kill to the next, when all is well again
	failoverAfter = 20 * time.Second
)

// killed is one kill of a measurement.
type killed struct {
	at     time.Time
	leader bool // a NATS server, that led the journal; else a process of turns
}

// failovers kills processes under load and reads from the journal how long it took until things went on.
func failovers(ctx context.Context, b *bench.Bench, o options, r *report) error {
	delay, err := fakemodel.ParseDelay(failoverDelay)
	if err != nil {
		return err
	}
	m, err := fakemodel.Start("127.0.0.1:0", fakemodel.Options{Delay: delay})
	if err != nil {
		return err
	}
	defer m.Close()
	k, err := startCluster(ctx, b, o, "failover", m.URL(), 2, 3)
	if err != nil {
		return err
	}
	defer k.Close()
	cl, err := clientOf(k, failoverSessions)
	if err != nil {
		return err
	}
	people := crowd.New(ctx, crowd.Options{Sessions: failoverSessions, Window: 2, PerSession: 20, Mix: crowd.MixPlain}, 1, cl, "f")
	kills, err := killing(ctx, b, o, k)
	people.StopSending()
	if err != nil {
		people.Abort()
		return err
	}
	people.Finish(time.Now().Add(failoverAfter))
	if n := people.Accepted.Load() - people.Answered.Load(); n > 0 {
		return fmt.Errorf("%d messages have no answer", n)
	}
	journal, err := k.Copy(ctx, 0)
	if err != nil {
		return err
	}
	r.failover(journal, kills)
	return k.Stop()
}

// killing kills a worker and a leader in turn.
func killing(ctx context.Context, b *bench.Bench, o options, k *cluster.Cluster) (out []killed, err error) {
	admin, err := k.Dial(ctx, bus.Admin)
	if err != nil {
		return nil, err
	}
	defer func() { _ = admin.Close(context.WithoutCancel(ctx)) }()
	for i := range 2 * o.rounds {
		if !pace.Wait(ctx, failoverCalm+rand.N(time.Second)) {
			return nil, context.Cause(ctx)
		}
		if i%2 == 0 {
			w := k.Of("turns")[i/2%2]
			out = append(out, killed{at: time.Now()})
			w.Kill()
			if pace.Wait(ctx, failoverCalm) {
				err = w.Start()
			}
			if err == nil {
				_, err = w.Ready(ctx)
			}
		} else {
			n := k.JournalLeader(ctx, admin)
			if n < 0 {
				return nil, errors.New("nobody leads the journal")
			}
			out = append(out, killed{at: time.Now(), leader: true})
			k.Nodes[n].Kill()
			if pace.Wait(ctx, failoverCalm) {
				err = k.Nodes[n].Start()
			}
			if err == nil {
				err = k.Healthy(ctx)
			}
		}
		if err != nil {
			return nil, err
		}
		b.P.Note("fail-over %d of %d", i+1, 2*o.rounds)
	}
	return out, nil
}

// failover reads from the journal how long each took.
func (r *report) failover(journal []store.Record, kills []killed) {
	var first, all, appends []time.Duration
	for i, k := range kills {
		if k.leader {
			j := slices.IndexFunc(journal, func(x store.Record) bool { return x.Stored.After(k.at) })
			if j >= 0 {
				appends = append(appends, journal[j].Stored.Sub(k.at))
			}
			continue
		}
		until := k.at.Add(failoverAfter)
		if i+1 < len(kills) {
			until = kills[i+1].at // what goes on later may do so because of that one
		}
		some := resumedBetween(journal, k.at, until)
		if len(some) > 0 {
			first = append(first, some[0])
			all = append(all, some...)
		}
	}
	r.WorkerFirst, r.WorkerAll, r.Leader = stat.SpreadOf(first), stat.SpreadOf(all), stat.SpreadOf(appends)
}

// resumedBetween is how long after a kill each turn that somebody took over went on, of those that did before until.
func resumedBetween(journal []store.Record, kill, until time.Time) (out []time.Duration) {
	for _, x := range journal {
		if _, ok := x.Body.(turnv1.Resumed); ok && x.Stored.After(kill) && x.Stored.Before(until) {
			out = append(out, x.Stored.Sub(kill))
		}
	}
	slices.Sort(out)
	return out
}
