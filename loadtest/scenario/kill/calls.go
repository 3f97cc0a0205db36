package kill

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/bench/pace"
	"github.com/jetclaw/jetclaw/loadtest/fake/fakemcp"
	"github.com/jetclaw/jetclaw/loadtest/fake/peer"
	"github.com/jetclaw/jetclaw/loadtest/judge"
	"github.com/jetclaw/jetclaw/loadtest/product/daemon"
	"github.com/jetclaw/jetclaw/loadtest/user/crowd"
)

// callsTools says whether a mix is about tool calls.
func callsTools(mix string) bool { return mix == crowd.MixTools || mix == crowd.MixMCP }

// effects adds what calls have done, and which may be carried out twice.
func (k *run) effects(ev *judge.Evidence) (err error) {
	if callsTools(k.o.Mix) {
		ev.Again = map[string]bool{"now": true, peer.Name + "__" + fakemcp.Look: true}
	}
	switch k.o.Mix {
	case crowd.MixTools:
		ev.Lines, err = crowd.LinesOf(k.home.Workspace())
	case crowd.MixMCP:
		ev.Lines, err = fakemcp.Ledger(k.ledgerFile()).Effects(fakemcp.Append)
	}
	return err
}

// ledgerFile is where the MCP server writes down what it has done.
func (k *run) ledgerFile() string { return filepath.Join(k.Dir, "ledger") }

// survivorPatience is how long servers may take to see that whoever has started them is gone.
const survivorPatience = 10 * time.Second

// survivors are MCP servers that nobody has ended: the daemon has stopped in order, and those that it has left behind when it
// was killed are to have ended by themselves, or by the next one.
func (k *run) survivors(ctx context.Context) ([]judge.Violation, error) {
	if k.o.Mix != crowd.MixMCP {
		return nil, nil
	}
	for patience := time.Now().Add(survivorPatience); ; {
		n, err := daemon.Holding(k.ledgerFile())
		if err != nil || n == 0 {
			return nil, err
		}
		if time.Now().After(patience) || !pace.Wait(ctx, peer.IdlePoll) {
			return []judge.Violation{{Kind: judge.Stuck, Text: fmt.Sprintf("%d MCP servers have outlived the daemon", n)}}, nil
		}
	}
}
