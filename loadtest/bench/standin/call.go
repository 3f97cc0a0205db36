package standin

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"

	"github.com/jetclaw/jetclaw/loadtest/fake/fakemcp"
	"github.com/jetclaw/jetclaw/loadtest/fake/peer"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

// call is the call that a turn waits for.
type call struct {
	turnv1.Call
	turn       string
	dispatched bool
	attempts   int
	done       bool
}

const executor = "builtin"

func (l *lane) foldCall(e envelope.Event) {
	switch b := e.Body.(type) {
	case turnv1.Stepped:
		l.call = &call{Call: b.Calls[0], turn: b.Turn, done: b.Calls[0].Refusal != ""}
	case callv1.Dispatched:
		l.call.dispatched = true
	case callv1.Started:
		l.call.attempts = b.Attempt
	case callv1.Completed:
		l.call.done = true
	}
}

// calling does the next thing for the open call, up to its outcome.
func (l *lane) calling(c call) error {
	var b envelope.Body
	out := callv1.Completed{Executor: executor, Turn: c.turn, Call: c.ID, Attempt: c.attempts, Outcome: callv1.OK}
	start := callv1.Started{Executor: executor, Turn: c.turn, Call: c.ID, Attempt: c.attempts + 1}
	switch {
	case !c.dispatched:
		b = callv1.Dispatched{Request: callv1.Request{Turn: c.turn, Call: c.ID, Tool: c.Tool, Executor: executor, Arguments: c.Arguments}}
	case c.attempts == 0:
		if _, err := l.append("", start); err != nil {
			return err
		}
		out.Attempt = 1
		if err := l.effect(c); err != nil {
			return err
		}
		b = out
	case c.Tool == "now" || c.Tool == peer.Name+"__"+fakemcp.Look: // its owner has died
		b = start
		if c.attempts > 1 {
			b = out
		}
	default:
		out.Outcome = callv1.Unknown
		b = out
	}
	_, err := l.append("", b)
	return err
}

func (l *lane) effect(c call) error {
	var a struct {
		Path    string `json:"path"`
		Content string `json:"content"`
		Marker  string `json:"marker"`
	}
	if err := json.Unmarshal(c.Arguments, &a); err != nil {
		return err
	}
	path, line := "", ""
	switch c.Tool {
	case "write_file":
		path, line = filepath.Join(l.d.home, "workspace", a.Path), a.Content
	case peer.Name + "__" + fakemcp.Append: // as the server would
		path, line = filepath.Join(filepath.Dir(l.d.home), "ledger"), fakemcp.Append+" "+a.Marker+"\n"
	default:
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if l.d.bug == "again" {
		line += line
	}
	_, err = f.WriteString(line)
	return errors.Join(err, f.Close())
}
