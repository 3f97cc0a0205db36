package app

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/cmd/internal/lifecycle"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/home"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/retention"
)

// Daemon says what to run.
type Daemon struct {
	Target Target
	NATS   Away            // bus elsewhere; none: the embedded server, or the one that the home's daemon runs
	Ready  func(Report)    // called once everything runs
	Hurry  <-chan struct{} // closed, it cuts the drain short

	Monitor string // address for /healthz, /readyz and /metrics, or "off"; "": as the configuration says
	Pprof   string // loopback address of the Go profiler; "": none
}

// Report tells the person what runs.
type Report struct {
	Home   string
	Target string   // "" for all
	Models string   // "" when no model is called here
	HTTP   string   // address of the API; "" for none
	TLS    bool     // it is reached by https
	Token  string   // path of the API's token
	Bots   []string // Telegram bots whose updates are taken in here
	Bus    string   // URL of the bus; "" when nobody else can reach it
	Sync   string   // promise of the home's own server; "" for a bus elsewhere

	Monitor string // address that tells how the process is; "" for none
	Pprof   string // address of the Go profiler; "" for none
	Traces  bool   // traces are sent
}

// ErrNoServer says that a service has no bus to run on.
var ErrNoServer = errors.New("no NATS server: start `jetclaw run --target nats` on this home, or name one with --nats URL")

// Run runs the target until ctx ends and everything has drained. The errors that a person has to act on are
// *home.HeldError, *config.SecretError, *CredsError, natsembed.ErrStore and ErrPort.
func (e Env) Run(ctx context.Context, d Daemon) error {
	if err := e.Home.Create(); err != nil {
		return err
	}
	if d.NATS.URL != "" {
		d.Target.Server = false
	}
	var lock *home.Lock
	if d.Target.Server {
		var err error
		if lock, err = e.acquireSoon(ctx); err != nil {
			return err
		}
	}
	var err error
	if e.told, err = e.newTelling(ctx, d); err == nil {
		err = errors.Join(e.runLocked(ctx, d, lock), e.told.close(ctx))
	}
	if lock != nil {
		err = errors.Join(err, lock.Release())
	}
	return err
}

// acquireSoon takes the home for a daemon. A command that has it for itself is waited for, for a while; another daemon is not.
func (e Env) acquireSoon(ctx context.Context) (*home.Lock, error) {
	tick := time.NewTicker(lookAgain)
	defer tick.Stop()
	for began := time.Now(); ; {
		lock, err := e.acquire(true)
		held, ok := errors.AsType[*home.HeldError](err)
		if !ok || held.Holder.PID == 0 || held.Holder.Serves || time.Since(began) > briefTime {
			return lock, err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil, err
		}
	}
}

func (e Env) acquire(serves bool) (*home.Lock, error) {
	return e.Home.Acquire(home.Holder{PID: os.Getpid(), Command: e.Command, Since: time.Now(), Serves: serves})
}

func (e Env) runLocked(ctx context.Context, d Daemon, lock *home.Lock) error {
	p, err := e.newParts(ctx, d.Target, true)
	if err != nil {
		return err
	}
	g, err := e.assemble(ctx, d, p)
	if err != nil {
		return err
	}
	options := lifecycle.DefaultOptions()
	options.Log, options.Hurry = e.Log, d.Hurry
	var wrote error
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	options.Ready = func() {
		r := g.report(e, p)
		r.Target = d.Target.String()
		if lock != nil && r.Bus != "" {
			at := home.Endpoint{PID: os.Getpid(), URL: r.Bus, HTTP: r.HTTP, Models: r.Models, Version: e.Version}
			if wrote = errors.Join(lock.SetPort(g.server.port()), lock.WriteEndpoint(at)); wrote != nil {
				stop()
				return
			}
		}
		if d.Ready != nil {
			d.Ready(r)
		}
	}
	g.modules = append(g.modules, lifecycle.Module{Name: "idle", Service: idle{}})
	return errors.Join(lifecycle.Run(ctx, options, e.told.around(ctx, g.modules)...), wrote)
}

// group is what runs in this process, in its order.
type group struct {
	modules []lifecycle.Module
	server  *server // nil for a bus elsewhere
	url     string  // of a bus elsewhere
	own     bool    // that bus is the home's own
	owner   bool    // the key of the topology's owner is there, for a bus elsewhere
	dial    dialer
}

// assemble makes the modules of a daemon; nothing is started yet.
func (e Env) assemble(ctx context.Context, d Daemon, p *parts) (*group, error) {
	var g *group
	var err error
	switch {
	case d.NATS.URL != "":
		g, err = e.elsewhere(ctx, d.NATS, true)
	case d.Target.Server:
		g, err = e.embedded(true)
	default:
		var at home.Endpoint
		at, err = e.Home.Endpoint()
		if errors.Is(err, home.ErrNoEndpoint) {
			return nil, ErrNoServer
		}
		if err == nil {
			if g, err = e.elsewhere(ctx, Away{URL: at.URL, Creds: e.Home.Keys()}, false); err == nil {
				g.own = true
			}
		}
	}
	if err != nil {
		return nil, err
	}
	if p.watch != nil {
		g.modules = append(g.modules, lifecycle.Module{Name: "configuration", Service: p.watch})
	}
	switch {
	case g.server != nil:
		g.keepExecutors(e, p, g.server.limits)
	case g.owner && p.watch != nil:
		g.keepExecutors(e, p, e.limits())
	}
	g.add(p, d.Target)
	if g.server != nil {
		g.keep(e)
	}
	return g, nil
}

// keepExecutors appends what makes consumers of servers that are configured later.
func (g *group) keepExecutors(e Env, p *parts, l bus.Limits) {
	w := newWorker(bus.Admin, g.dial, func(c *bus.Conn) (lifecycle.Service, error) {
		return &keeper{admin: c, limits: l, servers: e.mcpServers, changed: p.watch.subscribe()}, nil
	})
	g.modules = append(g.modules, lifecycle.Module{Name: "executors", Service: w})
}

// keep appends what archives dormant sessions, when the configuration wants that: it runs where the journal is.
func (g *group) keep(e Env) {
	r := e.Config.Retention
	policy := retention.Policy{Dormant: time.Duration(r.Dormant), MaxBytes: int64(r.MaxBytes)}
	if policy.Off() {
		return
	}
	w := newWorker(bus.Admin, g.dial, func(c *bus.Conn) (lifecycle.Service, error) {
		p, err := retention.New(retention.Config{
			Bus: retention.OnBus(c, c), Archive: e.Home.Resolve(r.Archive), Policy: policy, By: "retention",
		})
		if err != nil {
			return nil, err
		}
		return retention.NewKeeper(retention.KeeperConfig{Pruner: p, Log: c.Log()})
	})
	g.modules = append(g.modules, lifecycle.Module{Name: "retention", Service: w})
}

// add appends the services of a target.
func (g *group) add(p *parts, t Target) {
	for _, m := range modules() {
		if t.has(m.spec.Name) {
			w := newWorker(m.spec.Name, g.dial, func(c *bus.Conn) (lifecycle.Service, error) { return m.make(p, c) })
			if g.server == nil {
				w.check = func(ctx context.Context, c *bus.Conn) error {
					return c.Check(ctx, m.spec, permissionsOf(m.spec))
				}
			}
			g.modules = append(g.modules, lifecycle.Module{Name: m.spec.Name, Service: w})
		}
	}
}

// embedded is a group that begins with the server on the home's data.
func (e Env) embedded(listen bool) (*group, error) {
	keys, err := e.keysOf(userNames())
	if err != nil {
		return nil, err
	}
	s, err := e.newServer(keys, listen)
	if err != nil {
		return nil, err
	}
	g := &group{server: s, modules: []lifecycle.Module{{Name: "nats", Service: s}}}
	recent := bus.NewRecent()
	g.dial = func(ctx context.Context, user string) (*bus.Conn, error) {
		c, err := bus.Connect(ctx, bus.ConnOptions{
			Service: user, InProcess: s.embedded, Seed: keys[user].Seed(), Log: e.Log, Recent: recent, Hooks: e.told.hooks(user),
		})
		return e.told.track(user, c, err)
	}
	return g, nil
}

// elsewhere is a group on a bus that somebody else runs. With owner, and where the credentials hold the key of the
// topology's owner, the topology is brought about first.
func (e Env) elsewhere(ctx context.Context, at Away, owner bool) (*group, error) {
	g := &group{url: at.URL}
	secure, err := at.config()
	if err != nil {
		return nil, err
	}
	recent, openly := bus.NewRecent(), e.openly()
	g.dial = func(ctx context.Context, user string) (*bus.Conn, error) {
		id, err := credsOf(at.Creds, user)
		if err != nil {
			return nil, err
		}
		e.Secrets.Add(string(id.seed), id.jwt)
		c, err := bus.Connect(ctx, bus.ConnOptions{
			Service: user, URL: at.URL, Seed: id.seed, JWT: id.jwt, TLS: secure, Log: e.Log, Recent: recent, Hooks: e.told.hooks(user),
		})
		if err == nil {
			openly(c)
		}
		return e.told.track(user, c, err)
	}
	if st, serr := os.Stat(at.Creds); owner && (at.Creds == "" || serr == nil && st.IsDir()) { // a file is one user's: a service's
		g.owner, err = e.ownTopology(ctx, g.dial)
	}
	return g, err
}

// limits of a topology on a bus elsewhere.
func (e Env) limits() bus.Limits {
	l := bus.DefaultLimits()
	l.JournalBytes, l.Replicas = int64(e.Config.Bus.MaxBytes), e.Config.Bus.Replicas
	return l
}

// clusterTime is how long a start waits for a cluster that has no leader yet.
const clusterTime = time.Minute

// ownTopology brings the topology about where the key of its owner is. What could lose something it leaves to a person, and it takes
// nothing away: another process may be configured with more than this one.
func (e Env) ownTopology(ctx context.Context, dial dialer) (owner bool, err error) {
	admin, err := dial(ctx, bus.Admin)
	if errors.Is(err, os.ErrNotExist) {
		e.Log.Debug("no key of the topology's owner: the topology is taken as it is")
		return false, nil
	}
	if err != nil {
		return false, err
	}
	tell := func(err error) { e.Log.Warn("the cluster does not answer yet", "error", err) }
	topology := bus.TopologyOf(specs(), e.limits(), executorsOf(e.Config)...)
	changes, err := bus.UntilAnswered(ctx, clusterTime, tell, func() ([]bus.Change, error) {
		return bus.ApplyCarefully(ctx, admin.JetStream(), topology)
	})
	if err != nil {
		err = fmt.Errorf("apply the topology: %w", err)
	}
	if _, ok := errors.AsType[*bus.RiskError](err); ok {
		err = fmt.Errorf("%w\n`jetclaw topology apply --yes` does it", err)
	}
	tellChanges(changes, e.Log)
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTime)
	defer cancel()
	return true, errors.Join(err, admin.Close(end))
}

func (g *group) report(e Env, p *parts) Report {
	r := Report{Home: e.Home.Dir(), Bus: g.url}
	if g.server != nil {
		r.Bus = g.server.URL()
	}
	if g.server != nil || g.own {
		r.Sync = e.Config.Bus.Sync
	}
	r.Models = p.models
	if p.http != nil {
		r.HTTP, r.TLS, r.Token = p.http.Listen, p.http.Certificate != "", e.Home.HTTPToken()
	}
	for _, b := range p.incoming {
		r.Bots = append(r.Bots, b.Account)
	}
	e.told.report(&r)
	return r
}
