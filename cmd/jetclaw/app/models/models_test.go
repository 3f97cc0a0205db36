package models

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/config"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// serves is a model server that lists models and must not be asked anything else.
func serves(t *testing.T, body string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet || r.URL.Path != "/v1/models" {
			t.Errorf("asked for %s %s", r.Method, r.URL.Path)
		}
		fmt.Fprint(w, body)
	}))
	t.Cleanup(s.Close)
	return s.URL + "/v1"
}

// nobody is an address where nobody listens.
func nobody(t *testing.T) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return "http://" + l.Addr().String() + "/v1"
}

func source(t *testing.T, yaml string, env map[string]string, local ...Local) (s Source, known *[]string) {
	t.Helper()
	c, _, err := config.Parse("c.yaml", []byte(yaml))
	if err != nil {
		t.Fatal(err)
	}
	known = new([]string)
	return Source{
		Config: c, ConfigFile: "c.yaml", Local: local,
		Resolver: config.Resolver{
			Home:   t.TempDir(),
			Lookup: func(n string) (string, bool) { v, ok := env[n]; return v, ok },
			Known:  func(v ...string) { *known = append(*known, v...) },
		},
	}, known
}

func resolve(t *testing.T, yaml string, env map[string]string, local ...Local) (Setup, []string, []string, error) {
	t.Helper()
	s, known := source(t, yaml, env, local...)
	got, notes, err := Resolve(t.Context(), s)
	return got, notes, *known, err
}

func TestOrder(t *testing.T) {
	list := `{"object":"list","data":[{"id":"nomic-embed-text"},{"id":"qwen3:8b"},{"id":"other"}]}`
	here, none := serves(t, list), nobody(t)
	conf := "models: {default: p/m, providers: {p: {base_url: \"https://x.example/v1\", api_key: \"env:PKEY\"}}}"
	for name, c := range map[string]struct {
		yaml  string
		env   map[string]string
		local []Local
		want  string // name at base
		notes string
	}{
		"configured": {
			yaml: conf, env: map[string]string{"PKEY": "secret-p", "OPENAI_API_KEY": "secret-o"},
			want: "p/m at https://x.example/v1 (models.default)",
		},
		"of the agent": {
			yaml: "agents: {main: {model: q/a/b}}\nmodels: {default: offline, providers: {q: {}}}",
			want: "q/a/b at https://api.openai.com/v1 (agents.main.model)",
		},
		"offline by wish": {yaml: "models: {default: offline}", env: map[string]string{"OPENAI_API_KEY": "x"}, want: "offline/echo (built in"},
		"openai": {
			env:  map[string]string{"OPENAI_API_KEY": "secret-o", "OPENAI_MODEL": "gpt-x", "ANTHROPIC_API_KEY": "secret-a"},
			want: "openai/gpt-x at https://api.openai.com/v1 (OPENAI_API_KEY)",
		},
		"openai without a model": {
			env: map[string]string{"OPENAI_API_KEY": "secret-o"}, want: "openai/" + openAIModel, notes: "OPENAI_MODEL is not set",
		},
		"base without a model": {
			env: map[string]string{"OPENAI_BASE_URL": here}, want: "openai/qwen3:8b at " + here + " (OPENAI_BASE_URL)",
		},
		"base that lists none": {
			env: map[string]string{"OPENAI_BASE_URL": none}, want: "openai/default", notes: "does not list its models",
		},
		"anthropic": {
			env: map[string]string{"ANTHROPIC_API_KEY": "secret-a", "ANTHROPIC_MODEL": "claude-x"}, local: []Local{{"ollama", here}},
			want: "anthropic/claude-x at https://api.anthropic.com (ANTHROPIC_API_KEY)",
		},
		"anthropic without a model": {
			env:  map[string]string{"ANTHROPIC_API_KEY": "secret-a", "ANTHROPIC_BASE_URL": "https://proxy.example/a/v1/"},
			want: "anthropic/" + anthropicModel + " at https://proxy.example/a (ANTHROPIC_API_KEY)", notes: "ANTHROPIC_MODEL is not set",
		},
		"an address of anthropic without a key": {
			env: map[string]string{"ANTHROPIC_BASE_URL": "not looked at"}, local: []Local{{"ollama", here}}, want: "ollama/qwen3:8b at " + here,
		},
		"openai's own address": {
			env:  map[string]string{"OPENAI_API_KEY": "secret-o", "OPENAI_BASE_URL": "https://api.openai.com/v1/"},
			want: "openai/" + openAIModel, notes: "OPENAI_MODEL is not set: asking for",
		},
		"a configured one of that name": {
			yaml: "models: {providers: {openai: {base_url: \"" + here + "\", api_key: \"env:MINE\"}}}",
			env:  map[string]string{"OPENAI_API_KEY": "secret-o", "MINE": "secret-m"},
			want: "openai/qwen3:8b at " + here + " (models.providers.openai)",
		},
		"a configured local one": {
			yaml: "models: {providers: {ollama: {base_url: \"" + here + "/\", context: 4096}}}", local: []Local{{"ollama", here}},
			want: "ollama/qwen3:8b at " + here + "/ (it runs",
		},
		"a configured one elsewhere with the name of a local one": {
			yaml: "models: {providers: {ollama: {base_url: \"" + none + "\"}}}", local: []Local{{"ollama", here}},
			want: "offline/echo", notes: "set models.default to a model of a configured provider, set OPENAI_API_KEY",
		},
		"the first local one that is there": {
			local: []Local{{"ollama", none}, {"llamacpp", here}, {"lmstudio", here}}, want: "llamacpp/qwen3:8b at " + here,
		},
		"a local server of another kind": {
			local: []Local{{"llamacpp", serves(t, "<html>hello")}, {"lmstudio", serves(t, `{"data":[]}`)}},
			want:  "offline/echo", notes: "no model is configured",
		},
		"nothing": {local: []Local{{"ollama", none}}, want: "offline/echo", notes: "set OPENAI_API_KEY"},
	} {
		t.Run(name, func(t *testing.T) {
			setup, notes, known, err := resolve(t, c.yaml, c.env, c.local...)
			if err != nil {
				t.Fatal(err)
			}
			if got := setup.String(); !strings.HasPrefix(got, c.want) {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
			if got := strings.Join(notes, "\n"); !strings.Contains(got, c.notes) || c.notes == "" && got != "" {
				t.Errorf("notes %q, want %q", got, c.notes)
			}
			tellsNoKey(t, setup, notes)
			for name, p := range setup.Providers {
				if p.Key != "" && !slices.Contains(known, p.Key) {
					t.Errorf("the redactor does not know the key of %s", name)
				}
			}
			if setup.Providers["offline"].API != Offline {
				t.Error("the offline model is not there")
			}
			if _, _, ok := setup.Find(setup.Default); !ok || setup.Named[0] != setup.Default {
				t.Errorf("the default %s is not among %v", setup.Default, setup.Named)
			}
		})
	}
}

func tellsNoKey(t *testing.T, setup Setup, notes []string) {
	t.Helper()
	j, err := json.Marshal(setup)
	if err != nil {
		t.Fatal(err)
	}
	out := fmt.Sprintf("%v %+v %#v %s %q %s", setup, setup, setup, setup, notes, j)
	for _, p := range setup.Providers {
		out += fmt.Sprintf("%v %+v %#v %s", p, p, p, &p)
	}
	if out += fmt.Sprintf("%+v %#v", setup.Providers, setup.Providers); strings.Contains(out, "secret-") {
		t.Errorf("a key is shown: %s", out)
	}
}

// TestEnvironmentThatCannotBeUsed: who asks for a model and cannot have it is not answered by another one.
func TestEnvironmentThatCannotBeUsed(t *testing.T) {
	for name, env := range map[string]map[string]string{
		"OPENAI_BASE_URL is not a URL":                                  {"OPENAI_BASE_URL": "u:secret-x@nowhere"},
		"OPENAI_BASE_URL is not":                                        {"OPENAI_BASE_URL": "http://127.0.0.1/v1?key=secret-x", "OPENAI_API_KEY": "k"},
		"OPENAI_API_KEY holds a line break,":                            {"OPENAI_API_KEY": "secret-o\nsecret-p", "OPENAI_BASE_URL": "http://127.0.0.1/v1"},
		"OPENAI_MODEL is not the name":                                  {"OPENAI_API_KEY": "secret-o", "OPENAI_MODEL": "gpt secret-4"},
		"ANTHROPIC_API_KEY holds a line":                                {"ANTHROPIC_API_KEY": "secret-a secret-b", "OPENAI_API_KEY": "secret-o"},
		"ANTHROPIC_BASE_URL is not a URL as https://api.anthropic.com;": {"ANTHROPIC_API_KEY": "k", "ANTHROPIC_BASE_URL": "secret-x"},
	} {
		_, _, _, err := resolve(t, "", env)
		var ee *EnvError
		if !errors.As(err, &ee) || !strings.Contains(err.Error(), name) || strings.Contains(err.Error(), "secret-") {
			t.Errorf("%v: %v", env, err)
		}
		if _, _, _, err := resolve(t, "models: {default: offline}", env); err != nil {
			t.Errorf("an environment that is not asked is missed: %v", err)
		}
	}
}

// TestProbeIsQuick has local servers that accept and never answer.
func TestProbeIsQuick(t *testing.T) {
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	mute := "http://" + l.Addr().String() + "/v1"
	began := time.Now()
	if l, model, ok := probe(context.Background(), []Local{{"a", mute}, {"b", mute}, {"c", mute}}); ok {
		t.Errorf("found %s of %s", model, l.Name)
	}
	if d := time.Since(began); d > 10*probeTime {
		t.Errorf("took %s", d)
	}
}
