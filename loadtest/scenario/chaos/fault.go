package chaos

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/fault/wire"
	"github.com/jetclaw/jetclaw/loadtest/product/cluster"
)

// faultKind is one way in which something goes wrong.
type faultKind struct {
	name   string
	weight int
	draw   func(context.Context, *parade) *strike // nil: not possible now
}

// faultKinds are all of them.
func faultKinds() []faultKind {
	second := time.Second
	return []faultKind{
		{"kill", 6, onService(0, 6*second, kill)},
		{"kill-all", 2, killAll},
		{"pause", 5, onService(second/5, 16*second, pause)},
		{"cut", 5, onService(second/2, 25*second, links(wire.Cut(), false))},
		{"cut-one", 2, cutOne},
		{"lost-answers", 5, onService(second/10, 3*second, links(wire.Fault{Down: wire.Way{Cut: true}}, true))},
		{"lost-questions", 2, onService(second/10, 3*second, links(wire.Fault{Up: wire.Way{Cut: true}}, true))},
		{"late", 3, onService(2*second, 15*second, links(wire.Late(150*time.Millisecond), false))},
		{"slow-consumer", 3, onService(3*second, 15*second, links(wire.Fault{Down: wire.Way{Slow: 6000}}, false))},
		{"reset", 3, onService(0, 0, links(wire.Fault{}, true))},
		{"refuse", 1, onService(second, 8*second, links(wire.Fault{Refuse: true}, true))},

		{"rewrite", 2, rewrite},

		{"nats-kill", 3, onNode(anyNode, 0, 8*second, nodeKill)},
		{"nats-pause", 2, onNode(anyNode, second/5, 15*second, nodePause)},
		{"nats-cut", 2, onNode(anyNode, second, 20*second, nodeCut)},
		{"nats-island", 2, island},
		{"nats-late", 2, onNode(anyNode, 2*second, 15*second, nodeRoutes(wire.Late(60*time.Millisecond)))},
		{"nats-slow", 1, onNode(anyNode, 2*second, 10*second, nodeRoutes(wire.Slow(200_000)))},
		{"nats-half", 2, route(wire.Fault{Down: wire.Way{Cut: true}})},
		{"nats-route", 2, route(wire.Cut())},
		{"nats-reset", 1, route(wire.Fault{Refuse: true})},
		{"leader-kill", 3, onNode(journalLeader, 0, 8*second, nodeKill)},
		{"leader-pause", 2, onNode(journalLeader, second, 12*second, nodePause)},
		{"leader-cut", 2, onNode(journalLeader, second, 15*second, nodeCut)},
		{"consumer-leader-kill", 2, onNode(consumerLeader, 0, 6*second, nodeKill)},
		{"nats-kill-all", 1, natsKillAll},
	}
}

func faultNames() []string {
	var out []string
	for _, f := range faultKinds() {
		out = append(out, f.name)
	}
	return out
}

func (p *parade) span(least, most time.Duration) time.Duration {
	return least + time.Duration(p.rnd.Float64()*float64(most-least))
}

// onService does something to one process.
func onService(least, most time.Duration, do func(*cluster.Service) (begin, undo func())) func(context.Context, *parade) *strike {
	return func(_ context.Context, p *parade) *strike {
		s := p.k.cluster.Services[p.rnd.IntN(len(p.k.cluster.Services))]
		if !s.Running() {
			return nil
		}
		begin, undo := do(s)
		return &strike{Target: s.Name, holds: []string{s.Name}, begin: begin, undo: undo, span: p.span(least, most)}
	}
}

func kill(s *cluster.Service) (begin, undo func()) { return s.Kill, func() { _ = s.Start() } }

func pause(s *cluster.Service) (begin, undo func()) { return s.Pause, s.Resume }

// links does something to all connections of a process; what is under way when it ends is lost with reset.
func links(f wire.Fault, reset bool) func(*cluster.Service) (begin, undo func()) {
	return func(s *cluster.Service) (begin, undo func()) {
		return func() { set(s.Links, f, reset && f.Refuse) }, func() { set(s.Links, wire.Fault{}, reset && !f.Refuse) }
	}
}

func set(list []*wire.Proxy, f wire.Fault, reset bool) {
	for _, l := range list {
		if reset {
			l.Reset()
		}
		l.Set(f)
	}
}

// killAll kills all processes of a service.
func killAll(_ context.Context, p *parade) *strike {
	targets := cluster.Targets()
	t := targets[p.rnd.IntN(len(targets))]
	list := p.k.cluster.Of(t)
	s := &strike{Target: "every " + t, span: p.span(0, 4*time.Second)}
	for _, x := range list {
		if !x.Running() {
			return nil
		}
		s.holds = append(s.holds, x.Name)
	}
	s.begin = func() {
		for _, x := range list {
			x.Kill()
		}
	}
	s.undo = func() {
		for _, x := range list {
			_ = x.Start()
		}
	}
	return s
}

// cutOne cuts a process from one of the servers: it goes to another one.
func cutOne(_ context.Context, p *parade) *strike {
	s := p.k.cluster.Services[p.rnd.IntN(len(p.k.cluster.Services))]
	i := p.rnd.IntN(len(s.Links))
	l := s.Links[i]
	return &strike{
		Target: s.Name + " from " + p.k.cluster.Nodes[i].Name, holds: []string{s.Name}, span: p.span(time.Second, 25*time.Second),
		begin: func() { l.Set(wire.Cut()) }, undo: func() { l.Set(wire.Fault{}) },
	}
}

// manyNodes is how seldom a second server is hit while one is.
const manyNodes = 0.15

// mayHitNode: with two servers of three away nothing can be stored; that happens, and has to heal, but nothing else would be seen.
func (p *parade) mayHitNode() bool {
	for _, x := range p.k.cluster.Nodes {
		if p.busy[x.Name] {
			return p.rnd.Float64() < manyNodes
		}
	}
	return true
}

// onNode does something to one of the servers.
func onNode(
	which func(context.Context, *parade) int, least, most time.Duration, do func(*cluster.NATS, int) (begin, undo func()),
) func(context.Context, *parade) *strike {
	return func(ctx context.Context, p *parade) *strike {
		if !p.mayHitNode() {
			return nil
		}
		i := which(ctx, p)
		if i < 0 {
			return nil
		}
		x := p.k.cluster.Nodes[i]
		begin, undo := do(p.k.cluster.NATS, i)
		s := &strike{Target: x.Name, holds: []string{x.Name}, begin: begin, undo: undo, span: p.span(least, most)}
		return s
	}
}

func anyNode(_ context.Context, p *parade) int { return p.rnd.IntN(len(p.k.cluster.Nodes)) }

// journalLeader is the server that leads the journal; -1 when nobody knows.
func journalLeader(ctx context.Context, p *parade) int {
	return p.k.cluster.JournalLeader(ctx, p.k.admin)
}

// consumerLeader is the server that leads the doorbells of the turns; -1 when nobody knows.
func consumerLeader(ctx context.Context, p *parade) int {
	return p.k.cluster.ConsumerLeader(ctx, p.k.admin, "turns")
}

func nodeKill(n *cluster.NATS, i int) (begin, undo func()) {
	return n.Nodes[i].Kill, func() { _ = n.Nodes[i].Start() }
}

func nodePause(n *cluster.NATS, i int) (begin, undo func()) {
	return n.Nodes[i].Pause, n.Nodes[i].Resume
}

// nodeRoutes does something to what a server has to do with the others.
func nodeRoutes(f wire.Fault) func(n *cluster.NATS, i int) (begin, undo func()) {
	return func(n *cluster.NATS, i int) (begin, undo func()) {
		return func() { set(n.Routes(i), f, false) }, func() { set(n.Routes(i), wire.Fault{}, false) }
	}
}

func nodeCut(n *cluster.NATS, i int) (begin, undo func()) { return nodeRoutes(wire.Cut())(n, i) }

// island cuts a server from everybody: the others, and every process.
func island(ctx context.Context, p *parade) *strike {
	if !p.mayHitNode() {
		return nil
	}
	i := anyNode(ctx, p)
	x := p.k.cluster.Nodes[i]
	list := p.k.cluster.Routes(i)
	s := &strike{Target: x.Name, holds: []string{x.Name}, span: p.span(time.Second, 20*time.Second)}
	for _, v := range p.k.cluster.Services {
		list = append(list, v.Links[i])
		s.holds = append(s.holds, v.Name)
	}
	s.begin = func() { set(list, wire.Cut(), false) }
	s.undo = func() { set(list, wire.Fault{}, false) }
	return s
}

// route does something to what is between two servers.
func route(f wire.Fault) func(context.Context, *parade) *strike {
	return func(_ context.Context, p *parade) *strike {
		if !p.mayHitNode() {
			return nil
		}
		i := p.rnd.IntN(len(p.k.cluster.Nodes))
		j := (i + 1) % len(p.k.cluster.Nodes)
		a, b := p.k.cluster.Nodes[min(i, j)].Name, p.k.cluster.Nodes[max(i, j)].Name
		l := []*wire.Proxy{p.k.cluster.Route(i, j)}
		return &strike{
			Target: a + " to " + b, holds: []string{a, b}, span: p.span(time.Second, 15*time.Second),
			begin: func() { set(l, f, f.Refuse) }, undo: func() { set(l, wire.Fault{}, false) },
		}
	}
}

// natsKillAll kills all servers at once. What they have acknowledged is with the system, not with them.
func natsKillAll(_ context.Context, p *parade) *strike {
	s := &strike{Target: "every NATS server", span: p.span(0, 3*time.Second)}
	for _, x := range p.k.cluster.Nodes {
		s.holds = append(s.holds, x.Name)
	}
	s.begin = func() {
		for _, x := range p.k.cluster.Nodes {
			x.Kill()
		}
	}
	s.undo = func() {
		for _, x := range p.k.cluster.Nodes {
			_ = x.Start()
		}
	}
	return s
}

const (
	rewriteEach = 20 * time.Millisecond
	comment     = "# written again\n"
)

// rewrite has somebody save the configuration of a process that watches it again and again, now whole and now in two halves.
func rewrite(_ context.Context, p *parade) *strike {
	list := p.k.cluster.Of("mcp")
	s := list[p.rnd.IntN(len(list))]
	file := filepath.Join(s.Home.Dir, "jetclaw.yaml")
	text, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	stop, stopped := make(chan struct{}), make(chan struct{})
	return &strike{
		Target: s.Name, holds: []string{s.Name + " yaml"}, span: p.span(2*time.Second, 10*time.Second),
		begin: func() {
			go func() {
				defer close(stopped)
				save(file, text, stop)
			}()
		},
		undo: func() {
			close(stop)
			<-stopped
			_ = os.WriteFile(file, text, 0o600)
		},
	}
}

func save(file string, text []byte, stop <-chan struct{}) {
	tick := time.NewTicker(rewriteEach)
	defer tick.Stop()
	for i := 0; ; i++ {
		select {
		case <-tick.C:
		case <-stop:
			return
		}
		if i%2 == 0 {
			_ = os.WriteFile(file, append([]byte(comment), text...), 0o600)
			continue
		}
		if f, err := os.Create(file); err == nil {
			_, _ = f.Write(text[:len(text)/2])
			_, _ = f.Write(text[len(text)/2:])
			_ = f.Close()
		}
	}
}
