package models

import (
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/config"
)

const several = `
models:
  default: a/one
  fallbacks: [b/two, offline]
  providers:
    a: {base_url: "https://api.openai.com/v1", api_key: "env:A", context: 128000}
    b: {api: anthropic, api_key: "env:B"}
    c: {base_url: "https://c.example/v1", api_key: "env:C"}
    free: {base_url: "http://127.0.0.1:9/v1"}
agents:
  zoe: {model: b/two, fallbacks: [free/x/y, a/one]}
  ann: {model: offline/anything}
  bob: {}
  main: {model: free/x/y}
`

var keys = map[string]string{"A": "secret-a", "B": "secret-b", "C": "secret-c"}

func TestSeveralProviders(t *testing.T) {
	s, notes, _, err := resolve(t, several, keys)
	if err != nil || len(notes) != 0 {
		t.Fatal(err, notes)
	}
	want := map[string]Provider{
		"a":       {API: OpenAI, BaseURL: "https://api.openai.com/v1", Key: "secret-a", Context: 128000, Vendor: "openai"},
		"b":       {API: Anthropic, BaseURL: "https://api.anthropic.com", Key: "secret-b", Vendor: "anthropic"},
		"c":       {API: OpenAI, BaseURL: "https://c.example/v1", Key: "secret-c"},
		"free":    {API: OpenAI, BaseURL: "http://127.0.0.1:9/v1"},
		"offline": {API: Offline, Vendor: "offline"},
	}
	if !reflect.DeepEqual(s.Providers, want) {
		t.Errorf("providers %v", s.Providers)
	}
	agents := map[string]Agent{
		"main": {"free/x/y", []string{"b/two", "offline/echo"}},
		"ann":  {"offline/echo", []string{"b/two"}},
		"bob":  {"a/one", []string{"b/two", "offline/echo"}},
		"zoe":  {"b/two", []string{"free/x/y", "a/one"}},
	}
	if !reflect.DeepEqual(s.Agents, agents) {
		t.Errorf("agents %+v", s.Agents)
	}
	if got := s.Agent("nobody"); !reflect.DeepEqual(got, agents["bob"]) {
		t.Errorf("an agent that is not configured: %+v", got)
	}
	if got := strings.Join(s.Named, " "); got != "a/one b/two offline/echo free/x/y" {
		t.Errorf("named: %s", got)
	}
	if got := s.String(); got != "free/x/y at http://127.0.0.1:9/v1 (agents.main.model)" {
		t.Errorf("%s", got)
	}
	if got := strings.Join(s.Names(), " "); got != "a b c free offline" {
		t.Errorf("names: %s", got)
	}
	tellsNoKey(t, s, notes)
}

func TestFind(t *testing.T) {
	s, _, _, err := resolve(t, several, keys)
	if err != nil {
		t.Fatal(err)
	}
	for ref, want := range map[string]struct {
		api   API
		model string
		text  string
	}{
		"a/one":    {OpenAI, "one", "a/one at https://api.openai.com/v1"},
		"free/x/y": {OpenAI, "x/y", "free/x/y at http://127.0.0.1:9/v1"},
		"offline":  {Offline, "echo", "offline/echo (built in: it only repeats what it is told)"},
		"nope/x":   {"", "x", "nope/x (there is no such provider)"},
		"a":        {"", "", "a (there is no such provider)"},
		"a/":       {"", "", "a/ (there is no such provider)"},
	} {
		p, model, ok := s.Find(ref)
		if ok != (want.api != "") || ok && (p.API != want.api || model != want.model) {
			t.Errorf("%s: %v %q %v", ref, p, model, ok)
		}
		if got := s.Describe(ref); got != want.text {
			t.Errorf("%s is described as %q", ref, got)
		}
	}
}

// TestMissingKeys: what somebody asked for is an error, the rest is left out.
func TestMissingKeys(t *testing.T) {
	s, notes, _, err := resolve(t, several, map[string]string{"A": "k", "B": "k"})
	if err != nil || len(notes) != 1 || notes[0] != "c.yaml:8:52: models.providers.c.api_key: env:C: the environment variable is not set, so that no model of c can be chosen" {
		t.Errorf("%v %q", err, notes)
	}
	if _, _, ok := s.Find("c/x"); ok {
		t.Error("a provider without its key can be chosen")
	}
	var se *config.SecretError
	_, notes, _, err = resolve(t, several, nil)
	if !errors.As(err, &se) || len(notes) != 0 {
		t.Fatalf("%v %q", err, notes)
	}
	for _, want := range []string{"models.providers.a.api_key: env:A", "models.providers.b.api_key: env:B", "export A=", "export B="} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%s is missing in %v", want, err)
		}
	}
	if strings.Contains(err.Error(), "env:C") {
		t.Errorf("a key that nobody uses is missed: %v", err)
	}
	for _, asks := range []string{
		"models: {default: p/m, providers: {p: {api_key: \"env:NO\"}}}", "models: {fallbacks: [p/m], providers: {p: {api_key: \"env:NO\"}}}",
		"models: {providers: {p: {api_key: \"env:NO\"}}}\nagents: {x: {model: p/m}}",
		"models: {default: offline, providers: {p: {api_key: \"env:NO\"}}}\nagents: {x: {fallbacks: [p/m]}}",
	} {
		if _, _, _, err := resolve(t, asks, nil); !errors.As(err, &se) {
			t.Errorf("%s: %v", asks, err)
		}
	}
}

func TestBothOfTheEnvironment(t *testing.T) {
	env := map[string]string{
		"OPENAI_API_KEY": "secret-o", "OPENAI_MODEL": "gpt-x", "ANTHROPIC_API_KEY": "secret-a", "ANTHROPIC_MODEL": "claude-x",
	}
	s, notes, _, err := resolve(t, "agents: {x: {model: offline}}", env)
	if err != nil || len(notes) != 0 {
		t.Fatal(err, notes)
	}
	if got := strings.Join(s.Named, " "); got != "openai/gpt-x offline/echo anthropic/claude-x" || len(s.Fallbacks) != 0 || len(s.Agents["main"].Fallbacks) != 0 {
		t.Errorf("named %s, fallbacks %v", got, s.Fallbacks)
	}
	if p, _, ok := s.Find("anthropic/other"); !ok || p.Key != "secret-a" || p.Vendor != "anthropic" {
		t.Errorf("%v %v", p, ok)
	}
	if p := s.Providers["openai"]; p.Key != "secret-o" || p.Vendor != "openai" {
		t.Errorf("%v", p)
	}
	s, _, _, err = resolve(t, "models: {default: offline}", env)
	if err != nil || len(s.Providers) != 1 || len(s.Named) != 1 {
		t.Errorf("an environment that is not asked is used: %v %v %v", err, s.Providers, s.Named)
	}
}

// TestConfiguredProviderOfTheEnvironment: its definition counts, also where its key cannot be had.
func TestConfiguredProviderOfTheEnvironment(t *testing.T) {
	const conf = "models: {fallbacks: [offline, openai/gpt-x], providers: {openai: {base_url: \"https://p.example/v1\", api_key: \"env:MINE\"}}}"
	env := map[string]string{"OPENAI_API_KEY": "secret-o", "OPENAI_MODEL": "gpt-x", "MINE": "secret-m"}
	s, _, _, err := resolve(t, conf, env)
	if err != nil || s.Providers["openai"].Key != "secret-m" || s.Providers["openai"].Vendor != "" || s.Default != "openai/gpt-x" {
		t.Errorf("%v %v", err, s)
	}
	if got := s.Agents["main"].Fallbacks; !reflect.DeepEqual(got, []string{"offline/echo"}) || !reflect.DeepEqual(s.Fallbacks, got) {
		t.Errorf("the default stands in for itself: %v", got)
	}
	delete(env, "MINE")
	var se *config.SecretError
	bare := strings.Replace(conf, "fallbacks: [offline, openai/gpt-x], ", "", 1)
	if _, _, _, err := resolve(t, bare, env); !errors.As(err, &se) {
		t.Errorf("the default is another than the one that was asked for: %v", err)
	}
	second := strings.Replace(bare, "openai:", "anthropic:", 1)
	env["ANTHROPIC_API_KEY"] = "secret-a"
	if s, notes, _, err := resolve(t, second, env); err != nil || len(notes) != 1 || len(s.Named) != 1 {
		t.Errorf("%v %q %v", err, notes, s.Named)
	}
}

func TestVendor(t *testing.T) {
	for base, want := range map[string]string{
		"https://API.openai.com/v1": "openai", "https://api.openai.com:443/v1": "openai", "https://api.anthropic.com/v1/": "anthropic",
		"https://api.openai.com.example/v1": "", "https://eu.api.openai.com/v1": "", "http://127.0.0.1/api.openai.com": "", "": "", ":": "",
	} {
		if got := vendor(base); got != want {
			t.Errorf("%s: %q", base, got)
		}
	}
}

func TestCheck(t *testing.T) {
	s, known := source(t, several, map[string]string{"A": "secret-a", "OPENAI_BASE_URL": "nowhere"}, Local{"ollama", "http://never.invalid"})
	warnings, err := Check(s)
	if err == nil || !strings.Contains(err.Error(), "env:B") || strings.Contains(err.Error(), "OPENAI") {
		t.Errorf("%v", err)
	}
	if len(warnings) != 1 || warnings[0].Path != "models.providers.c.api_key" || warnings[0].Line != 8 || len(*known) != 1 {
		t.Errorf("%v", warnings)
	}
	s, _ = source(t, "", map[string]string{"OPENAI_BASE_URL": "nowhere", "ANTHROPIC_API_KEY": "a b"})
	if _, err := Check(s); err == nil || !strings.Contains(err.Error(), "OPENAI_BASE_URL") || !strings.Contains(err.Error(), "ANTHROPIC_API_KEY") {
		t.Errorf("%v", err)
	}
}
