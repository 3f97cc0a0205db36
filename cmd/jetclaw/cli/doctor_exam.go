package cli

import (
	"context"
	"errors"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/bus/recheck"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/health"
)

// examination is one run of doctor: what it has found, and what one check leaves to the next.
type examination struct {
	s      *shell
	o      doctorOptions
	e      app.Env
	c      app.Client
	admin  *bus.Conn // nil: its key is not here
	report health.Report
	code   int // of a bus that could not be looked at

	topology  bus.Topology
	broken    bus.Topology // the part of it that is missing or differs
	consumers []bus.ConsumerState
	machines  []recheck.Machine
	swept     *sweep // nil: the journal could not be read
	samples   []sample
	stuck     []health.Stuck
}

// keyAway is what to do when the owner's key is not there.
const keyAway = "this needs the key of the bus user admin: in the home's keys/, or where remote.creds or --creds says"

// journal looks at what is to be asked on the bus.
func (x *examination) journal(ctx context.Context, c app.Client) error {
	x.c = c
	admin, err := c.Admin(ctx)
	if err != nil {
		x.report.Unknown("admin", health.Warning, "bus", keyAway, err)
	} else {
		x.admin = admin
		defer func() {
			end, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
			defer cancel()
			if err := admin.Close(end); err != nil {
				x.e.Log.Debug("leave the bus", "error", err) // everything was answered: nothing is lost with the connection
			}
		}()
	}
	for _, check := range []struct {
		area, name string
		owner      bool // it can be made with the owner's key only
		do         func(context.Context) error
	}{
		{"journal", "journal", false, x.store},
		{"topology", "bus", true, x.plan},
		{"consumer", "consumers", true, x.delivering},
		{"chain", "chains", false, x.chains},
		{"session", "sessions", true, x.liveness},
		{"dead", "dead letters", true, x.dead},
		{"projection", "read model", false, x.readModel},
		{"snapshot", "snapshots", true, x.snapshots},
		{"channel", "channels", false, x.bots},
		{"delivery", "deliveries", false, x.past},
		{"model", "models", false, x.models},
	} {
		if check.owner && x.admin == nil {
			continue // told once
		}
		if err := check.do(ctx); err != nil {
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			x.unknown(check.area, check.name, err)
		}
	}
	if x.o.repair && x.admin != nil {
		return x.repair(ctx)
	}
	x.tellStuck()
	return nil
}

// unknown notes that a check could not be made: a problem when that is because nobody in the bus can answer, or it is another version's.
func (x *examination) unknown(area, check string, err error) {
	severity := health.Warning
	if bus.Unanswered(err) || errors.Is(err, bus.ErrNewer) || errors.Is(err, bus.ErrOlder) {
		severity, x.code = health.Problem, exitStore
	}
	x.report.Unknown(area, severity, check, "", err)
}

// conn is the connection that may see most.
func (x *examination) conn() *bus.Conn {
	if x.admin != nil {
		return x.admin
	}
	return x.c.Conn
}

// away says whether the bus is one that somebody else owns.
func (x *examination) away() bool { return x.e.Config.Remote.URL != "" }

// services are those with a machine, with how far their doorbells are.
func (x *examination) services() map[string]health.Service {
	all := map[string]health.Service{}
	foldings := app.Foldings()
	for _, spec := range app.Specs() {
		f, ok := foldings[spec.Name]
		if !ok {
			continue
		}
		sv := health.Service{Spec: spec, Part: f.Part, Executors: map[string]bus.ConsumerState{}}
		sv.Events.Missing, sv.Timers.Missing = true, true
		for _, c := range x.consumers {
			switch {
			case c.Service != spec.Name:
			case c.Timers:
				sv.Timers = c
			case c.Name != spec.Name:
				sv.Executors[c.Name] = c
			default:
				sv.Events = c
			}
		}
		all[spec.Name] = sv
	}
	return all
}

// look reads how far the consumers are. Between two pulls a worker is not to be seen: who seems to be away is looked for again.
func (x *examination) look(ctx context.Context) error {
	first, err := bus.Consumers(ctx, x.admin, x.topology)
	if err != nil || x.c.At == "" {
		x.consumers = first
		return err
	}
	select {
	case <-time.After(lookAgain):
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	again, err := bus.Consumers(ctx, x.admin, x.topology)
	for i := range again {
		again[i].Waiting = max(again[i].Waiting, first[i].Waiting)
	}
	x.consumers = again
	return err
}

const lookAgain = 100 * time.Millisecond
