package config

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/jetclaw/jetclaw/cmd/internal/suggest"
)

// Models says who answers. Without a default, the environment and local servers are looked at.
type Models struct {
	Default   string              `yaml:"default"`   // provider/model
	Fallbacks []string            `yaml:"fallbacks"` // asked in this order when it cannot answer
	Providers map[string]Provider `yaml:"providers"`
	Prices    map[string]Price    `yaml:"prices"` // by provider/model, where * stands for anything
}

// Provider is one model API.
type Provider struct {
	API     string `yaml:"api"` // openai, anthropic
	BaseURL string `yaml:"base_url"`
	APIKey  Secret `yaml:"api_key"`
	Context int    `yaml:"context"` // tokens of its models' window; 0: unknown
	Vision  string `yaml:"vision"`  // whether its models are shown pictures: auto (by their names), on, off; "" is auto
}

// Price is what a million tokens cost. A rate that is nil is not given; both of input and output always are.
type Price struct {
	Input      *Money `yaml:"input"`
	Output     *Money `yaml:"output"`
	CacheRead  *Money `yaml:"cache_read"`  // input that the provider had in its cache; nil: as input
	CacheWrite *Money `yaml:"cache_write"` // input that it put there; nil: as input
}

// PerThousand are the rates in billionths of a US dollar for 1,000 tokens, all of them whole and given.
func (p Price) PerThousand() (input, output, cacheRead, cacheWrite int64) {
	of := func(m *Money, otherwise int64) int64 {
		if m == nil {
			return otherwise
		}
		return m.Nano() / 1000
	}
	input = of(p.Input, 0)
	return input, of(p.Output, 0), of(p.CacheRead, input), of(p.CacheWrite, input)
}

// Offline is the name of the built-in provider, OfflineModel of its one model. Both need no configuration.
const (
	Offline      = "offline"
	OfflineModel = Offline + "/echo"
)

// Relay is the name of the provider that stands in for the model of client agents. Nobody can choose it.
const Relay = "relay"

// CanonicalModel is the one way to write a reference: "offline", and whatever is asked of that provider, is its model.
func CanonicalModel(ref string) string {
	if provider, _, _ := strings.Cut(ref, "/"); provider == Offline {
		return OfflineModel
	}
	return ref
}

// minContext is the smallest window that holds a request at all, in tokens.
const minContext = 1000

func (k *checker) models() {
	for _, name := range slices.Sorted(maps.Keys(k.c.Models.Providers)) {
		k.provider(name, k.c.Models.Providers[name], "models.providers."+name)
	}
	if k.c.Models.Default != "" {
		k.model("models.default", k.c.Models.Default)
	}
	k.fallbacks("models.fallbacks", k.c.Models.Fallbacks, k.c.Models.Default)
	for _, pattern := range slices.Sorted(maps.Keys(k.c.Models.Prices)) {
		k.price(pattern, k.c.Models.Prices[pattern], "models.prices."+pattern)
	}
}

func (k *checker) provider(name string, p Provider, path string) {
	if !nameOf(name, "_-.") {
		k.fail(path, "the name of a provider is 1 to 64 of A-Z a-z 0-9 _ - .", "")
	}
	if name == Offline {
		k.fail(path, "this name belongs to the built-in offline model", "choose another")
	}
	if name == Relay {
		k.fail(path, "this name belongs to what stands in for the model of client agents", "choose another")
	}
	k.oneOf(path+".api", p.API, "openai", "anthropic")
	k.tokens(path+".context", p.Context, minContext, "when it is not known")
	if p.Vision != "" {
		k.oneOf(path+".vision", p.Vision, "auto", "on", "off")
	}
	if p.BaseURL == "" {
		return
	}
	u := k.httpURL(path+".base_url", p.BaseURL)
	if u != nil && (u.RawQuery != "" || u.Fragment != "") {
		k.fail(path+".base_url", "holds a query or a fragment", "a key is written as env:NAME or file:PATH in api_key")
	}
	if u != nil && u.Scheme == "http" && p.APIKey.Set() && !loopback(u.Hostname()) {
		k.warn(path+".base_url", "the key and every conversation cross the network unencrypted; use https")
	}
}

func (k *checker) model(path, ref string) {
	if ref == Offline {
		return
	}
	provider, model, ok := strings.Cut(ref, "/")
	if !ok || provider == "" || !modelName(model) {
		k.fail(path, "a model is written as provider/model", "")
		return
	}
	if _, ok := k.c.Models.Providers[provider]; !ok && provider != Offline {
		known := append(slices.Sorted(maps.Keys(k.c.Models.Providers)), Offline)
		hint := suggest.Hint(provider, known)
		switch provider {
		case "openai":
			hint = `add there: openai: {api: openai, api_key: "env:OPENAI_API_KEY"}`
		case "anthropic":
			hint = `add there: anthropic: {api: anthropic, api_key: "env:ANTHROPIC_API_KEY"}`
		}
		k.fail(path, `no provider "`+provider+`" under models.providers`, hint)
	}
}

// modelName says whether a name can be shown, logged and sent. Which names there are only the provider knows.
func modelName(model string) bool {
	return model != "" && len(model) <= 200 && !strings.ContainsFunc(model, func(r rune) bool { return r <= ' ' || r > '~' })
}

// fallbacks checks a chain: it stands in for the model first.
func (k *checker) fallbacks(path string, refs []string, first string) {
	seen := map[string]string{}
	if first != "" {
		seen[CanonicalModel(first)] = "this is the model that it would stand in for"
	}
	for i, ref := range refs {
		at := path + "[" + strconv.Itoa(i) + "]"
		k.model(at, ref)
		name := CanonicalModel(ref)
		if text := seen[name]; text != "" {
			k.fail(at, text, "leave it out, or name another")
			continue
		}
		seen[name] = "this model is in the list already"
	}
}

// fromEnvironment are the providers that need no configuration, so that a price may name them.
var fromEnvironment = []string{"openai", "anthropic", "ollama", "llamacpp", "lmstudio", Offline}

func (k *checker) price(pattern string, p Price, path string) {
	provider, model, ok := strings.Cut(pattern, "/")
	if !ok || provider == "" || !modelName(model) {
		k.fail(path, "a price belongs to provider/model; * stands for anything", `as in "openai/gpt-4o*"`)
	} else if _, known := k.c.Models.Providers[provider]; !known && !strings.Contains(provider, "*") &&
		!slices.Contains(fromEnvironment, provider) {
		k.warn(path, `no provider "`+provider+`" under models.providers: this is the price of nothing`)
	}
	if p.Input == nil {
		k.fail(path, "input is missing: US dollars for a million tokens", "input: 3")
	}
	if p.Output == nil {
		k.fail(path, "output is missing: US dollars for a million tokens", "output: 15")
	}
	rates := map[string]*Money{"input": p.Input, "output": p.Output, "cache_read": p.CacheRead, "cache_write": p.CacheWrite}
	for _, name := range slices.Sorted(maps.Keys(rates)) {
		if m := rates[name]; m != nil && *m%1000 != 0 { // what a thousand tokens cost would not be a whole number
			k.fail(path+"."+name, "a price of a million tokens has at most six decimals", "")
		}
	}
}
