package app

import (
	"context"
	"encoding/json"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/bus/recheck"
	"github.com/jetclaw/jetclaw/services/approvals"
	"github.com/jetclaw/jetclaw/services/builtin"
	"github.com/jetclaw/jetclaw/services/mcp"
	"github.com/jetclaw/jetclaw/services/outbox"
	"github.com/jetclaw/jetclaw/services/tools"
	"github.com/jetclaw/jetclaw/services/turns"
)

// Machines are those of all services, as they are asked about a journal. What they were configured with is read on conn, which
// has to be the command line's or the owner's. The result is good as long as ctx.
func Machines(ctx context.Context, conn *bus.Conn) ([]recheck.Machine, error) {
	rules := func(service, digest string) json.RawMessage {
		raw, err := conn.Rules(ctx, service, digest)
		if err != nil {
			conn.Log().Warn("rules of a machine cannot be read", "service", service, "error", err)
		}
		return raw
	}
	var all []recheck.Machine
	for _, of := range []func(recheck.Rules) (recheck.Machine, error){
		turns.Recheck, tools.Recheck, approvals.Recheck, builtin.Recheck, mcp.Recheck, outbox.Recheck,
	} {
		m, err := of(rules)
		if err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return all, nil
}
