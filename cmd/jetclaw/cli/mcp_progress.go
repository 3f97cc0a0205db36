package cli

import (
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/logs"
	"github.com/jetclaw/jetclaw/services/mcp/definition"
)

// mcpProgress tells a person at a terminal, in one line, what a probe does now. It may be called from many goroutines.
type mcpProgress struct {
	out     io.Writer // the terminal itself; nil: nobody looks
	secrets *logs.Redactor

	mu   sync.Mutex
	last string // guarded by mu; "": nothing is shown
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
			text = fmt.Sprintf("starting; %s may download the server first, which may take a minute", d.Command)
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
	line := oneLine(p.secrets.Text(name + ": " + text))
	if p.out == nil || strings.HasPrefix(p.last, line) { // what is shown says more
		return
	}
	p.last = line
	fmt.Fprint(p.out, clearLine+line)
}

// end clears the line.
func (p *mcpProgress) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.last != "" {
		fmt.Fprint(p.out, clearLine)
	}
	p.out = nil
}
