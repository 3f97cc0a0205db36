package app

import (
	"context"
	"os"
	"time"

	"github.com/jetclaw/jetclaw/bus/natsembed"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/home"
	"github.com/jetclaw/jetclaw/services/approvals"
	"github.com/jetclaw/jetclaw/services/builtin"
	"github.com/jetclaw/jetclaw/services/intake"
	"github.com/jetclaw/jetclaw/services/intake/thread"
	"github.com/jetclaw/jetclaw/services/mcp"
	"github.com/jetclaw/jetclaw/services/outbox"
	"github.com/jetclaw/jetclaw/services/outbox/delivery"
	"github.com/jetclaw/jetclaw/services/tools"
	"github.com/jetclaw/jetclaw/services/turns"
)

// parts are what the services of a target are made of, taken from the configuration with all secrets resolved. What
// belongs to a service outside of the target is left empty.
type parts struct {
	models string        // which model answers, for people; "" when none is called here
	notes  []string      // what a person is to know once it runs
	taking *turns.Config // nil: not in the target

	gating    *tools.Config     // nil: not in the target
	approving *approvals.Config // nil: not in the target
	running   *builtin.Config   // nil: not in the target
	serving   *mcp.Config       // nil: not in the target
	watch     *watch            // of the configuration; nil: it is read once

	http         *intake.HTTPConfig // nil: no listener
	doors        map[string]intake.Door
	incoming     []intake.TelegramBot // whose updates are taken in here
	owners       []string             // who may decide
	joinOwners   bool                 // who was made an owner when they were let in, too
	intakeLimits thread.Limits

	callback     *outbox.CallbackConfig // nil: replies wait to be asked for
	outgoing     []outbox.TelegramBot   // that speak here
	outboxLimits delivery.Limits

	index     string                                   // file of the read model of conversations
	holdIndex func() (release func() error, err error) // for this process alone
}

// httpToken is the name of the one token of the HTTP API; it is part of session ids.
const httpToken = "default"

// newParts reads the configuration for a target. Without doors nothing listens and nothing is pushed. Notices wait in notes: before
// something that ends the process they would only hide why.
func (e Env) newParts(ctx context.Context, t Target, doors bool) (*parts, error) {
	p := &parts{
		outboxLimits: delivery.DefaultLimits(), intakeLimits: thread.DefaultLimits(), index: e.Home.Conversations(),
		owners: e.Config.ApproversOr(), joinOwners: len(e.Config.Approvers) == 0,
	}
	p.holdIndex = func() (func() error, error) {
		return e.Home.AcquireIndex(home.Holder{PID: os.Getpid(), Command: e.Command, Since: time.Now(), Serves: true})
	}
	running := e // tells at once what there is to tell later
	e.Notice = func(text string) { p.notes = append(p.notes, text) }
	p.outboxLimits.ResendUnknown = e.Config.Outbox.OnUnknown != "hold"
	p.intakeLimits.MaxBytes = int(e.Config.Limits.MessageBytes)
	if t.has("turns") {
		if err := e.findModels(ctx, p); err != nil {
			return nil, err
		}
	}
	if err := e.findTools(ctx, p, t); err != nil {
		return nil, err
	}
	if err := running.findMCP(p, t); err != nil {
		return nil, err
	}
	if doors && (t.Server || t.has(mcp.Name)) {
		p.watch = &watch{path: e.Home.Config()}
	}
	if err := e.findBots(p, t, doors); err != nil {
		return nil, err
	}
	if !doors {
		if e.Config.Channels.HTTP.Callback.URL != "" {
			p.outboxLimits.Routes["http"] = delivery.Away
		}
		return p, nil
	}
	if t.has("tools") {
		for _, w := range ruleWarnings(e.Config, e.Home.Config()) {
			e.Notice(w.String())
		}
	}
	if t.has("outbox") {
		if err := e.findCallback(p); err != nil {
			return nil, err
		}
	}
	if t.has("intake") && e.Config.Channels.HTTP.Listen != "off" {
		token, err := e.Home.Token()
		if err != nil {
			return nil, &CredsError{err}
		}
		e.Secrets.Add(token)
		c := intake.DefaultHTTPConfig()
		h := e.Config.Channels.HTTP
		c.Listen, c.Hosts = h.Listen, h.Hosts
		if h.TLS.Set() {
			c.Certificate, c.Key = e.Home.Resolve(h.TLS.Cert), e.Home.Resolve(h.TLS.Key)
		}
		c.Tokens = map[string]string{httpToken: token}
		c.Holder = natsembed.PortOwner
		p.http = &c
	}
	return p, nil
}

// note tells what was found while the parts were made, once.
func (e Env) note(p *parts) {
	for _, n := range p.notes {
		e.Notice(n)
	}
	p.notes = nil
}

func (e Env) findCallback(p *parts) error {
	c := e.Config.Channels.HTTP.Callback
	if c.URL == "" {
		return nil
	}
	warnings, err := e.Config.Resolve(e.resolver(), e.Home.Config(), "channels.http.callback.token", &c.Token)
	if err != nil {
		return err
	}
	for _, w := range warnings {
		e.Notice(w.String())
	}
	p.callback = &outbox.CallbackConfig{URL: c.URL, Token: c.Token.Value()}
	return nil
}
