package app

import (
	"testing"

	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/config"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/models"
	"github.com/jetclaw/jetclaw/services/turns"
)

// TestVisionIsPassedOn: what is configured of a provider; one of the environment goes by the names of its models.
func TestVisionIsPassedOn(t *testing.T) {
	api := models.Provider{API: models.OpenAI, BaseURL: "http://model.test/v1"}
	c := catalogOf(
		models.Setup{Providers: map[string]models.Provider{"local": api, "openai": api, config.Offline: {API: models.Offline}}},
		config.Models{Providers: map[string]config.Provider{"local": {API: "openai", Vision: "on"}}},
	)
	if len(c.Providers) != 2 || c.Providers["local"].Vision != turns.VisionOn || c.Providers["openai"].Vision != "" {
		t.Errorf("got %+v", c.Providers)
	}
}
