package builtin

import (
	"time"

	"github.com/jetclaw/jetclaw/schemas/secret"
	"github.com/jetclaw/jetclaw/schemas/toolv1"
	"github.com/jetclaw/jetclaw/services/builtin/internal/files"
	"github.com/jetclaw/jetclaw/services/builtin/internal/shell"
	"github.com/jetclaw/jetclaw/services/builtin/internal/tool"
	"github.com/jetclaw/jetclaw/services/builtin/internal/web"
)

// Web configures web_fetch and web_search.
type Web = web.Options

// Search is the search engine that web_search asks.
type Search = web.Search

// Exec configures the shell.
type Exec = shell.Options

// SandboxMain is the process that goes into a sandbox and becomes a shell there; Exec.Self starts it.
func SandboxMain(args []string) int { return shell.Main(args) }

// Known are the entries of all tools that this executor can have, however it is configured: for who checks names.
func Known() []toolv1.Tool {
	list := files.Tools(files.Options{Now: time.Now})
	list = append(list, resultTool(nil), attachmentTool(nil, secret.Known{}))
	if more, err := web.Tools(web.Options{Search: web.Search{Provider: "brave", Key: "none"}}); err == nil {
		list = append(list, more...)
	}
	entries := []toolv1.Tool{shell.Entry(shell.Options{Timeout: shell.DefaultTimeout})}
	for _, t := range list {
		entries = append(entries, t.Tool)
	}
	return entries
}

// table is every tool of this executor. testdata/table.txt has the level, the egress class and the idempotency of each.
func (s *Service) table(c Config) ([]tool.Tool, error) {
	list := files.Tools(files.Options{Private: c.Private, Now: time.Now})
	list = append(list, resultTool(s.conn.Journal()), attachmentTool(s.conn, s.secrets))
	more, err := web.Tools(c.Web)
	if err != nil {
		return nil, err
	}
	list = append(list, more...)
	if c.Exec != nil {
		exec, err := shell.New(*c.Exec)
		if err != nil {
			// Not a reason to be down: whoever is asked to run a command hears that there is no such tool.
			c.Log.Error("exec is switched on and cannot be had", "error", err)
			return list, nil
		}
		list = append(list, exec)
	}
	return list, nil
}
