package app

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/config"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/models"
	"github.com/jetclaw/jetclaw/services/turns"
	"github.com/jetclaw/jetclaw/services/turns/price"
	"github.com/jetclaw/jetclaw/services/turns/turn"
)

// findModels is what the turns service is made of: which models there are, what they cost, and who uses them.
func (e Env) findModels(ctx context.Context, p *parts) error {
	setup, notes, err := models.Resolve(ctx, models.Source{
		Config: e.Config, ConfigFile: e.Home.Config(), Resolver: e.resolver(), Local: models.LocalServers(),
	})
	if err != nil {
		return err
	}
	for _, n := range notes {
		if !e.Silent {
			e.Notice(n)
		}
	}
	list := catalogOf(setup, e.Config.Models)
	list.Observer = e.told.models()
	catalog, err := turns.NewCatalog(list)
	if err != nil {
		return fmt.Errorf("models: %w", err)
	}
	prices, err := turns.Prices(ownPrices(e.Config.Models.Prices))
	if err != nil {
		return err
	}
	p.models = setup.String()
	p.taking = &turns.Config{Catalog: catalog, Prices: prices, Agents: map[string]turns.Agent{}, Budgets: e.budgets()}
	for _, name := range append(slices.Sorted(maps.Keys(e.Config.Agents)), config.MainAgent) {
		p.taking.Agents[name] = e.agent(name, setup)
	}
	e.told.named(refsOf(p.taking))
	if !e.Silent {
		e.noteUnpriced(p.taking, setup)
	}
	return nil
}

// refsOf are the models that the configuration names.
func refsOf(c *turns.Config) []string {
	refs := append(c.Catalog.Named(), turns.NewOffline().Name())
	for _, a := range c.Agents {
		refs = append(append(refs, a.Model), a.Fallbacks...)
	}
	return refs
}

// noteUnpriced warns of money limits that cannot be kept.
func (e Env) noteUnpriced(c *turns.Config, s models.Setup) {
	told := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(c.Agents)) {
		a := c.Agents[name]
		if a.Client || a.Budget.Cost == 0 && c.Budgets.Money == 0 && c.Budgets.Agents[name].Money == 0 {
			continue
		}
		for _, ref := range append([]string{a.Model}, a.Fallbacks...) {
			p, _, _ := s.Find(ref)
			if _, priced := c.Prices.Of(ref, p.Vendor); !priced && !told[ref] {
				told[ref] = true
				e.Notice("money is limited, but the price of " + ref + " is not known: a turn ends before its second model call, and a " +
					"budget of the day counts as used up after the first. Give its price under models.prices")
			}
		}
	}
}

func catalogOf(s models.Setup, configured config.Models) turns.CatalogConfig {
	c := turns.CatalogConfig{Providers: map[string]turns.Provider{}, Named: s.Named, Proxy: http.ProxyFromEnvironment}
	for name, p := range s.Providers {
		if p.API != models.Offline { // that one is always there
			c.Providers[name] = turns.Provider{
				API: turns.API(p.API), BaseURL: p.BaseURL, APIKey: p.Key, Window: p.Context, Vendor: p.Vendor,
				Vision: turns.Vision(configured.Providers[name].Vision),
			}
		}
	}
	return c
}

func ownPrices(configured map[string]config.Price) []price.UserPrice {
	var own []price.UserPrice
	for _, pattern := range slices.Sorted(maps.Keys(configured)) {
		var p price.Price
		p.Input, p.Output, p.CacheRead, p.CacheWrite = configured[pattern].PerThousand()
		own = append(own, price.UserPrice{Model: pattern, Price: &p})
	}
	return own
}

// agent is what the configuration says of one.
func (e Env) agent(name string, s models.Setup) turns.Agent {
	c, l := e.Config.Agent(name), e.Config.Limits
	chosen := s.Agent(name)
	a := turns.Agent{
		Client: c.Client, Model: chosen.Model, Fallbacks: chosen.Fallbacks, Instructions: c.Instructions, Window: l.Context,
		Allow: c.Tools.Allow, Deny: c.Tools.Deny,
		Limits: turn.DefaultLimits(), Queue: turn.DefaultQueue(), Queues: map[string]turn.Mode{},
		Budget: turn.Budget{Calls: l.Calls, Tokens: l.Tokens, Cost: l.Money.Nano()},
	}
	if c.Workspace != "" {
		a.Workspace = e.Home.Resolve(c.Workspace)
	}
	a.Limits.CallTime, a.Limits.TurnTime, a.Limits.Rounds = time.Duration(l.Call), time.Duration(l.Turn), l.Rounds
	a.Queue.Mode, a.Queue.Cap = turn.Mode(c.Queue), l.Queue
	a.Queue.Full, a.Queue.Debounce = turn.Full(l.QueueFull), time.Duration(l.Debounce)
	for channel := range c.Queues {
		a.Queues[channel] = turn.Mode(e.Config.QueueOf(name, channel))
	}
	return a
}

// budgets are those of the day.
func (e Env) budgets() turns.Budgets {
	all := turns.DayBudget{Tokens: e.Config.Budget.Tokens, Money: e.Config.Budget.Money.Nano()}
	b := turns.Budgets{Budget: all, Agents: map[string]turns.DayBudget{}}
	for name, a := range e.Config.Agents {
		if a.Budget.Tokens > 0 || a.Budget.Money > 0 {
			b.Agents[name] = turns.DayBudget{Tokens: a.Budget.Tokens, Money: a.Budget.Money.Nano()}
		}
	}
	return b
}
