package app

import (
	"maps"
	"slices"

	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/config"
	"github.com/jetclaw/jetclaw/services/intake"
	"github.com/jetclaw/jetclaw/services/intake/access"
	"github.com/jetclaw/jetclaw/services/outbox"
	"github.com/jetclaw/jetclaw/services/outbox/delivery"
)

// findBots says who may write to which bot, and with doors also who takes its updates and who speaks for it. Without doors no bot
// is called: what it is to say waits for a process with doors.
func (e Env) findBots(p *parts, t Target, doors bool) error {
	bots := e.Config.Bots(e.Lookup)
	if len(bots) == 0 {
		return nil
	}
	if t.has("intake") {
		p.doors = make(map[string]intake.Door, len(bots))
		for name, b := range bots {
			p.doors[name] = intake.Door{Agent: b.Agent, Policy: e.policyOf(b)}
		}
	}
	if !doors {
		p.outboxLimits.Routes["telegram"] = delivery.Away
		return nil
	}
	if !t.has("intake") && !t.has("outbox") {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(bots)) {
		b := bots[name]
		warnings, err := e.Config.ResolveBot(e.resolver(), e.Home.Config(), name, &b)
		if err != nil {
			return err
		}
		for _, w := range warnings {
			e.Notice(w.String())
		}
		if t.has("intake") {
			p.incoming = append(p.incoming, incoming(name, b))
		}
		if t.has("outbox") {
			p.outgoing = append(p.outgoing, outbox.TelegramBot{
				Account: name, Token: b.Token.Value(), APIRoot: b.APIRoot, Streaming: b.Streaming == "edit",
			})
		}
	}
	return nil
}

func incoming(name string, b config.Telegram) intake.TelegramBot {
	bot := intake.TelegramBot{Account: name, Agent: b.Agent, Token: b.Token.Value(), APIRoot: b.APIRoot}
	if b.Webhook.Set() {
		bot.Webhook = &intake.TelegramWebhook{URL: b.Webhook.URL, Listen: b.Webhook.Listen, Secret: b.Webhook.Secret.Value()}
	}
	return bot
}

func (e Env) policyOf(b config.Telegram) access.Policy {
	p := access.Policy{Mode: access.Mode(b.Access), Allow: e.Config.LetIn(b), Groups: map[int64]access.Group{}}
	for id, g := range b.GroupsByID() {
		p.Groups[id] = access.Group{RequireMention: g.RequireMention, Users: g.UserIDs()}
	}
	return p
}
