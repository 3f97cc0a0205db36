package app

import (
	"context"
	"errors"
	"fmt"

	"github.com/jetclaw/jetclaw/bus"
)

// WithOwner lets fn talk to a bus as the owner of its topology: to the one that was named, else to that of remote.url, else to the
// home's own. One that was named or configured is waited for as p says. Its errors are a *BusError where JetStream cannot answer.
func (e Env) WithOwner(ctx context.Context, named Away, p Patience, fn func(context.Context, *bus.Conn) error) error {
	visit := func(ctx context.Context, c Client) error {
		admin, err := p.reach(ctx, func() (*bus.Conn, error) { return c.Admin(ctx) })
		if err != nil {
			return err
		}
		if err = admin.CheckUser(ctx, bus.AdminPermissions()); err == nil {
			err = silent(fn(ctx, admin))
		}
		e.part(ctx, admin)
		return err
	}
	at := e.Or(named)
	if at.URL == "" {
		return e.with(ctx, Target{Server: true}, visit)
	}
	g, err := e.elsewhere(ctx, at, false)
	if err != nil {
		return err
	}
	return visit(ctx, Client{dial: g.dial})
}

// TopologyOn is what a bus has to have that was named, or that the configuration names.
func (e Env) TopologyOn(named Away) (bus.Topology, error) {
	if named.URL == "" {
		return e.Topology()
	}
	return bus.TopologyOf(specs(), e.limits(), executorsOf(e.Config)...), nil
}

// ErrNoOwnerKey is told of commands that need the key of the topology's owner.
var ErrNoOwnerKey = errors.New("the key of the bus user admin is not here")

// ownerKey explains an error of Admin.
func ownerKey(err error) error {
	return fmt.Errorf("%w: --creds (remote.creds) names the folder that has admin.nk: %w", ErrNoOwnerKey, err)
}
