package config

import (
	"net/netip"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Tools are the settings of the built-in tools.
type Tools struct {
	Exec      Exec      `yaml:"exec"`
	WebFetch  WebFetch  `yaml:"web_fetch"`
	WebSearch WebSearch `yaml:"web_search"`
	Private   []string  `yaml:"private"` // files and folders of workspaces that are private, relative to them
}

// Exec is the shell.
type Exec struct {
	Enabled bool     `yaml:"enabled"` // it is dangerous: off unless switched on, and a person is asked each time
	Sandbox string   `yaml:"sandbox"` // auto, bwrap, landlock; none: commands can do all that the user of the process can
	Timeout Duration `yaml:"timeout"` // of one command
	Env     []string `yaml:"env"`     // names of variables that commands may see
}

// WebFetch reads pages.
type WebFetch struct {
	Allow []string `yaml:"allow"` // networks, as 10.1.0.0/16, that it may reach beside the public ones
}

// WebSearch asks a search engine. Without a provider there is no such tool.
type WebSearch struct {
	Provider string `yaml:"provider"` // brave, exa, searxng
	Key      Secret `yaml:"key"`
	URL      string `yaml:"url"` // of the SearXNG
}

// Policy is the operator's rules about tool calls: deny wins over ask, ask over allow.
type Policy struct {
	Deny  []Rule `yaml:"deny"`
	Ask   []Rule `yaml:"ask"`
	Allow []Rule `yaml:"allow"` // lifts the question of level L2; never that of L3, of secrets, or of what was read before
}

// Rule is about some calls. Its patterns may have * and ?.
type Rule struct {
	Tool   string            `yaml:"tool"`
	Args   map[string]string `yaml:"args"`  // all of them have to fit
	Agent  string            `yaml:"agent"` // "": all
	Reason string            `yaml:"reason"`
}

// Approvals are questions to a person.
type Approvals struct {
	Expire Duration `yaml:"expire"` // how long an answer is waited for
}

// ApproversOr are who may answer: the configured approvers, else the owners.
func (c *Config) ApproversOr() []string {
	if len(c.Approvers) > 0 {
		return c.Approvers
	}
	return c.Owners
}

func defaultTools() Tools {
	return Tools{Exec: Exec{Sandbox: "auto", Timeout: Duration(time.Minute)}}
}

const maxExec = time.Hour

func (k *checker) tools() {
	t := k.c.Tools
	k.oneOf("tools.exec.sandbox", t.Exec.Sandbox, "auto", "bwrap", "landlock", "none")
	if t.Exec.Enabled && t.Exec.Sandbox == "none" {
		k.warn("tools.exec.sandbox", "commands that are approved can do all that the user of this process can: read its keys, "+
			"reach the network, and decide approvals")
	}
	if t.Exec.Timeout < Duration(time.Second) || t.Exec.Timeout > Duration(maxExec) {
		k.fail("tools.exec.timeout", "must be between 1s and "+Duration(maxExec).String(), "")
	}
	for i, name := range t.Exec.Env {
		if name == "" || strings.ContainsAny(name, "= \t\n") {
			k.fail("tools.exec.env["+strconv.Itoa(i)+"]", "must be the name of a variable", "as in LC_ALL; its value is taken from the environment")
		}
	}
	for i, network := range t.WebFetch.Allow {
		if _, err := netip.ParsePrefix(network); err != nil {
			k.fail("tools.web_fetch.allow["+strconv.Itoa(i)+"]", "must be a network", "as in 10.1.0.0/16")
		}
	}
	k.search(t.WebSearch)
	for i, name := range t.Private {
		if name == "" || !filepath.IsLocal(name) {
			k.fail("tools.private["+strconv.Itoa(i)+"]", "must be a file or a folder inside of the workspace", "as in letters")
		}
	}
}

func (k *checker) search(s WebSearch) {
	const path = "tools.web_search"
	if s.Provider == "" {
		if s.Key.Set() || s.URL != "" {
			k.fail(path, "provider is missing", "brave, exa or searxng")
		}
		return
	}
	k.oneOf(path+".provider", s.Provider, "brave", "exa", "searxng")
	switch s.Provider {
	case "searxng":
		if s.URL == "" {
			k.fail(path, "url is missing", `as in url: "http://127.0.0.1:8888"`)
		}
	case "brave", "exa":
		if !s.Key.Set() {
			k.fail(path, "key is missing", `as in key: "env:SEARCH_KEY"`)
		}
	}
	if s.URL != "" {
		k.httpURL(path+".url", s.URL)
	}
}

func (k *checker) policy() {
	p := k.c.Policy
	for _, list := range []struct {
		path  string
		rules []Rule
	}{{"policy.deny", p.Deny}, {"policy.ask", p.Ask}, {"policy.allow", p.Allow}} {
		for i, r := range list.rules {
			path := list.path + "[" + strconv.Itoa(i) + "]"
			if r.Tool == "" {
				k.fail(path, "a rule needs a tool", `as in tool: "web_*"`)
			}
			if list.path == "policy.allow" && r.Tool == "exec" {
				k.warn(path, "exec is asked for each time, whatever is allowed")
			}
		}
	}
	if k.c.Approvals.Expire < Duration(time.Minute) {
		k.fail("approvals.expire", "must be at least 1m: nobody answers that fast", "as in 24h")
	}
	k.identities("approvers", k.c.Approvers)
	if len(k.c.ApproversOr()) == 0 {
		k.warn("owners", "nobody is an owner, so nobody can approve anything")
	}
}

// identities checks a list of people.
func (k *checker) identities(path string, list []string) {
	for i, o := range list {
		channel, id, ok := strings.Cut(o, ":")
		at := path + "[" + strconv.Itoa(i) + "]"
		switch {
		case o == "local":
		case !ok || channel == "" || id == "":
			k.fail(at, "an identity is local or channel:id", `as in "telegram:12345"`)
		case !slices.Contains(channels, channel):
			k.fail(at, "there is no channel "+channel, "")
		case channel == "telegram" && strings.Trim(id, "0123456789") != "":
			k.fail(at, "must be the number of a person: names can be taken by others", `as in "telegram:12345"`)
		}
	}
}
