package app

import (
	"strings"

	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/config"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/home"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/logs"
)

// CheckSecrets resolves the secrets that a start with this configuration would use. It asks nobody over the network.
func CheckSecrets(c *config.Config, h home.Home, lookup func(string) (string, bool), secrets *logs.Redactor) ([]config.Warning, error) {
	r := config.Resolver{Home: h.Dir(), Lookup: lookup, Known: secrets.Add}
	model := c.Agents[config.MainAgent].Model
	if model == "" {
		model = c.Models.Default
	}
	provider, _, _ := strings.Cut(model, "/")
	var warnings []config.Warning
	if p, ok := c.Models.Providers[provider]; ok && p.API == "openai" {
		w, err := c.Resolve(r, h.Config(), "models.providers."+provider+".api_key", &p.APIKey)
		if err != nil {
			return warnings, err
		}
		warnings = append(warnings, w...)
	}
	callback := c.Channels.HTTP.Callback
	w, err := c.Resolve(r, h.Config(), "channels.http.callback.token", &callback.Token)
	return append(warnings, w...), err
}
