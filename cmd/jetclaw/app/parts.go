package app

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/jetclaw/jetclaw/bus/natsembed"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/config"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/models"
	"github.com/jetclaw/jetclaw/services/intake"
	"github.com/jetclaw/jetclaw/services/intake/thread"
	"github.com/jetclaw/jetclaw/services/outbox"
	"github.com/jetclaw/jetclaw/services/outbox/delivery"
	"github.com/jetclaw/jetclaw/services/turns"
	"github.com/jetclaw/jetclaw/services/turns/turn"
)

// parts are what the services of a target are made of, taken from the configuration with all secrets resolved. What
// belongs to a service outside of the target is left empty.
type parts struct {
	choice     models.Choice
	model      turns.Model
	system     string
	turnLimits turn.Limits

	http         *intake.HTTPConfig // nil: no listener
	intakeLimits thread.Limits

	callback     *outbox.CallbackConfig // nil: replies wait to be asked for
	outboxLimits delivery.Limits
}

// httpToken is the name of the one token of the HTTP API; it is part of session ids.
const httpToken = "default"

// newParts reads the configuration for a target. Without doors nothing listens and nothing is pushed.
func (e Env) newParts(ctx context.Context, t Target, doors bool) (*parts, error) {
	p := &parts{outboxLimits: delivery.DefaultLimits(), intakeLimits: thread.DefaultLimits(), turnLimits: turn.DefaultLimits()}
	p.outboxLimits.ResendUnknown = e.Config.Outbox.OnUnknown != "hold"
	p.intakeLimits.MaxBytes = int(e.Config.Limits.MessageBytes)
	p.turnLimits.CallTime = time.Duration(e.Config.Limits.Call)
	p.turnLimits.TurnTime = time.Duration(e.Config.Limits.Turn)
	p.turnLimits.Rounds = e.Config.Limits.Rounds
	if t.has("turns") {
		if err := e.chooseModel(ctx, p); err != nil {
			return nil, err
		}
	}
	if !doors {
		return p, nil
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
		c.Listen = e.Config.Channels.HTTP.Listen
		c.Tokens = map[string]string{httpToken: token}
		c.Holder = natsembed.PortOwner
		p.http = &c
	}
	return p, nil
}

func (e Env) chooseModel(ctx context.Context, p *parts) error {
	choice, notes, err := models.Choose(ctx, models.Source{
		Config: e.Config, ConfigFile: e.Home.Config(), Resolver: e.resolver(), Local: models.LocalServers(),
	})
	if err != nil {
		return err
	}
	for _, n := range notes {
		e.Notice(n)
	}
	p.choice, p.system = choice, e.Config.Agents[config.MainAgent].Instructions
	if choice.API == models.Offline {
		p.model = turns.NewOffline()
		return nil
	}
	p.model, err = turns.NewOpenAI(turns.OpenAIConfig{
		Provider: choice.Provider, BaseURL: choice.BaseURL, APIKey: choice.Key, Model: choice.Model,
		Proxy: http.ProxyFromEnvironment,
	})
	if err != nil {
		return fmt.Errorf("model %s: %w", choice.Name(), err)
	}
	return nil
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
