package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/jetclaw/jetclaw/services/mcp/definition"
)

func (s *shell) mcpDoctor() *cobra.Command {
	var asJSON, probe bool
	c := &cobra.Command{
		Use:   "doctor [NAME]",
		Short: "Check the setup of MCP servers",
		Long: `Checks what is configured of one server, or of all, without connecting: that the program exists and can be started, the working
directory, certificate files, references to secrets, environment variables that are not handed on, secrets written into the file,
OAuth credentials, and connections that several people would share. With --probe it also connects to each enabled server that is
right so far.

Exit code 1: an enabled server has an error. With --json it prints one object with path, ok and servers: name, ok and issues (level:
error, warning or info; message) of each.`,
		Example: "  jetclaw mcp doctor\n  jetclaw mcp doctor files --probe\n  jetclaw mcp doctor --json | jq '.servers[] | select(.ok | not)'",
		Args:    maybeServer,
		RunE: s.mcpRun(&asJSON, func(ctx context.Context, args []string) error {
			f, err := s.mcpOpen("doctor")
			if err != nil {
				return err
			}
			chosen := f.servers
			if len(args) > 0 {
				d, err := f.get(args[0])
				if err != nil {
					return err
				}
				chosen = map[string]definition.Definition{args[0]: d}
			}
			report, err := f.examine(ctx, chosen, probe)
			if err != nil {
				return err
			}
			return f.tellDoctor(report, asJSON)
		}),
	}
	c.Flags().BoolVar(&asJSON, "json", false, "one JSON object")
	c.Flags().BoolVar(&probe, "probe", false, "also connect to each enabled server")
	c.ValidArgsFunction = s.completeServer
	return c
}

// mcpExam is what `mcp doctor --json` prints.
type mcpExam struct {
	Path    string         `json:"path"`
	OK      bool           `json:"ok"`
	Servers []mcpDiagnosis `json:"servers"`
}

type mcpDiagnosis struct {
	Name   string             `json:"name"`
	OK     bool               `json:"ok"`
	Issues []definition.Issue `json:"issues"`
}

// sayf adds an issue. The servers' words are in some of them.
func (g *mcpDiagnosis) sayf(level, format string, args ...any) {
	g.Issues = append(g.Issues, definition.Issue{Level: level, Message: fmt.Sprintf(format, args...)})
	g.OK = g.OK && level != "error"
}

// examine looks at servers.
func (f *mcpFile) examine(ctx context.Context, chosen map[string]definition.Definition, probe bool) (mcpExam, error) {
	x := mcpExam{Path: f.path, OK: true, Servers: []mcpDiagnosis{}}
	known := mcpKnown{}
	if len(chosen) > 0 {
		known = f.live(ctx, chosen)
	}
	if err := ctx.Err(); err != nil {
		return x, err
	}
	sharing := severalPeople(f.e)
	probed := map[string]definition.Definition{}
	for name, d := range chosen {
		g := mcpDiagnosis{Name: name, OK: true, Issues: []definition.Issue{}}
		f.static(&g, d)
		if a := known.auth[name]; d.Auth == "oauth" && a != nil && a.State != "authorized" {
			g.sayf("warning", "OAuth credentials are not authorized (%s); run jetclaw mcp login %s", flat(a.State), name)
		}
		if l := known.live[name]; l.State == "paused" {
			g.sayf("warning", "paused until %s, as it kept failing: %s",
				l.RetryAfter.Local().Format(time.DateTime), f.e.Secrets.Text(oneLine(l.LastError)))
		}
		if sharing != "" && d.IsEnabled() && d.TransportName() == definition.Stdio && d.ScopeOr() == definition.Shared {
			g.sayf("warning", "one process serves all conversations, and %s: what it remembers of one person another may see; "+
				"jetclaw mcp configure %s --scope session gives each conversation its own", sharing, name)
		}
		if d.IsEnabled() && g.OK {
			probed[name] = d
		}
		x.Servers = append(x.Servers, g)
	}
	slices.SortFunc(x.Servers, func(a, b mcpDiagnosis) int { return strings.Compare(a.Name, b.Name) })
	if probe && len(probed) > 0 {
		if err := f.examineLive(ctx, &x, probed); err != nil {
			return x, err
		}
	}
	for _, g := range x.Servers {
		x.OK = x.OK && (g.OK || !chosen[g.Name].IsEnabled())
	}
	return x, nil
}

// examineLive connects to servers.
func (f *mcpFile) examineLive(ctx context.Context, x *mcpExam, servers map[string]definition.Definition) error {
	got, err := f.probe(ctx, servers)
	if err != nil {
		return err
	}
	for i := range x.Servers {
		g := &x.Servers[i]
		for _, d := range got.Diagnostics {
			if d.Server == g.Name {
				g.sayf("error", "probe failed: %s", d.Message)
				for _, line := range stderrTail(d.Stderr) {
					g.sayf("info", "%s", line)
				}
			}
		}
		p, ok := got.Servers[g.Name]
		if !ok {
			continue
		}
		for _, issue := range p.Issues {
			g.sayf(issue.Level, "%s", issue.Message)
		}
		if hint := approvalHint(servers[g.Name], p); hint != "" {
			g.sayf("warning", "%s", hint)
		}
	}
	return nil
}

func (f *mcpFile) tellDoctor(x mcpExam, asJSON bool) error {
	if asJSON {
		if err := f.s.writeJSON(x); err != nil {
			return err
		}
	} else if _, err := f.s.out.Write([]byte(f.s.doctorText(x))); err != nil {
		return err
	}
	if !x.OK {
		fmt.Fprintln(f.s.err, "MCP doctor found errors.")
		return &toldError{exitFailed}
	}
	return nil
}

func (s *shell) doctorText(x mcpExam) string {
	if len(x.Servers) == 0 {
		return fmt.Sprintf("No MCP servers configured in %s. Add one with jetclaw mcp add <name> -- <command>.\n", x.Path)
	}
	ok, wrong := "ok", "issues"
	mark := map[string]string{"error": "! error", "warning": "- warning"}
	if s.colour(s.outTTY) {
		ok, wrong = "\x1b[32mok\x1b[0m", "\x1b[31missues\x1b[0m"
		mark = map[string]string{"error": "! \x1b[31merror\x1b[0m", "warning": "- \x1b[33mwarning\x1b[0m"}
	}
	var b strings.Builder
	fmt.Fprintf(&b, "MCP doctor (%s):\n", x.Path)
	for _, g := range x.Servers {
		state := ok
		if !g.OK {
			state = wrong
		}
		fmt.Fprintf(&b, "- %s: %s\n", flat(g.Name), state)
		for _, i := range g.Issues {
			m, known := mark[i.Level]
			if !known {
				m = "- " + flat(i.Level)
			}
			fmt.Fprintf(&b, "  %s: %s\n", m, flat(i.Message))
		}
	}
	return b.String()
}
