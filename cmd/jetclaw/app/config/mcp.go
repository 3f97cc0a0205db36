package config

import (
	"maps"
	"slices"
	"strings"

	"github.com/jetclaw/jetclaw/services/mcp/definition"
)

// MCP are the servers whose tools agents may use.
type MCP struct {
	Servers map[string]definition.Definition `yaml:"servers"`
}

// MarshalYAML writes servers as they may be shown: secrets that somebody wrote into the file are not.
func (m MCP) MarshalYAML() (any, error) {
	type plain MCP
	shown := plain{}
	for name, d := range m.Servers {
		if shown.Servers == nil {
			shown.Servers = map[string]definition.Definition{}
		}
		shown.Servers[name] = d.Redacted()
	}
	return shown, nil
}

// secretReferences are all references of servers to secrets.
func (m MCP) secretReferences() []string {
	found := map[string]bool{}
	for _, d := range m.Servers {
		for _, ref := range d.SecretReferences() {
			found[ref] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// mcp warns of little: all that is to be said about a server is told by mcp doctor, not at each start.
func (k *checker) mcp() {
	for _, name := range slices.Sorted(maps.Keys(k.c.MCP.Servers)) {
		d, path := k.c.MCP.Servers[name], "mcp.servers."+name
		if err := definition.ValidName(name); err != nil {
			k.fail(path, err.Error(), "")
		}
		for _, i := range d.Validate() {
			at, text := k.server(path, i)
			k.fail(at, text, "")
		}
		for _, i := range d.Advice() {
			if i.Level == definition.LevelWarning && urgent(i.Setting) {
				at, text := k.server(path, i)
				k.warn(at, text)
			}
		}
	}
}

// urgent settings hold secrets that everybody sees who sees the file, or do nothing.
func urgent(setting string) bool {
	section, _, _ := strings.Cut(strings.ReplaceAll(setting, "[", "."), ".")
	return slices.Contains([]string{"env", "headers", "args", "oauth"}, section)
}

// server is where a server's issue stands in the file, and what it says there: the nearest place that is written down.
func (k *checker) server(path string, i definition.Issue) (at, text string) {
	text = i.Message
	if i.Setting != "" {
		text = strings.TrimPrefix(text, i.Setting+" ")
		path += "." + i.Setting
	}
	if _, ok := k.c.at[path]; ok {
		return path, text
	}
	for at = path; at != ""; at = at[:max(strings.LastIndexAny(at, ".["), 0)] {
		if pos, ok := k.c.at[at]; ok {
			k.c.at[path] = pos
			break
		}
	}
	return path, text
}
