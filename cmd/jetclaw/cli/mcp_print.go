package cli

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/home"
	"github.com/jetclaw/jetclaw/services/bridge"
	"github.com/jetclaw/jetclaw/services/mcp/definition"
)

// printable are the clients whose configuration can be printed.
var printable = []string{"claude", "codex", "cursor", "generic"} //nolint:gochecknoglobals // a constant

// tokenVariable is where a client's configuration takes the bearer token from: it is a secret and not printed.
const tokenVariable = "JETCLAW_MCP_TOKEN" //nolint:gosec // a name

// printConfig prints what a client has to be told, and where it goes.
func (s *shell) printConfig(f serveFlags) error {
	d := definition.Definition{}
	name := "jetclaw"
	if f.tools {
		name = "jetclaw-tools"
	}
	if f.http != "" {
		d.URL = "http://" + f.http + bridge.Endpoint
		d.Headers = map[string]string{"Authorization": "Bearer ${" + tokenVariable + "}"}
	} else {
		d.Command, d.Args = selfCommand(), f.args()
		if dir, ok := s.lookup(home.EnvVar); ok && dir != "" {
			if abs, err := filepath.Abs(dir); err == nil {
				dir = abs
			}
			d.Env = map[string]string{home.EnvVar: dir}
		}
	}
	if f.print == "codex" { // it gives up on a call after a minute, else
		d.RequestTimeoutMs = int(patienceOfCodex.Milliseconds())
	}
	client := f.print
	if client == "generic" {
		client = "claude"
	}
	text, err := definition.Export(client, map[string]definition.Definition{name: d})
	if err != nil {
		return err
	}
	if _, err := fmt.Fprint(s.out, string(text)); err != nil {
		return err
	}
	where := map[string]string{
		"claude":  "put it into .mcp.json of a project",
		"codex":   "append it to ~/.codex/config.toml",
		"cursor":  "put it into ~/.cursor/mcp.json, or .cursor/mcp.json of a project",
		"generic": "this is what most clients read; the key may be called otherwise (VS Code: servers)",
	}[f.print]
	if own := f.print == "claude" || f.print == "codex"; own && d.Command != "" {
		where += "; or: " + addCommand(f.print, name, d)
	}
	fmt.Fprintf(s.err, "note: %s\n", where)
	if f.print == "claude" && d.Command != "" && !f.tools {
		fmt.Fprintf(s.err, "note: for messages that are pushed to it, start it with: claude --dangerously-load-development-channels server:%s\n", name)
	}
	if f.http != "" {
		fmt.Fprintf(s.err, "note: set %s to a token of keys/mcp.token in jetclaw's home\n", tokenVariable)
	}
	if f.token != "" {
		fmt.Fprintln(s.err, "note: the key of --token is a secret and not printed: put it into a file and name that with --token-file")
	}
	return nil
}

// patienceOfCodex is longer than events_wait may take.
const patienceOfCodex = 330 * time.Second

// addCommand adds a server by the client's own command.
func addCommand(client, name string, d definition.Definition) string {
	words := []string{client, "mcp", "add", name}
	for _, variable := range slices.Sorted(maps.Keys(d.Env)) {
		words = append(words, map[string]string{"claude": "-e", "codex": "--env"}[client], variable+"="+d.Env[variable])
	}
	words = append(append(words, "--", d.Command), d.Args...)
	for i, word := range words {
		if strings.ContainsAny(word, " '\"$") {
			words[i] = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
	}
	return strings.Join(words, " ")
}

// args are the arguments with which a client starts this command. A key that was given on the command line is not among them.
func (f *serveFlags) args() []string {
	args := []string{"mcp", "serve"}
	add := func(name, value, usual string) {
		if value != usual {
			args = append(args, name, value)
		}
	}
	add("--url", f.url, "")
	add("--token-file", f.tokenFile, "")
	add("--claude-channel-mode", f.claude, string(bridge.Auto))
	if f.tools {
		args = append(args, "--tools")
		add("--agent", f.agent, "")
	}
	return args
}

// selfCommand is how this program can be started from anywhere.
func selfCommand() string {
	if path, err := os.Executable(); err == nil {
		return path
	}
	return "jetclaw"
}
