package cli

import (
	"fmt"
	"io"
	"sync"

	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/logs"
	"github.com/jetclaw/jetclaw/services/mcp/definition"
)

// mcpProgress tells a person at a terminal, in one line, what a probe does now. It may be called from many goroutines.
type mcpProgress struct {
	out     io.Writer // the terminal itself; nil: nobody looks
	secrets *logs.Redactor

	mu    sync.Mutex
	shown bool // guarded by mu
}

func (s *shell) newMCPProgress(servers map[string]definition.Definition) *mcpProgress {
	p := &mcpProgress{secrets: s.secrets}
	if s.errTTY {
		p.out = s.rawErr
	}
	if len(servers) != 1 {
		return p
	}
	for name, d := range servers {
		text := "connecting"
		switch {
		case d.Downloads():
			text = fmt.Sprintf("starting; %s may download the server first, which may take up to %s", d.Command, downloadTime)
		case d.TransportName() == definition.Stdio:
			text = "starting"
		}
		p.at(name, text)
	}
	return p
}

// at says what goes on with a server.
func (p *mcpProgress) at(name, text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.out == nil {
		return
	}
	p.shown = true
	fmt.Fprint(p.out, clearLine+oneLine(p.secrets.Text(name+": "+text)))
}

// end clears the line.
func (p *mcpProgress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown {
		fmt.Fprint(p.out, clearLine)
	}
	p.out = nil
}
