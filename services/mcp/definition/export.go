package definition

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Clients are those that Export writes for.
var Clients = []string{"claude", "codex", "cursor", "gemini"}

// Export writes servers in the form of another client: JSON, and TOML for codex. No secret is written: a reference to a variable
// becomes the client's own (${NAME}; ${env:NAME} for cursor), and so does, as a place to fill in, what has no such form there:
// a file, or a secret that is written out. Servers that are disabled are left out where the client cannot say so.
func Export(client string, all map[string]Definition) ([]byte, error) {
	switch client {
	case "claude":
		return exportJSON(all, claude)
	case "cursor":
		return exportJSON(all, cursor)
	case "gemini":
		return exportJSON(all, gemini)
	case "codex":
		return exportCodex(all), nil
	}
	return nil, fmt.Errorf("client must be one of %s", strings.Join(Clients, ", "))
}

// foreign is a server in the JSON of other clients.
type foreign struct {
	Type     string            `json:"type,omitempty"`
	Command  string            `json:"command,omitempty"`
	Args     []string          `json:"args,omitempty"`
	Env      map[string]string `json:"env,omitempty"`
	Cwd      string            `json:"cwd,omitempty"`
	URL      string            `json:"url,omitempty"`
	HTTPURL  string            `json:"httpUrl,omitempty"`
	Headers  map[string]string `json:"headers,omitempty"`
	Timeout  int               `json:"timeout,omitempty"`
	Trust    bool              `json:"trust,omitempty"`
	Include  []string          `json:"includeTools,omitempty"`
	Exclude  []string          `json:"excludeTools,omitempty"`
	OAuth    *foreignOAuth     `json:"oauth,omitempty"`
	Disabled bool              `json:"disabled,omitempty"`
}

type foreignOAuth struct {
	Enabled  bool     `json:"enabled"`
	ClientID string   `json:"clientId,omitempty"`
	Scopes   []string `json:"scopes,omitempty"`
}

func exportJSON(all map[string]Definition, one func(d Definition) (foreign, bool)) ([]byte, error) {
	servers := map[string]foreign{}
	for name, d := range all {
		if f, ok := one(d); ok {
			servers[name] = f
		}
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(map[string]map[string]foreign{"mcpServers": servers})
	return b.Bytes(), err
}

func claude(d Definition) (foreign, bool) {
	d = d.portable("${")
	f := foreign{Command: d.Command, Args: d.Args, Env: d.Env, URL: d.URL, Headers: d.Headers}
	switch d.TransportName() {
	case SSE:
		f.Type = "sse"
	case StreamableHTTP:
		f.Type = "http"
	}
	return f, d.IsEnabled()
}

func cursor(d Definition) (foreign, bool) {
	off := !d.IsEnabled()
	d = d.portable("${env:")
	return foreign{Command: d.Command, Args: d.Args, Env: d.Env, Cwd: d.Cwd, URL: d.URL, Headers: d.Headers, Disabled: off}, true
}

func gemini(d Definition) (foreign, bool) {
	d = d.portable("${")
	f := foreign{
		Command: d.Command, Args: d.Args, Env: d.Env, Cwd: d.Cwd, Headers: d.Headers, Timeout: d.RequestTimeoutMs, Trust: d.ApprovalMode() == Approve,
	}
	if d.TransportName() == SSE {
		f.URL = d.URL
	} else {
		f.HTTPURL = d.URL
	}
	if d.ToolFilter != nil {
		f.Include, f.Exclude = d.ToolFilter.Include, d.ToolFilter.Exclude
	}
	if d.Auth != "" {
		f.OAuth = &foreignOAuth{Enabled: true}
		if d.OAuth != nil {
			f.OAuth.ClientID, f.OAuth.Scopes = d.OAuth.ClientID, strings.Fields(d.OAuth.Scope)
		}
	}
	return f, d.IsEnabled()
}

// portable is d with every reference, and every secret that is written out, as begin + NAME + "}".
func (d Definition) portable(begin string) Definition {
	return d.rewrite(func(s setting, text string) string {
		if ref, ok, _ := s.reference(text); ok {
			return begin + s.variable(ref, text) + "}"
		}
		secrets := s.literals(text)
		parts, err := pieces(text)
		if err != nil || len(secrets) > 0 {
			return s.filled(begin, text, secrets)
		}
		var b strings.Builder
		for _, p := range parts {
			if p.variable != "" {
				b.WriteString(begin + p.variable + "}")
			} else {
				b.WriteString(p.literal)
			}
		}
		return b.String()
	})
}

// filled is a text with a place to fill in where its secrets were.
func (s setting) filled(begin, text string, secrets []span) string {
	var b strings.Builder
	at := 0
	for _, sp := range secrets {
		b.WriteString(text[at:sp.start])
		b.WriteString(begin + s.variable("", text) + "}")
		at = sp.end
	}
	return b.String() + text[at:]
}

// variable is the name of a variable for a reference, or for the secret in a text that had none. The argument before may be a
// secret itself: only an option gives its name.
func (s setting) variable(ref, text string) string {
	if name, ok := strings.CutPrefix(ref, envReference); ok {
		return name
	}
	name := s.name
	if s.kind == argument {
		if own, _, ok := strings.Cut(text, "="); ok && optionName(own) {
			name = strings.TrimLeft(own, "-")
		} else if strings.HasPrefix(s.before, "-") && optionName(s.before) {
			name = strings.TrimLeft(s.before, "-")
		}
	}
	name = strings.ToUpper(strings.Join(wordsOf(name), "_"))
	if !variableName(name) {
		return "SECRET"
	}
	return name
}

// exportCodex writes TOML. Codex has no references within texts: variables are named in env_vars, bearer_token_env_var and
// env_http_headers; for what is none of these, a comment says what to do.
func exportCodex(all map[string]Definition) []byte {
	var t toml
	for _, name := range slices.Sorted(maps.Keys(all)) {
		d := all[name]
		t.table(name)
		if !d.IsEnabled() {
			t.line("enabled", "false")
		}
		if d.Command != "" {
			t.stdio(d)
		} else {
			t.http(d)
		}
		if d.ConnectionTimeoutMs > 0 {
			t.line("startup_timeout_sec", seconds(d.ConnectionTimeoutMs))
		}
		if d.RequestTimeoutMs > 0 {
			t.line("tool_timeout_sec", seconds(d.RequestTimeoutMs))
		}
		if f := d.ToolFilter; f != nil {
			t.list("enabled_tools", f.Include)
			t.list("disabled_tools", f.Exclude)
		}
	}
	return t.b.Bytes()
}
