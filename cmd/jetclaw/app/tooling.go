package app

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/config"
	"github.com/jetclaw/jetclaw/services/approvals"
	"github.com/jetclaw/jetclaw/services/builtin"
	"github.com/jetclaw/jetclaw/services/tools"
)

// findTools makes the gate, the executor of built-in tools and the approvals, and tells the turns which secrets there are.
func (e Env) findTools(_ context.Context, p *parts, t Target) error {
	if t.has("approvals") {
		key, err := e.Home.ApprovalKey()
		if err != nil {
			return &CredsError{err}
		}
		p.approving = &approvals.Config{
			Key: key, Approvers: e.Config.ApproversOr(), JoinOwners: len(e.Config.Approvers) == 0, TTL: time.Duration(e.Config.Approvals.Expire),
		}
	}
	var search config.WebSearch
	if t.has("tools") || t.has("builtin") || t.has("turns") {
		var err error
		if search, err = e.findSearch(); err != nil {
			return err
		}
		if err := e.knowSecrets(t); err != nil {
			return err
		}
	}
	if p.taking != nil {
		p.taking.Secrets = e.known()
	}
	if t.has("tools") || t.has("builtin") {
		if err := e.apart(); err != nil {
			return err
		}
	}
	if t.has("tools") {
		p.gating = e.gating()
	}
	if t.has("builtin") {
		key, err := e.Home.ApprovalPublic()
		if err != nil {
			return &CredsError{err}
		}
		p.running = e.running(search)
		p.running.Key = key
	}
	return nil
}

// gating is the gate as configured.
func (e Env) gating() *tools.Config {
	c := &tools.Config{
		Policy: PolicyOf(e.Config.Policy), Agents: map[string]tools.Agent{}, Private: e.Config.Tools.Private, Secrets: e.known(),
	}
	dirs := e.workspaces()
	for _, name := range append(slices.Sorted(maps.Keys(e.Config.Agents)), config.MainAgent) { // also those without a folder
		a := e.Config.Agent(name)
		c.Agents[name] = tools.Agent{Client: a.Client, Allow: a.Tools.Allow, Deny: a.Tools.Deny, Workspace: dirs[name]}
	}
	return c
}

// running is the executor of built-in tools as configured.
func (e Env) running(search config.WebSearch) *builtin.Config {
	t := e.Config.Tools
	c := &builtin.Config{
		Workspaces: e.workspaces(), Private: t.Private, Secrets: e.known(),
		Web: builtin.Web{Search: builtin.Search{Provider: search.Provider, Key: search.Key.Value(), URL: search.URL}},
	}
	for _, network := range t.WebFetch.Allow {
		if p, err := netip.ParsePrefix(network); err == nil { // checked with the configuration
			c.Web.Allow = append(c.Web.Allow, p)
		}
	}
	if t.Exec.Enabled {
		c.Exec = &builtin.Exec{
			Sandbox: t.Exec.Sandbox, Timeout: time.Duration(t.Exec.Timeout), Env: e.execEnv(), Hidden: e.hidden(), Self: e.sandboxSelf(),
		}
	}
	return c
}

// sandboxSelf is how this program is started again to put itself into a sandbox. On Linux by a name that an upgrade of the
// file does not change.
func (e Env) sandboxSelf() []string {
	self, err := os.Executable()
	if err != nil || runtime.GOOS == "linux" {
		self = "/proc/self/exe"
	}
	return []string{self, SandboxCommand}
}

// SandboxCommand is the hidden command that goes into a sandbox and becomes a shell there.
const SandboxCommand = "sandbox-exec"

// execEnv are the variables that commands may see, as NAME=value.
func (e Env) execEnv() []string {
	var env []string
	for _, name := range e.Config.Tools.Exec.Env {
		if value, ok := e.Lookup(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// hidden are the places that no tool may see: all of the home but the workspaces.
func (e Env) hidden() []string {
	h := e.Home
	list := []string{h.Config(), h.Data(), h.Keys(), filepath.Join(h.Dir(), "run"), h.Index(), h.Resolve(e.Config.Retention.Archive)}
	return slices.Compact(slices.Sorted(slices.Values(list)))
}

// apart fails when a workspace has the home in it, or lies where the home keeps other things: the agent's tools could then
// read the key that signs approvals, and write the configuration, without anybody being asked.
func (e Env) apart() error {
	base := resolved(e.Home.Dir())
	dirs := e.workspaces()
	for _, agent := range slices.Sorted(maps.Keys(dirs)) {
		dir := resolved(dirs[agent])
		taken := within(base, dir)
		for _, place := range e.hidden() {
			taken = taken || within(dir, resolved(place)) || within(resolved(place), dir)
		}
		if taken {
			return &config.Error{Problems: []config.Problem{{
				File: e.Home.Config(), Path: "agents." + agent + ".workspace",
				Text: fmt.Sprintf("%s holds the keys or the configuration of this home (%s), or lies among them: the agent could read and "+
					"write them", dirs[agent], base),
				Hint: "choose a folder beside them, as in workspace",
			}}}
		}
	}
	return nil
}

// within says whether path is dir or lies in it. Case is ignored: some file systems do.
func within(path, dir string) bool {
	rel, err := filepath.Rel(strings.ToLower(dir), strings.ToLower(path))
	return err == nil && (rel == "." || filepath.IsLocal(rel))
}

// resolved is a path with its links resolved, as far as it exists.
func resolved(path string) string {
	rest := ""
	for at := path; ; at = filepath.Dir(at) {
		if end, err := filepath.EvalSymlinks(at); err == nil {
			return filepath.Join(end, rest)
		}
		if at == filepath.Dir(at) {
			return path
		}
		rest = filepath.Join(filepath.Base(at), rest)
	}
}

// workspaces are the folders of all agents.
func (e Env) workspaces() map[string]string {
	dirs := map[string]string{}
	for _, name := range append(slices.Sorted(maps.Keys(e.Config.Agents)), config.MainAgent) {
		if dir := e.Config.Agent(name).Workspace; dir != "" {
			dirs[name] = e.Home.Resolve(dir)
		}
	}
	return dirs
}

// PolicyOf is the operator's policy as the gate takes it.
func PolicyOf(c config.Policy) tools.Policy {
	rules := func(list []config.Rule) []tools.Rule {
		var out []tools.Rule
		for _, r := range list {
			out = append(out, tools.Rule{Tool: r.Tool, Args: r.Args, Agent: r.Agent, Reason: r.Reason})
		}
		return out
	}
	return tools.Policy{Deny: rules(c.Deny), Ask: rules(c.Ask), Allow: rules(c.Allow)}
}

func (e Env) findSearch() (config.WebSearch, error) {
	s := e.Config.Tools.WebSearch
	warnings, err := e.Config.Resolve(e.resolver(), e.Home.Config(), "tools.web_search.key", &s.Key)
	for _, w := range warnings {
		e.Notice(w.String())
	}
	return s, err
}

// leastSecret is the shortest value that tools are searched for, in bytes: shorter ones stand in ordinary text.
const leastSecret = 8

// known are the values of all secrets that are long enough to be told from other text.
func (e Env) known() []string {
	return slices.DeleteFunc(e.Secrets.Known(), func(v string) bool { return len(v) < leastSecret })
}

// secretNames are the ends of names of variables that hold secrets.
var secretNames = []string{"KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "CREDENTIALS"} //nolint:gochecknoglobals // a constant

// knowSecrets makes all secrets known that this process could come by, used here or not: what a tool returns, or a model
// wants to send, is searched for them.
func (e Env) knowSecrets(t Target) error {
	for _, s := range e.Config.Secrets() {
		_, _ = e.Config.Resolve(e.resolver(), e.Home.Config(), "", s) // one that cannot be had cannot leak
	}
	for _, d := range e.Config.MCP.Servers { // those that stand in the file, too
		_, values, _ := e.mcpWorld().Resolve(d) // what cannot be resolved cannot leak
		e.Secrets.Add(values...)
	}
	if token, err := e.Home.Token(); err == nil {
		e.Secrets.Add(token)
	}
	for _, entry := range e.Environ() {
		name, value, _ := strings.Cut(entry, "=")
		name = strings.ToUpper(name)
		if len(value) >= leastSecret && slices.ContainsFunc(secretNames, func(end string) bool { return strings.HasSuffix(name, end) }) {
			e.Secrets.Add(value)
		}
	}
	return e.knowKeys(t)
}

// knowKeys makes the keys of the home known. No tool is meant to reach them, but a shell without a sandbox does, and who has
// them can be any service. At the first start they are made here, before anything runs that could read them.
func (e Env) knowKeys(t Target) error {
	if t.Server {
		if _, err := e.keysOf(userNames()); err != nil {
			return err
		}
	}
	files, err := filepath.Glob(filepath.Join(e.Home.Keys(), "*"))
	if err != nil {
		return err
	}
	for _, path := range files {
		if data, err := os.ReadFile(path); err == nil && filepath.Ext(path) != ".pub" {
			e.Secrets.Add(string(data))
		}
	}
	return nil
}
