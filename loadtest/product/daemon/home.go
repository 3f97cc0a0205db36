package daemon

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"text/template"
	"time"
)

// Config is what a load test varies in jetclaw.yaml.
type Config struct {
	Sync     string // bus.sync: "always" or "interval"
	Listen   string // of the HTTP channel: "127.0.0.1:PORT"
	ModelURL string // base URL of the model, "/v1" included
	Callback string // URL that replies are pushed to; "" for none

	Fallback string // model of the same provider that stands in for any other; "" for none
	Context  int    // tokens that a request may have; 0: the daemon's own default
	Ask      string // glob of paths that write_file may not write without a person; "" for none but those that never may

	Monitor string // where the daemon is to serve its metrics; "": nowhere

	Env      []string    // of its processes, beside what they have anyway
	Telegram *Telegram   // nil for none
	MCP      []MCPServer // in the order of the file

	Workspace string   // of the main agent; "" for the home's own
	Owners    []string // who may decide; nil: the daemon's own default
	Replicas  int      // copies of each stream; 0: the daemon's own default
}

// Telegram is one bot, named "bot", that everybody may write to.
type Telegram struct {
	Token     string // given to the daemon by its environment
	APIRoot   string
	Streaming bool    // answers are shown while the model speaks
	Groups    []int64 // in which every message is meant for the bot
}

// MCPServer is one configured MCP server, whose tools run without a question. It has a command or a URL.
type MCPServer struct {
	Name string
	Argv []string
	URL  string
	Idle time.Duration // after which a connection that nobody uses is closed; 0: the daemon's own default
}

// Definition is what the file says of it: JSON, which is YAML too.
func (m MCPServer) Definition() (string, error) {
	d := map[string]any{"approval": "approve"}
	if m.URL != "" {
		d["url"] = m.URL
	} else {
		d["command"], d["args"] = m.Argv[0], m.Argv[1:]
	}
	if m.Idle > 0 {
		d["idleTimeoutMs"] = m.Idle.Milliseconds()
	}
	b, err := json.Marshal(d)
	return string(b), err
}

// Home is a home directory with its configuration.
type Home struct {
	Dir string
	Config
}

var yaml = template.Must(template.New("").Parse(`models:
  default: fake/echo
{{- if .Fallback}}
  fallbacks: ["fake/{{.Fallback}}"]
{{- end}}
  providers:
    fake: {api: openai, base_url: "{{.ModelURL}}", api_key: "env:LOADTEST_MODEL_KEY"}
channels:
  http:
    listen: "{{.Listen}}"
{{- if .Callback}}
    callback: {url: "{{.Callback}}"}
{{- end}}
{{- with .Telegram}}
  telegram:
    bot:
      token: "env:LOADTEST_TELEGRAM_TOKEN"
      access: open
      api_root: "{{.APIRoot}}"
      streaming: "{{if .Streaming}}edit{{else}}off{{end}}"
{{- with .Groups}}
      groups:
{{- range .}}
        "{{.}}": {require_mention: false}
{{- end}}
{{- end}}
{{- end}}
bus: { {{- if .Replicas}}replicas: {{.Replicas}}{{else}}sync: {{.Sync}}{{end -}} }
{{- with .Workspace}}
agents: {main: {workspace: "{{.}}"}}
{{- end}}
{{- with .Owners}}
owners:
{{- range .}}
  - "{{.}}"
{{- end}}
{{- end}}
{{- if .Ask}}
policy: {ask: [{tool: write_file, args: {path: "{{.Ask}}"}}]}
{{- end}}
{{- with .MCP}}
mcp:
  servers:
{{- range .}}
    {{.Name}}: {{.Definition}}
{{- end}}
{{- end}}
{{- if .Context}}
limits: {context: {{.Context}}}
{{- end}}
`))

// NewHome makes the directory dir and writes its jetclaw.yaml.
func NewHome(dir string, c Config) (Home, error) {
	var b bytes.Buffer
	if err := yaml.Execute(&b, c); err != nil {
		return Home{}, fmt.Errorf("write jetclaw.yaml: %w", err)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return Home{}, fmt.Errorf("make home: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "jetclaw.yaml"), b.Bytes(), 0o600); err != nil {
		return Home{}, fmt.Errorf("write jetclaw.yaml: %w", err)
	}
	return Home{Dir: dir, Config: c}, nil
}

// Data is where the journal is stored.
func (h Home) Data() string { return filepath.Join(h.Dir, "data") }

// lock is held by whoever uses the store.
func (h Home) lock() string { return filepath.Join(h.Dir, "run", "lock") }

// URL is the base of the HTTP channel.
func (h Home) URL() string { return "http://" + h.Listen }

// Token reads the bearer token that the daemon made at its first start.
func (h Home) Token() (string, error) {
	b, err := os.ReadFile(filepath.Join(h.Dir, "keys", "http.token"))
	if err != nil {
		return "", fmt.Errorf("token of the http channel: %w", err)
	}
	return strings.TrimSpace(string(b)), nil
}

// given has the addresses that FreeAddress has found: whoever is to listen there may not do so yet.
var given sync.Map //nolint:gochecknoglobals // ports belong to the machine

// FreeAddress finds a free loopback port below those that the system gives to outgoing connections: a client that
// retries while the daemon is down could otherwise be given the daemon's own port, and meet itself there. It gives none twice.
func FreeAddress() (string, error) {
	top := 32768
	if b, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range"); err == nil {
		if f := strings.Fields(string(b)); len(f) == 2 {
			if n, err := strconv.Atoi(f[0]); err == nil && n > 12000 {
				top = n
			}
		}
	}
	for range 100 {
		addr := net.JoinHostPort("127.0.0.1", strconv.Itoa(10000+rand.IntN(top-10000)))
		l, err := net.Listen("tcp", addr)
		if err != nil {
			continue
		}
		_ = l.Close()
		if _, twice := given.LoadOrStore(addr, true); !twice {
			return addr, nil
		}
	}
	return "", errors.New("no free loopback port found")
}
