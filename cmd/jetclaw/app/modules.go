package app

import (
	"fmt"
	"slices"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/cmd/internal/lifecycle"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/natsconf"
	"github.com/jetclaw/jetclaw/services/approvals"
	"github.com/jetclaw/jetclaw/services/bridge"
	"github.com/jetclaw/jetclaw/services/builtin"
	"github.com/jetclaw/jetclaw/services/conversations"
	"github.com/jetclaw/jetclaw/services/intake"
	"github.com/jetclaw/jetclaw/services/mcp"
	"github.com/jetclaw/jetclaw/services/outbox"
	"github.com/jetclaw/jetclaw/services/tools"
	"github.com/jetclaw/jetclaw/services/turns"
)

// module is one service: what it does on the bus, and how it is made on a connection of its own.
type module struct {
	spec bus.Spec
	make func(*parts, *bus.Conn) (lifecycle.Service, error)
}

// modules is the one list of the services that exist, in the order in which they start: who is rung before who rings.
func modules() []module {
	return []module{
		{outbox.Spec(), (*parts).outbox},
		{builtin.Spec(), (*parts).builtin},
		{mcp.Spec(), (*parts).mcp},
		{tools.Spec(), (*parts).tools},
		{approvals.Spec(), (*parts).approvals},
		{turns.Spec(), (*parts).turns},
		{conversations.Spec(), (*parts).conversations},
		{intake.Spec(), (*parts).intake},
	}
}

func specs() []bus.Spec {
	list := modules()
	all := make([]bus.Spec, len(list))
	for i, m := range list {
		all[i] = m.spec
	}
	return all
}

// cliUser is the command line at a running daemon.
const cliUser = "cli"

// clients are those who connect and are no service: the command line, and servers of other MCP clients.
func clients() []bus.Spec {
	return []bus.Spec{{Name: cliUser, Follows: true, ReadsRules: true, Asks: []string{
		"intake.submit", "intake.control", "intake.reply", "turns.context", "turns.delete", "turns.fork", "turns.rerun",
		"approvals.list", "approvals.get", "approvals.decide", "tools.explain",
		"intake.pairing-list", "intake.pairing-approve", "intake.pairing-revoke", "intake.channels",
		"conversations.list", "conversations.get", "conversations.read", "conversations.search",
		"conversations.status", "conversations.reindex",
		"mcp.status", "mcp.reload", "mcp.probe", "mcp.login", "mcp.code", "mcp.logout",
	}}, bridge.Spec()}
}

// permissionsOf is what the user of a service or client may do in this house.
func permissionsOf(s bus.Spec) bus.Permissions {
	return bus.PermissionsOf(s, slices.Concat(clients(), specs())...)
}

// BusUsers are all who may connect to the bus: the owner of the topology, clients, and one a service.
func BusUsers() []natsconf.User {
	list := []natsconf.User{{Name: bus.Admin, Permissions: bus.AdminPermissions()}}
	for _, s := range slices.Concat(clients(), specs()) {
		list = append(list, natsconf.User{Name: s.Name, Permissions: permissionsOf(s)})
	}
	return list
}

func userNames() []string {
	list := BusUsers()
	names := make([]string, len(list))
	for i, u := range list {
		names[i] = u.Name
	}
	return names
}

func (p *parts) outbox(c *bus.Conn) (lifecycle.Service, error) {
	o := outbox.Config{Conn: c, Limits: p.outboxLimits, Senders: map[string]outbox.Sender{}, Log: c.Log()}
	if p.callback != nil {
		sender, err := outbox.Callback(*p.callback)
		if err != nil {
			return nil, fmt.Errorf("channels.http.callback: %w", err)
		}
		o.Senders["http"] = sender
	}
	if len(p.outgoing) > 0 {
		sender, err := outbox.Telegram(outbox.TelegramConfig{Bots: p.outgoing, Store: c, Log: c.Log()})
		if err != nil {
			return nil, fmt.Errorf("channels.telegram: %w", err)
		}
		o.Senders["telegram"] = sender
	}
	return outbox.New(o)
}

func (p *parts) turns(c *bus.Conn) (lifecycle.Service, error) {
	config := *p.taking
	config.Conn, config.Log = c, c.Log()
	return turns.New(config)
}

func (p *parts) tools(c *bus.Conn) (lifecycle.Service, error) {
	config := *p.gating
	config.Conn, config.Log = c, c.Log()
	return tools.New(config)
}

func (p *parts) approvals(c *bus.Conn) (lifecycle.Service, error) {
	config := *p.approving
	config.Conn, config.Log = c, c.Log()
	return approvals.New(config)
}

func (p *parts) builtin(c *bus.Conn) (lifecycle.Service, error) {
	config := *p.running
	config.Conn, config.Log = c, c.Log()
	return builtin.New(config)
}

func (p *parts) intake(c *bus.Conn) (lifecycle.Service, error) {
	return intake.New(intake.Config{
		Conn: c, HTTP: p.http, Doors: p.doors, Bots: p.incoming, Owners: p.owners, JoinOwners: p.joinOwners, Limits: p.intakeLimits, Log: c.Log(),
	})
}
