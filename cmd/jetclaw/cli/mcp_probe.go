package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/home"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/services/mcp"
	"github.com/jetclaw/jetclaw/services/mcp/definition"
)

func (s *shell) mcpProbeCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "probe [NAME]",
		Short: "Connect to MCP servers and list what they offer",
		Long: `Connects to one server, or to all enabled ones, with a connection for that alone, and lists the tools that agents would get. A
successful probe by the running jetclaw ends a pause of the server.

Exit code 1: a server could not be reached. With --json it prints one object with generatedAt, servers (by name: launch, tools,
filteredTools, approval, requestTimeoutMs, resources, prompts, listChanged, server, issues), tools (the names of all) and diagnostics
(serverName, launchSummary, message and stderr of each that failed).`,
		Example: "  jetclaw mcp probe\n  jetclaw mcp probe files --json | jq -r '.tools[]'",
		Args:    maybeServer,
		RunE: s.mcpRun(&asJSON, func(ctx context.Context, args []string) error {
			f, err := s.mcpOpen("probe")
			if err != nil {
				return err
			}
			chosen, err := f.toProbe(args)
			if err != nil {
				return err
			}
			var got mcp.Probed
			if len(chosen) > 0 {
				if got, err = f.probe(ctx, chosen); err != nil {
					return err
				}
			}
			return f.tellProbe(f.probeReport(got, time.Now()), asJSON)
		}),
	}
	c.Flags().BoolVar(&asJSON, "json", false, "one JSON object")
	c.ValidArgsFunction = s.completeServer
	return c
}

// toProbe are the servers to connect to: the one that was named, or all enabled ones.
func (f *mcpFile) toProbe(args []string) (map[string]definition.Definition, error) {
	chosen := map[string]definition.Definition{}
	if len(args) == 0 {
		for name, d := range f.servers {
			if d.IsEnabled() {
				chosen[name] = d
			}
		}
		return chosen, nil
	}
	name := args[0]
	d, err := f.get(name)
	if err != nil {
		return nil, err
	}
	if !d.IsEnabled() {
		return nil, &mcpRefusal{fmt.Sprintf("MCP server %q is disabled in %s. Run jetclaw mcp configure %s --enable before probing it.", name, f.path, name)}
	}
	chosen[name] = d
	return chosen, nil
}

// probe connects to servers and hides their secrets in what they say.
func (f *mcpFile) probe(ctx context.Context, servers map[string]definition.Definition) (mcp.Probed, error) {
	f.reveal(servers)
	got, err := f.s.mcpProbe(ctx, f.e, servers)
	if err != nil {
		return got, err
	}
	for i := range got.Diagnostics {
		d := &got.Diagnostics[i]
		d.Message, d.Stderr = f.e.Secrets.Text(d.Message), f.e.Secrets.Text(d.Stderr)
	}
	slices.SortFunc(got.Diagnostics, func(a, b mcp.Diagnostic) int { return strings.Compare(a.Server, b.Server) })
	return got, nil
}

// mcpProbe connects to servers: the running jetclaw does it when it has them as they are here, as it has the environment that they
// will be used in; else this process.
func (s *shell) mcpProbe(ctx context.Context, e app.Env, names map[string]definition.Definition) (mcp.Probed, error) {
	p := s.newMCPProgress(names)
	defer p.end()
	if saved(e, names) {
		got, err := probeThere(ctx, e, names)
		kind := fault.KindOf(err)
		if err == nil || !errors.Is(err, home.ErrNoEndpoint) && kind != fault.Unavailable && kind != fault.NotFound || ctx.Err() != nil {
			return got, err
		}
	}
	return e.ProbeMCP(ctx, names, p.at)
}

// probeThere has the running jetclaw connect to servers. When one of them has to be logged in to, and no jetclaw runs, the service is
// started for it: only that has what was stored of the login.
func probeThere(ctx context.Context, e app.Env, names map[string]definition.Definition) (got mcp.Probed, err error) {
	ctx, cancel := context.WithTimeout(ctx, probeBound(names))
	defer cancel()
	with := e.WithDaemon
	for _, d := range names {
		if d.Auth == "oauth" && stores(e) {
			with = e.WithMCP
		}
	}
	err = with(ctx, func(ctx context.Context, c app.Client) (err error) {
		got, err = bus.Ask[mcp.Probed](ctx, c.Conn, mcp.Name, mcp.ProbeVerb, mcp.ProbeRequest{Servers: serversOf(names)})
		return err
	})
	return got, err
}

// saved says whether the configuration has these servers, unchanged and enabled, and a jetclaw of this very home is asked.
func saved(e app.Env, servers map[string]definition.Definition) bool {
	for name, d := range servers {
		if have, ok := e.Config.MCP.Servers[name]; !ok || !have.Equal(d) || !d.IsEnabled() {
			return false
		}
	}
	return e.Config.Remote.URL == ""
}

func serversOf(servers map[string]definition.Definition) []string {
	names := make([]string, 0, len(servers))
	for name := range servers {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// probeBound is how long a jetclaw may take to probe servers, all at once or a few at a time.
func probeBound(servers map[string]definition.Definition) time.Duration {
	bound := 30 * time.Second
	for _, d := range servers {
		bound += d.ConnectionTimeout() + d.RequestTimeout()
	}
	return bound
}

// mcpProbeReport is what `mcp probe --json` prints.
type mcpProbeReport struct {
	GeneratedAt string                    `json:"generatedAt"`
	Servers     map[string]mcpProbeServer `json:"servers"`
	Tools       []string                  `json:"tools"`
	Diagnostics []mcpProbeDiagnostic      `json:"diagnostics"`
}

type mcpProbeServer struct {
	Launch                    string              `json:"launch"`
	Tools                     int                 `json:"tools"`
	CodexApprovalMode         definition.Approval `json:"codexApprovalMode"` // as others call it
	Approval                  definition.Approval `json:"approval"`
	ApprovalHint              string              `json:"approvalHint,omitempty"`
	RequestTimeoutMs          int64               `json:"requestTimeoutMs"`
	SupportsParallelToolCalls bool                `json:"supportsParallelToolCalls,omitempty"`
	FilteredTools             int                 `json:"filteredTools,omitempty"`
	Annotated                 int                 `json:"annotatedTools"`
	ReadOnly                  int                 `json:"readOnlyTools"`
	Resources                 bool                `json:"resources,omitempty"`
	Prompts                   bool                `json:"prompts,omitempty"`
	ListChanged               mcp.ListChanged     `json:"listChanged"`
	Server                    mcp.ServerInfo      `json:"server"`
	Issues                    []definition.Issue  `json:"issues,omitempty"`
	Resumed                   bool                `json:"resumed,omitempty"`
}

type mcpProbeDiagnostic struct {
	Server  string `json:"serverName"`
	Safe    string `json:"safeServerName"`
	Launch  string `json:"launchSummary"`
	Message string `json:"message"`
	Stderr  string `json:"stderr,omitempty"`
}

func (f *mcpFile) probeReport(got mcp.Probed, now time.Time) mcpProbeReport {
	r := mcpProbeReport{
		GeneratedAt: now.UTC().Format("2006-01-02T15:04:05.000Z"),
		Servers:     map[string]mcpProbeServer{}, Tools: []string{}, Diagnostics: []mcpProbeDiagnostic{},
	}
	for name, p := range got.Servers {
		d := f.servers[name]
		r.Servers[name] = mcpProbeServer{
			Launch: p.Launch, Tools: offered(p), CodexApprovalMode: d.ApprovalMode(), Approval: d.ApprovalMode(), ApprovalHint: approvalHint(d, p),
			RequestTimeoutMs: d.RequestTimeout().Milliseconds(), SupportsParallelToolCalls: d.SupportsParallelToolCalls,
			FilteredTools: p.Filtered, Annotated: p.Annotated, ReadOnly: p.ReadOnly, Resources: p.Resources, Prompts: p.Prompts,
			ListChanged: p.ListChanged, Server: p.Server, Issues: p.Issues, Resumed: p.Resumed,
		}
		r.Tools = append(r.Tools, p.Tools...)
	}
	slices.Sort(r.Tools)
	for _, d := range got.Diagnostics {
		r.Diagnostics = append(r.Diagnostics, mcpProbeDiagnostic{d.Server, d.Server, d.Launch, d.Message, d.Stderr})
	}
	return r
}

// offered is how many of its own tools a server offers to agents. The utility tools for its resources and prompts are not counted.
func offered(p mcp.ServerProbe) int { return min(max(p.Listed-p.Filtered, 0), len(p.Tools)) }

// approvalHint says that a server says nothing that approval auto could go by.
func approvalHint(d definition.Definition, p mcp.ServerProbe) string {
	if d.ApprovalMode() != definition.Auto || p.Annotated > 0 || offered(p) == 0 {
		return ""
	}
	return "tools have no safety annotations; calls will require interactive approval"
}

func (f *mcpFile) tellProbe(r mcpProbeReport, asJSON bool) error {
	if asJSON {
		if err := f.s.writeJSON(r); err != nil {
			return err
		}
	} else if _, err := f.s.out.Write([]byte(f.probeText(r))); err != nil {
		return err
	}
	for _, d := range r.Diagnostics {
		fmt.Fprintf(f.s.err, "MCP probe failed for %q in %s: %s\n", d.Server, f.path, flat(d.Message))
	}
	if len(r.Diagnostics) > 0 {
		return &toldError{exitFailed}
	}
	return nil
}

func (f *mcpFile) probeText(r mcpProbeReport) string {
	if len(r.Servers) == 0 && len(r.Diagnostics) == 0 {
		return fmt.Sprintf("No enabled MCP servers in %s. Add one with jetclaw mcp add <name> -- <command> or enable one with "+
			"jetclaw mcp configure <name> --enable.\n", f.path)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "MCP probe (%s):\n", f.path)
	for _, name := range f.names() {
		p, ok := r.Servers[name]
		if !ok {
			continue
		}
		parts := []string{plural(p.Tools, "tool", "tools")}
		if p.FilteredTools > 0 {
			parts = append(parts, fmt.Sprintf("%d hidden by the filter", p.FilteredTools))
		}
		if p.Resources {
			parts = append(parts, "resources")
		}
		if p.Prompts {
			parts = append(parts, "prompts")
		}
		parts = append(parts, "approval "+string(p.Approval))
		fmt.Fprintf(&b, "- %s: %s\n", flat(name), strings.Join(parts, ", "))
		if p.ApprovalHint != "" {
			fmt.Fprintf(&b, "  - warning: %s\n", p.ApprovalHint)
		}
		for _, i := range p.Issues {
			fmt.Fprintf(&b, "  - %s: %s\n", flat(i.Level), flat(i.Message))
		}
		if p.Resumed {
			b.WriteString("  - its pause has ended\n")
		}
	}
	for _, d := range r.Diagnostics {
		fmt.Fprintf(&b, "! %s: %s\n", flat(d.Server), flat(d.Message))
		for _, line := range stderrTail(d.Stderr) {
			fmt.Fprintf(&b, "  %s\n", line)
		}
	}
	return b.String()
}
