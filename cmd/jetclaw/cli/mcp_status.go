package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/jetclaw/jetclaw/services/mcp"
	"github.com/jetclaw/jetclaw/services/mcp/definition"
)

func (s *shell) mcpStatus() *cobra.Command {
	var asJSON, verbose bool
	c := &cobra.Command{
		Use:   "status",
		Short: "Show how the configured MCP servers are, without connecting",
		Long: `Shows how each server is reached and what of it is in use. When a jetclaw runs, also how its connections are: disconnected (it
connects when the server is needed), connecting, ready, failing, or paused, after three failures in a row, until the time that is
said; jetclaw mcp reload and a successful jetclaw mcp probe end a pause early.

With --json it prints one object with path and servers: name, configured, enabled, ok, transport, launch, auth, authStatus,
requestTimeoutMs, connectionTimeoutMs, toolFilter, supportsParallelToolCalls, approval and scope of each; when a jetclaw runs also
state, since, failures, pauses, retryAfter, lastError, connections, pids, server, tools, calls, waiting, issues and stderr.`,
		Example: `  jetclaw mcp status
  jetclaw mcp status --verbose
  jetclaw mcp status --json | jq -r '.servers[] | select(.state == "paused") | .name, .retryAfter'`,
		Args: noArguments,
		RunE: s.mcpRun(&asJSON, func(ctx context.Context, _ []string) error {
			f, err := s.mcpOpen("status")
			if err != nil {
				return err
			}
			entries := f.status(f.live(ctx, f.servers))
			if asJSON {
				return s.writeJSON(mcpStatusReport{Path: f.path, Servers: entries})
			}
			return f.showStatus(entries, verbose, time.Now())
		}),
	}
	c.Flags().BoolVar(&asJSON, "json", false, "one JSON object")
	c.Flags().BoolVarP(&verbose, "verbose", "v", false, "with how each is started, its limits, filters and the last lines of its stderr")
	noCompletion(c)
	return c
}

// mcpStatusReport is what `mcp status --json` prints.
type mcpStatusReport struct {
	Path    string           `json:"path"`
	Servers []mcpStatusEntry `json:"servers"`
}

type mcpStatusEntry struct {
	Name                      string                 `json:"name"`
	Configured                bool                   `json:"configured"`
	Enabled                   bool                   `json:"enabled"`
	OK                        bool                   `json:"ok"` // enabled, and neither wrong, failing nor paused
	Transport                 string                 `json:"transport"`
	Launch                    string                 `json:"launch"`
	Auth                      string                 `json:"auth,omitempty"`
	AuthStatus                *mcp.AuthStatus        `json:"authStatus,omitempty"`
	RequestTimeoutMs          int64                  `json:"requestTimeoutMs"`
	ConnectionTimeoutMs       int64                  `json:"connectionTimeoutMs"`
	ToolFilter                *definition.ToolFilter `json:"toolFilter,omitempty"`
	SupportsParallelToolCalls bool                   `json:"supportsParallelToolCalls"`
	Approval                  definition.Approval    `json:"approval"`
	Scope                     definition.Scope       `json:"scope"`
	*mcpLive                                         // nil: no jetclaw runs
}

// mcpLive is what the running jetclaw says of a server.
type mcpLive struct {
	State       string             `json:"state"`
	Since       time.Time          `json:"since,omitzero"`
	Failures    int                `json:"failures"`
	Pauses      int                `json:"pauses"`
	RetryAfter  time.Time          `json:"retryAfter,omitzero"`
	LastError   string             `json:"lastError,omitempty"`
	Connections int                `json:"connections"`
	PIDs        []int              `json:"pids,omitempty"`
	Server      *mcp.ServerInfo    `json:"server,omitempty"`
	Tools       int                `json:"tools"`
	Calls       int                `json:"calls"`
	Waiting     uint64             `json:"waiting"`
	Issues      []definition.Issue `json:"issues,omitempty"`
	Stderr      string             `json:"stderr,omitempty"`
}

// status joins what is configured and what is known of each server.
func (f *mcpFile) status(known mcpKnown) []mcpStatusEntry {
	list := make([]mcpStatusEntry, 0, len(f.servers))
	for _, name := range f.names() {
		d := f.servers[name]
		e := mcpStatusEntry{
			Name: name, Configured: true, Enabled: d.IsEnabled(), OK: d.IsEnabled() && len(d.Validate()) == 0,
			Transport: d.TransportName(), Launch: d.Launch(), Auth: d.Auth,
			RequestTimeoutMs: d.RequestTimeout().Milliseconds(), ConnectionTimeoutMs: d.ConnectionTimeout().Milliseconds(),
			ToolFilter: d.ToolFilter, SupportsParallelToolCalls: d.SupportsParallelToolCalls,
			Approval: d.ApprovalMode(), Scope: d.ScopeOr(), AuthStatus: known.auth[name],
		}
		if l, ok := known.live[name]; ok {
			text := f.e.Secrets.Text
			e.mcpLive = &mcpLive{
				State: l.State, Since: l.Since, Failures: l.Failures, Pauses: l.Pauses, RetryAfter: l.RetryAfter, LastError: text(l.LastError),
				Connections: l.Connections, PIDs: l.PIDs, Server: l.Server, Tools: l.Tools, Calls: l.Calls, Waiting: l.Waiting,
				Issues: l.Issues, Stderr: text(l.Stderr),
			}
			e.OK = e.OK && l.State != "failing" && l.State != "paused"
		}
		list = append(list, e)
	}
	return list
}

func (f *mcpFile) showStatus(entries []mcpStatusEntry, verbose bool, now time.Time) error {
	if len(entries) == 0 {
		_, err := fmt.Fprintf(f.s.out, "No MCP servers configured in %s.\n", f.path)
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "MCP server status (%s):\n", f.path)
	for _, e := range entries {
		fmt.Fprintf(&b, "- %s: %s%s\n", flat(e.Name), e.kind(), f.s.mcpState(e, now))
		if verbose {
			for _, line := range e.details() {
				fmt.Fprintf(&b, "  %s\n", line)
			}
		}
	}
	_, err := f.s.out.Write([]byte(b.String()))
	return err
}

// kind is how a server is reached and what of it is restricted.
func (e mcpStatusEntry) kind() string {
	if !e.Enabled {
		return "disabled"
	}
	words := []string{e.Transport}
	for _, w := range []struct {
		is   bool
		word string
	}{
		{e.Auth != "", e.Auth},
		{e.ToolFilter != nil, "tool-filtered"},
		{e.SupportsParallelToolCalls, "parallel"},
		{e.Approval != definition.Prompt, "approval=" + string(e.Approval)},
		{e.Scope != definition.Shared, "scope=" + string(e.Scope)},
	} {
		if w.is {
			words = append(words, w.word)
		}
	}
	return strings.Join(words, " ")
}

// mcpState is how the connections of a server are, as the end of a line.
func (s *shell) mcpState(e mcpStatusEntry, now time.Time) string {
	if e.mcpLive == nil || !e.Enabled {
		return ""
	}
	paint, text := "", e.State
	switch e.State {
	case "ready":
		paint = "\x1b[32m"
	case "failing":
		paint, text = "\x1b[33m", fmt.Sprintf("failing (%s in a row)", plural(e.Failures, "failure", "failures"))
	case "paused":
		paint, text = "\x1b[31m", fmt.Sprintf("paused until %s (in %s)", e.RetryAfter.Local().Format(time.TimeOnly), span(e.RetryAfter.Sub(now)))
	}
	if paint != "" && s.colour(s.outTTY) {
		text = paint + text + "\x1b[0m"
	}
	if e.State == "ready" || e.State == "disconnected" && e.Tools > 0 { // it is started when one of them is called
		text += ", " + plural(e.Tools, "tool", "tools")
	}
	if e.State != "ready" && e.LastError != "" {
		text += ": " + oneLine(e.LastError)
	}
	return ", " + text
}

// details are the lines of --verbose.
func (e mcpStatusEntry) details() []string {
	lines := []string{
		"launch: " + flat(e.Launch),
		fmt.Sprintf("timeouts: connect=%dms request=%dms", e.ConnectionTimeoutMs, e.RequestTimeoutMs),
		fmt.Sprintf("approval: %s, scope: %s", e.Approval, e.Scope),
	}
	if f := e.ToolFilter; f != nil {
		lines = append(lines, fmt.Sprintf("tools: include %s, exclude %s", globs(f.Include, "all"), globs(f.Exclude, "none")))
	}
	if e.Auth != "" {
		lines = append(lines, "oauth: "+describeAuth(e.AuthStatus))
	}
	l := e.mcpLive
	if l == nil {
		return lines
	}
	if i := l.Server; i != nil {
		lines = append(lines, fmt.Sprintf("server: %s (protocol %s)", oneLine(i.Name+" "+i.Version), oneLine(i.Protocol)))
	}
	lines = append(lines, fmt.Sprintf("connections: %d, calls: %d, waiting: %d", l.Connections, l.Calls, l.Waiting))
	if len(l.PIDs) > 0 {
		lines = append(lines, "processes: "+strings.Trim(fmt.Sprint(l.PIDs), "[]"))
	}
	for _, i := range l.Issues {
		lines = append(lines, flat(i.Level)+": "+flat(i.Message))
	}
	return append(lines, stderrTail(l.Stderr)...)
}

func globs(list []string, none string) string {
	if len(list) == 0 {
		return none
	}
	return flat(strings.Join(list, ","))
}

// describeAuth says what is stored of OAuth credentials.
func describeAuth(a *mcp.AuthStatus) string {
	if a == nil {
		return "unknown"
	}
	text := cmp.Or(flat(a.State), "unknown")
	if !a.ExpiresAt.IsZero() {
		text += ", the token expires " + a.ExpiresAt.Local().Format(time.DateTime)
	}
	return text
}

// stderrShown is how many lines of a server's stderr a person is shown.
const stderrShown = 10

// stderrTail are the last lines that a server has written to stderr.
func stderrTail(text string) []string {
	text = strings.TrimSpace(text)
	if text == "" {
		return nil
	}
	lines := strings.Split(text, "\n")
	lines = lines[max(0, len(lines)-stderrShown):]
	for i, line := range lines {
		lines[i] = "stderr: " + oneLine(line)
	}
	return lines
}
