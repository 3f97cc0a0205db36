package app

import (
	"errors"
	"maps"
	"slices"

	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/config"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/home"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/logs"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/models"
)

// CheckSecrets resolves the secrets that a start with this configuration would use, looks at the environment where it would
// choose the model, and at the workspaces: none may hold the home's keys. It asks nobody over the network. The error joins all that is wrong.
func CheckSecrets(c *config.Config, h home.Home, lookup func(string) (string, bool), secrets *logs.Redactor) ([]config.Warning, error) {
	r := config.Resolver{Home: h.Dir(), Lookup: lookup, Known: secrets.Add}
	var warnings []config.Warning
	var wrong []error
	resolve := func(path string, s config.Secret) {
		w, err := c.Resolve(r, h.Config(), path, &s)
		warnings, wrong = append(warnings, w...), append(wrong, err)
	}
	w, err := models.Check(models.Source{Config: c, ConfigFile: h.Config(), Resolver: r})
	warnings, wrong = append(warnings, w...), append(wrong, err)
	resolve("channels.http.callback.token", c.Channels.HTTP.Callback.Token)
	resolve("tools.web_search.key", c.Tools.WebSearch.Key)
	bots := c.Bots(lookup)
	for _, name := range slices.Sorted(maps.Keys(bots)) {
		bot := bots[name]
		w, err := c.ResolveBot(r, h.Config(), name, &bot)
		warnings, wrong = append(warnings, w...), append(wrong, err)
	}
	wrong = append(wrong, Env{Home: h, Config: c}.apart())
	return append(warnings, ruleWarnings(c, h.Config())...), errors.Join(wrong...)
}
