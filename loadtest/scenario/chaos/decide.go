package chaos

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/loadtest/bench/pace"
	"github.com/jetclaw/jetclaw/loadtest/judge"
	"github.com/jetclaw/jetclaw/loadtest/user/approval"
	"github.com/jetclaw/jetclaw/loadtest/user/client"
	"github.com/jetclaw/jetclaw/schemas/callv1"
)

// deciders answer what people are asked: over HTTP and as the command line does, at random, some of it twice, some of it long after
// it was settled.
type deciders struct {
	mu      sync.Mutex
	given   []judge.Decision // guarded by mu
	settled []string         // guarded by mu; approvals that were decided once, the last ones
	tries   int              // guarded by mu; at the list
}

const (
	decidePause = 150 * time.Millisecond
	decideTime  = 8 * time.Second
	allowShare  = 0.7
	twiceShare  = 0.25 // of the answers are followed by another one at once
	lateShare   = 0.1  // of the looks are followed by an answer to something settled
	leaveShare  = 0.3  // of what is open is left for the next look
	settledMost = 200
	overBus     = 0.4 // of the answers come as from a command line
)

// decideAll looks again and again at what is open, until ctx ends.
func (d *deciders) decideAll(ctx context.Context, k *run, rnd *rand.Rand) {
	doors, err := k.doors()
	if err != nil {
		return
	}
	defer doors.Close()
	var cli *bus.Conn
	for cli == nil {
		if cli, err = k.cluster.Dial(ctx, "cli"); err != nil && !pace.Wait(ctx, decidePause) {
			return
		}
	}
	defer func() { _ = cli.Close(context.WithoutCancel(ctx)) }()
	var work sync.WaitGroup
	defer work.Wait()
	for pace.Wait(ctx, decidePause) {
		asking, cancel := context.WithTimeout(ctx, decideTime)
		open, err := doors.any().Approvals(asking)
		cancel()
		d.mu.Lock()
		d.tries++
		d.mu.Unlock()
		if err != nil {
			continue
		}
		if rnd.Float64() < lateShare {
			if id := d.anySettled(rnd); id != "" {
				open = append(open, client.Approval{ID: id})
			}
		}
		for _, a := range open {
			if rnd.Float64() < leaveShare {
				continue
			}
			n := 1
			if rnd.Float64() < twiceShare {
				n = 2
			}
			for range n {
				answer, bus := drawAnswer(rnd), rnd.Float64() < overBus
				work.Go(func() { d.answer(ctx, doors, cli, a.ID, answer, bus) })
			}
			d.settle(a.ID)
		}
	}
}

func drawAnswer(rnd *rand.Rand) callv1.Decision {
	if rnd.Float64() >= allowShare {
		return callv1.Deny
	}
	return approval.AllowOnce
}

func (d *deciders) settle(id string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !slices.Contains(d.settled, id) {
		d.settled = append(d.settled, id)
		d.settled = d.settled[max(0, len(d.settled)-settledMost):]
	}
}

func (d *deciders) anySettled(rnd *rand.Rand) string {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.settled) == 0 {
		return ""
	}
	return d.settled[rnd.IntN(len(d.settled))]
}

// answer gives one answer once, and writes down that it did before anybody can have heard it.
func (d *deciders) answer(ctx context.Context, doors *doors, cli *bus.Conn, id string, answer callv1.Decision, over bool) {
	d.mu.Lock()
	at := len(d.given)
	d.given = append(d.given, judge.Decision{Approval: id, Decision: answer, Entitled: true})
	d.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, decideTime)
	defer cancel()
	won := false
	if over {
		a, err := approval.Decide(ctx, cli, approval.Request{Approval: id, Decision: answer})
		won = err == nil && !a.Already
	} else {
		_ = doors.any().Decide(ctx, id, string(answer)) // what it says does not tell whose answer counts
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.given[at].Won = won
}

// decisions is all that was answered so far.
func (d *deciders) decisions() []judge.Decision {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.given)
}
