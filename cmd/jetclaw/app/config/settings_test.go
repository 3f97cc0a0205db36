package config

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

func contains(err error, text string) bool { return err != nil && strings.Contains(err.Error(), text) }

func parse(t *testing.T, in string) *Config {
	t.Helper()
	c, _, err := Parse("c.yaml", []byte(in))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestValuesOfSettings(t *testing.T) {
	c := parse(t, everything)
	l := c.Limits
	l.MessageBytes, l.Call, l.Turn, l.Rounds = 0, 0, 0, 0
	if want := (Limits{Calls: 7, Tokens: 100_000, Money: 250_000_000, Context: 16000, Queue: 3, QueueFull: "oldest", Debounce: Duration(500 * time.Millisecond)}); l != want {
		t.Errorf("limits %+v", l)
	}
	if c.Budget != (Budget{Tokens: 9, Money: 10 * dollar}) || c.Agents["poet"].Budget != (Budget{Tokens: 2_000_000, Money: 5 * dollar}) {
		t.Errorf("budgets %+v %+v", c.Budget, c.Agents["poet"].Budget)
	}
	if want := (Retention{Dormant: Duration(180 * day), MaxBytes: 1 << 30, Archive: "old/sessions"}); c.Retention != want {
		t.Errorf("retention %+v", c.Retention)
	}
	if c.Models.Providers["local"].Context != 128_000 || c.Models.Providers["claude"].Context != 0 {
		t.Errorf("providers %+v", c.Models.Providers)
	}
	p, free := c.Models.Prices["claude/*"], c.Models.Prices["local/qwen3"]
	if *p.Input != 3*dollar || *p.Output != 15*dollar || *p.CacheRead != 300_000_000 || *p.CacheWrite != 3_750_000_000 {
		t.Errorf("price %+v", p)
	}
	if *free.Input != 0 || *free.CacheRead != 0 || free.CacheWrite != nil {
		t.Errorf("a rate of 0 and one that is not given are not told apart: %+v", free)
	}
}

func TestPerThousand(t *testing.T) {
	c := parse(t, "models: {prices: {openai/*: {input: 0.000001, output: 15, cache_read: 0}}}\n")
	in, out, read, write := c.Models.Prices["openai/*"].PerThousand()
	if in != 1 || out != 15_000_000 || read != 0 || write != 1 {
		t.Error(in, out, read, write)
	}
}

func TestDefaultsOfSettings(t *testing.T) {
	c := parse(t, "")
	l := c.Limits
	if l.Calls != 100 || l.Tokens != 0 || l.Money != 0 || l.Context != 0 || l.Queue != 20 || l.QueueFull != "newest" || l.Debounce != Duration(2*time.Second) {
		t.Errorf("limits %+v", l)
	}
	if c.Budget != (Budget{}) || c.Retention != (Retention{Archive: "archive"}) {
		t.Errorf("%+v %+v", c.Budget, c.Retention)
	}
	out, err := c.YAML()
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"calls: 100", "queue: 20", "queue_full: newest", "debounce: 2s", "archive: archive", "tokens: 0", "money: $0.00", "context: 0", "dormant: 0s"} {
		if !strings.Contains(string(out), want) {
			t.Errorf("%s is not shown in\n%s", want, out)
		}
	}
}

func TestProblemsOfSettings(t *testing.T) {
	const two = "models: {providers: {a: {}, b: {}}, "
	for name, c := range map[string]struct{ in, want string }{
		"fallback of nobody": {two + "fallbacks: [c/m]}\n", `c.yaml:1:49: models.fallbacks[0]: no provider "c" under models.providers; did you mean "a"?`},
		"fallback twice":     {two + "fallbacks: [a/m, b/m, a/m]}\n", "c.yaml:1:59: models.fallbacks[2]: this model is in the list already; leave it out, or name another"},
		"offline twice":      {two + "fallbacks: [offline, offline/echo]}\n", "c.yaml:1:58: models.fallbacks[1]: this model is in the list already; leave it out, or name another"},
		"fallback to itself": {two + "default: a/m, fallbacks: [a/m]}\n", "c.yaml:1:63: models.fallbacks[0]: this is the model that it would stand in for; leave it out, or name another"},
		"of an agent": {
			two + "default: a/m}\nagents: {x: {fallbacks: [a/m]}}\n",
			"c.yaml:2:26: agents.x.fallbacks[0]: this is the model that it would stand in for; leave it out, or name another",
		},
		"no list":             {two + "fallbacks: a/m}\n", "c.yaml:1:48: models.fallbacks: this is text, but a list ([a, b]) is expected"},
		"a model with spaces": {two + "default: a/m x}\n", "c.yaml:1:46: models.default: a model is written as provider/model"},
		"provider's name":     {"models: {providers: {a*b: {}}}\n", "c.yaml:1:27: models.providers.a*b: the name of a provider is 1 to 64 of A-Z a-z 0-9 _ - ."},
		"context":             {"models: {providers: {a: {context: 128}}}\n", "c.yaml:1:35: models.providers.a.context: must be at least 1000, or 0 when it is not known"},
		"price for nothing":   {two + "prices: {gpt: {input: 1, output: 1}}}\n", `c.yaml:1:51: models.prices.gpt: a price belongs to provider/model; * stands for anything; as in "openai/gpt-4o*"`},
		"half a price":        {two + "prices: {a/m: {input: 1}}}\n", "c.yaml:1:51: models.prices.a/m: output is missing: US dollars for a million tokens; output: 15"},
		"price below zero":    {two + "prices: {a/m: {input: -1, output: 1}}}\n", "c.yaml:1:59: models.prices.a/m.input: must not be negative"},
		"price too fine":      {two + "prices: {a/m: {input: 1, output: 0.0000001}}}\n", "c.yaml:1:70: models.prices.a/m.output: a price of a million tokens has at most six decimals"},
		"price's key":         {two + "prices: {a/m: {input: 1, output: 1, cached: 1}}}\n", "c.yaml:1:73: models.prices.a/m.cached: unknown key; known here: cache_read, cache_write, input, output"},
		"agent's name":        {"agents: {a.b: {}}\n", "c.yaml:1:15: agents.a.b: the name of an agent is 1 to 64 of A-Z a-z 0-9 _ -; it begins the ids of its sessions"},
		"queue":               {"agents: {main: {queue: stear}}\n", `c.yaml:1:24: agents.main.queue: must be one of followup, collect, steer, interrupt; did you mean "steer"?`},
		"queue of a channel":  {"agents: {main: {queues: {http: x}}}\n", "c.yaml:1:32: agents.main.queues.http: must be one of followup, collect, steer, interrupt"},
		"queue of no channel": {"agents: {main: {queues: {telegramm: steer}}}\n", `c.yaml:1:37: agents.main.queues.telegramm: there is no such channel; did you mean "telegram"?`},
		"agent's budget":      {"agents: {main: {budget: {tokens: -1}}}\n", "c.yaml:1:34: agents.main.budget.tokens: must be at least 1, or 0 for no limit"},
		"budget":              {"budget: {tokens: many}\n", "c.yaml:1:18: budget.tokens: this is text, but a whole number is expected"},
		"money":               {"budget: {money: 5 EUR}\n", "c.yaml:1:17: budget.money: an amount of US dollars is written as 5, 0.50 or $0.50"},
		"much money":          {"limits: {money: 1e9}\n", "c.yaml:1:17: limits.money: an amount of US dollars is written as 5, 0.50 or $0.50"},
		"money as a list":     {"limits: {money: [1]}\n", "c.yaml:1:17: limits.money: this is a list, but one value is expected"},
		"calls":               {"limits: {calls: -1}\n", "c.yaml:1:17: limits.calls: must be at least 1, or 0 for no limit"},
		"tokens":              {"limits: {tokens: 1.5}\n", "c.yaml:1:18: limits.tokens: this is a number, but a whole number is expected"},
		"small requests":      {"limits: {context: 10}\n", "c.yaml:1:19: limits.context: must be at least 1000, or 0 for as many as the model takes"},
		"queue's length":      {"limits: {queue: -3}\n", "c.yaml:1:17: limits.queue: must be at least 1, or 0 for any number"},
		"queue's policy":      {"limits: {queue_full: latest}\n", "c.yaml:1:22: limits.queue_full: must be one of newest, oldest; did you mean \"newest\"?"},
		"debounce":            {"limits: {debounce: 6s}\n", "c.yaml:1:20: limits.debounce: must be between 0s and 5s"},
		"dormant":             {"retention: {dormant: 23h}\n", "c.yaml:1:22: retention.dormant: must be at least 1d, or 0 to keep all sessions"},
		"dormant in the past": {"retention: {dormant: -30h}\n", "c.yaml:1:22: retention.dormant: must be at least 1d, or 0 to keep all sessions"},
		"size kept":           {"retention: {max_bytes: 10KiB}\n", "c.yaml:1:24: retention.max_bytes: must be at least 1MiB, or 0 for any size"},
		"archive outside":     {"retention: {archive: ../x}\n", "c.yaml:1:22: retention.archive: must be a folder inside of the home, or an absolute path; as in archive"},
		"archive at home":     {"retention: {archive: ./}\n", "c.yaml:1:22: retention.archive: must be a folder inside of the home, or an absolute path; as in archive"},
		"archive in the keys": {"retention: {archive: ./keys/x}\n", "c.yaml:1:22: retention.archive: keys in the home holds other things; choose another folder, as in archive"},
		"archive in an index": {"retention: {archive: index}\n", "c.yaml:1:22: retention.archive: index in the home holds other things; choose another folder, as in archive"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, _, err := Parse("c.yaml", []byte(c.in)); err == nil || err.Error() != c.want {
				t.Errorf("got  %v\nwant %s", err, c.want)
			}
		})
	}
}

func TestWhatAnAgentUses(t *testing.T) {
	c := parse(t, `
models: {default: a/m, fallbacks: [b/m, offline], providers: {a: {}, b: {}}}
agents:
  main: {queue: collect, queues: {http: steer, terminal: }}
  own: {model: b/m}
  alone: {model: b/n, fallbacks: []}
  other: {fallbacks: [b/n]}
`)
	for agent, want := range map[string]struct {
		model, path string
		fallbacks   []string
	}{
		"main":    {"a/m", "models.default", []string{"b/m", "offline"}},
		"own":     {"b/m", "agents.own.model", []string{"offline"}}, // it does not stand in for itself
		"alone":   {"b/n", "agents.alone.model", []string{}},
		"other":   {"a/m", "models.default", []string{"b/n"}},
		"unknown": {"a/m", "models.default", []string{"b/m", "offline"}},
	} {
		ref, path := c.ModelOf(agent)
		if got := c.FallbacksOf(agent); ref != want.model || path != want.path || !reflect.DeepEqual(got, want.fallbacks) {
			t.Errorf("%s: %s by %s, then %v", agent, ref, path, got)
		}
	}
	if len(c.Models.Fallbacks) != 2 || c.Models.Fallbacks[0] != "b/m" {
		t.Errorf("the configuration was changed: %v", c.Models.Fallbacks)
	}
	for of, want := range map[[2]string]string{
		{"main", "http"}: "steer", {"main", "terminal"}: "collect", {"main", "telegram"}: "collect", {"own", "http"}: "followup", {"unknown", "http"}: "followup",
	} {
		if got := c.QueueOf(of[0], of[1]); got != want {
			t.Errorf("%v: %s, want %s", of, got, want)
		}
	}
	c = parse(t, "models: {default: a/m, providers: {a: {}}}\nagents: {main: {model: offline}, x: {}}\n")
	if ref, path := c.ModelOf("x"); ref != "a/m" || path != "models.default" {
		t.Errorf("%s by %s", ref, path)
	}
	c = parse(t, "agents: {main: {model: offline}, x: {}}\n")
	if ref, path := c.ModelOf("x"); ref != "offline" || path != "agents.main.model" {
		t.Errorf("%s by %s", ref, path)
	}
}
