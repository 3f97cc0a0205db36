package chaos

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/bench/pace"
	"github.com/jetclaw/jetclaw/loadtest/product/cluster"
	"github.com/jetclaw/jetclaw/loadtest/product/daemon"
)

// parade lets one fault come after the other, several at a time, as a seed says; and it is whoever looks after the processes: what
// has ended by itself is started again. Everything of it runs in one goroutine.
type parade struct {
	k       *run
	rnd     *rand.Rand
	busy    map[string]bool // what a fault has hold of
	active  []*strike
	done    []*strike
	ends    []ending
	restart map[*cluster.Service]time.Time
}

// strike is one fault.
type strike struct {
	Fault  string    `json:"fault"`
	Target string    `json:"target"`
	From   time.Time `json:"from"`
	Until  time.Time `json:"until"` // when it was undone

	holds []string
	begin func()
	undo  func() // nil: nothing is to be undone
	span  time.Duration
	due   time.Time
}

func (s *strike) String() string {
	return fmt.Sprintf("%s %s for %s", s.Fault, s.Target, s.Until.Sub(s.From).Round(10*time.Millisecond))
}

// ending is a process that has ended by itself.
type ending struct {
	Name  string    `json:"name"`
	At    time.Time `json:"at"`
	How   string    `json:"how"`
	Ready bool      `json:"ready"` // it had been ready; else it has given up to start
	Log   string    `json:"log"`
}

const (
	paradeTick   = 50 * time.Millisecond
	restartPause = time.Second
	calmMin      = 500 * time.Millisecond // from one strike to the next
	calmMore     = 5 * time.Second
	healTime     = 2 * time.Minute
)

func (p *parade) run(ctx context.Context, until time.Time) error {
	next := time.Now().Add(calmMin)
	told := time.Now()
	tick := time.NewTicker(paradeTick)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
		now := time.Now()
		p.supervise(ctx)
		p.undo(now)
		if now.After(until) {
			return nil
		}
		if !p.k.o.calm && now.After(next) && len(p.active) < p.k.o.most {
			p.strike(ctx)
			next = now.Add(calmMin + time.Duration(p.rnd.Float64()*float64(calmMore)))
		}
		if now.Sub(told) > 30*time.Second {
			told = now
			p.k.P.Note("%s left: %d faults, %d messages accepted, %d answered",
				until.Sub(now).Round(time.Second), len(p.done)+len(p.active), p.k.crowd.Accepted.Load(), p.k.crowd.Answered.Load())
		}
	}
}

// strike draws a fault and lets it happen. One that is not possible now is drawn again, a few times.
func (p *parade) strike(ctx context.Context) {
	for range 10 {
		kind := p.draw()
		s := kind.draw(ctx, p)
		if s == nil || slices.ContainsFunc(s.holds, func(h string) bool { return p.busy[h] }) {
			continue
		}
		s.Fault = kind.name
		for _, h := range s.holds {
			p.busy[h] = true
		}
		s.From = time.Now()
		s.due = s.From.Add(s.span)
		s.begin()
		p.active = append(p.active, s)
		return
	}
}

func (p *parade) draw() faultKind {
	var list []faultKind
	sum := 0
	for _, f := range faultKinds() {
		if len(p.k.o.faults) == 0 || slices.Contains(p.k.o.faults, f.name) {
			list = append(list, f)
			sum += f.weight
		}
	}
	at := p.rnd.IntN(sum)
	for _, f := range list {
		if at -= f.weight; at < 0 {
			return f
		}
	}
	return list[0]
}

// undo ends what is due.
func (p *parade) undo(now time.Time) {
	p.active = slices.DeleteFunc(p.active, func(s *strike) bool {
		if now.Before(s.due) {
			return false
		}
		if s.undo != nil {
			s.undo()
		}
		s.Until = time.Now()
		for _, h := range s.holds {
			delete(p.busy, h)
		}
		p.done = append(p.done, s)
		return true
	})
}

// supervise starts what has ended by itself again, after a while.
func (p *parade) supervise(context.Context) {
	now := time.Now()
	for _, s := range p.k.cluster.Services {
		ready := s.Running() && s.IsReady()
		if how, ended := s.Ended(); ended {
			p.ends = append(p.ends, ending{Name: s.Name, At: now, How: how, Ready: ready, Log: daemon.Tail(s.Home.LogFile(), 1500)})
			p.start(s, now.Add(restartPause))
		}
	}
	for _, x := range p.k.cluster.Nodes {
		if how, ended := x.Ended(); ended {
			p.ends = append(p.ends, ending{Name: x.Name, At: now, How: how, Ready: true, Log: daemon.Tail(x.LogFile(), 1500)})
			if err := x.Start(); err != nil {
				p.k.P.Note("%v", err)
			}
		}
	}
	for s, at := range p.restart {
		if now.Before(at) || p.busy[s.Name] {
			continue
		}
		delete(p.restart, s)
		if err := s.Start(); err != nil {
			p.k.P.Note("%v", err)
		}
	}
}

func (p *parade) start(s *cluster.Service, at time.Time) {
	if p.restart == nil {
		p.restart = map[*cluster.Service]time.Time{}
	}
	p.restart[s] = at
}

// heal ends every fault, and returns when the servers say that they are well and every process is ready.
func (p *parade) heal(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, healTime, fmt.Errorf("it had %s to heal", healTime))
	defer cancel()
	p.undo(time.Now().Add(time.Hour))
	if err := p.k.cluster.Heal(ctx); err != nil {
		return err
	}
	if err := p.k.cluster.Healthy(ctx); err != nil {
		return err
	}
	for {
		p.supervise(ctx)
		var waiting []string
		for _, s := range p.k.cluster.Services {
			if !s.Running() || !s.IsReady() {
				waiting = append(waiting, s.Name)
			}
		}
		if len(waiting) == 0 {
			return nil
		}
		if !pace.Wait(ctx, paradeTick) {
			return fmt.Errorf("%s not ready: %w", strings.Join(waiting, ", "), context.Cause(ctx))
		}
	}
}

// timeline is all faults in the order in which they began.
func (p *parade) timeline() []*strike {
	return slices.SortedFunc(slices.Values(p.done), func(a, b *strike) int { return cmp.Or(a.From.Compare(b.From), cmp.Compare(a.Fault, b.Fault)) })
}
