package app

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/nats-io/nuid"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/cmd/internal/lifecycle"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/monitor"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/telemetry"
	"github.com/jetclaw/jetclaw/services/mcp"
	"github.com/jetclaw/jetclaw/services/turns"
)

// telling is what a process tells about itself: metrics and readiness to who asks, traces to a collector. A nil one tells nothing,
// and costs nothing.
type telling struct {
	process   *telemetry.Process
	tracer    *telemetry.Tracer // nil: none
	buses     *telemetry.Buses
	readiness *monitor.Readiness
	monitor   *monitor.Server // nil: nobody can ask
	pprof     *monitor.Server // nil: none
}

// newTelling opens what a daemon listens on for who watches over it, and finds out where traces go. It is nil when
// nothing of it is wanted.
func (e Env) newTelling(ctx context.Context, d Daemon) (*telling, error) {
	tracer, secrets, notes, err := telemetry.NewTracer(telemetry.TracerConfig{
		Version: e.Version, Target: d.Target.String(), Instance: nuid.Next(), Lookup: e.Lookup, Log: e.Log,
	})
	e.Secrets.Add(secrets...)
	if err != nil {
		return nil, err
	}
	for _, n := range notes {
		e.Notice(n)
	}
	listen := d.Monitor
	if listen == "" {
		listen = e.Config.Monitor.Listen
	}
	if tracer == nil && listen == "off" && d.Pprof == "" {
		return nil, nil //nolint:nilnil // a nil one tells nothing
	}
	t := &telling{tracer: tracer, process: telemetry.New(telemetry.Config{Version: e.Version, Tracer: tracer})}
	t.buses = t.process.Buses(specs())
	t.readiness = monitor.NewReadiness(t.buses.Lost, e.Secrets.Text)
	t.process.Modules(func(ctx context.Context) (bool, map[string]bool) {
		r := t.readiness.Ask(ctx)
		all := make(map[string]bool, len(r.Modules))
		for _, m := range r.Modules {
			all[m.Name] = m.State == monitor.Ready
		}
		return r.Ready, all
	})
	if listen != "off" {
		t.monitor, err = monitor.Listen(ctx, monitor.Config{
			Listen: listen, Hosts: e.Config.Monitor.Hosts, Readiness: t.readiness, Metrics: t.process.Write, Log: e.Log,
		})
	}
	if err == nil && d.Pprof != "" {
		t.pprof, err = monitor.Profiler(ctx, d.Pprof, e.Log)
	}
	if err != nil {
		return nil, errors.Join(err, t.close(ctx))
	}
	return t, nil
}

// traceTime bounds what the end of a process may wait for its collector.
const traceTime = 3 * time.Second

// close gives addresses back that nobody has served, and sends what is left of traces.
func (t *telling) close(ctx context.Context) error {
	if t == nil {
		return nil
	}
	for _, s := range []*monitor.Server{t.monitor, t.pprof} {
		if s != nil {
			_ = s.Close() // as a rule it is closed
		}
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), traceTime)
	defer cancel()
	if err := t.tracer.Close(end); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil // what a collector that is away did not get is lost, and counts for nothing here
}

// around puts the listeners before the modules, so that they live longest, and asks about each of the modules. The process counts as
// draining once ctx ends.
func (t *telling) around(ctx context.Context, modules []lifecycle.Module) []lifecycle.Module {
	if t == nil {
		return modules
	}
	context.AfterFunc(ctx, t.readiness.Drain)
	var all []lifecycle.Module
	if t.monitor != nil {
		all = append(all, lifecycle.Module{Name: "monitor", Service: t.monitor})
	}
	if t.pprof != nil {
		all = append(all, lifecycle.Module{Name: "pprof", Service: t.pprof})
	}
	for _, m := range modules {
		all = append(all, t.readiness.Watch(m))
	}
	return all
}

// hooks are those of the connection of a user: of one that is no service, none.
func (t *telling) hooks(user string) bus.Hooks {
	if t == nil || !slices.ContainsFunc(specs(), func(s bus.Spec) bool { return s.Name == user }) {
		return bus.Hooks{}
	}
	return t.process.Hooks(user)
}

// track takes a connection in.
func (t *telling) track(user string, c *bus.Conn, err error) (*bus.Conn, error) {
	if t != nil && err == nil {
		t.buses.Track(user, c)
	}
	return c, err
}

func (t *telling) models() turns.Observer {
	if t == nil {
		return nil
	}
	return t.process
}

func (t *telling) requests() mcp.Observer {
	if t == nil {
		return nil
	}
	return t.process
}

// named has models counted under their names.
func (t *telling) named(refs []string) {
	if t != nil {
		t.process.Models(refs)
	}
}

func (t *telling) report(r *Report) {
	if t == nil {
		return
	}
	if t.monitor != nil {
		r.Monitor = t.monitor.Addr()
	}
	if t.pprof != nil {
		r.Pprof = t.pprof.Addr()
	}
	r.Traces = t.tracer != nil
}
