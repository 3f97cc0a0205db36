package bridge

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/toolv1"
	"github.com/jetclaw/jetclaw/services/bridge/event"
)

// approvals keeps what people are asked.
const approvals = "approvals"

type approvalView struct {
	Approval  string          `json:"approval"`
	Session   session.ID      `json:"session"`
	Status    string          `json:"status"`
	Turn      string          `json:"turn"`
	Call      string          `json:"call"`
	Tool      string          `json:"tool"`
	Expires   time.Time       `json:"expires"`
	Executor  string          `json:"executor"`
	Arguments json.RawMessage `json:"arguments"`
	Level     toolv1.Level    `json:"level"`
	Why       []string        `json:"why"`
	Shown     string          `json:"shown"`
	Always    bool            `json:"always"`
	Since     time.Time       `json:"since"`
}

// Approval is an open question as clients are told of it.
type Approval struct {
	Kind string `json:"kind" jsonschema:"exec: about a built-in tool; plugin: about one of an MCP server"`
	event.Requested

	Reserved bool `json:"reserved,omitempty" jsonschema:"it is about a call of a program outside: no program may answer it, only a person"`
}

type openOut struct {
	Approvals []Approval `json:"approvals"`
	More      int        `json:"more,omitempty" jsonschema:"how many, at least, did not fit"`
}

func (b *Bridge) permissionsListOpen(ctx context.Context, _ *mcp.CallToolRequest, _ struct{}) (string, openOut, error) {
	got, err := ask[struct {
		Approvals []approvalView `json:"approvals"`
		More      int            `json:"more"`
	}](ctx, b.line, approvals, "list", struct{}{})
	if err != nil {
		return "", openOut{}, err
	}
	out := openOut{Approvals: make([]Approval, 0, len(got.Approvals)), More: got.More}
	for _, v := range got.Approvals {
		reserved := v.Session.Channel() == event.Client
		out.Approvals = append(out.Approvals, Approval{Kind: event.KindOf(v.Executor), Reserved: reserved, Requested: event.Requested{
			ID: v.Approval, Created: v.Since.UnixMilli(), Expires: v.Expires.UnixMilli(), Request: event.Request{
				Tool: v.Tool, Executor: v.Executor, Arguments: v.Arguments, Level: v.Level.String(), Why: v.Why, Shown: v.Shown,
				Always: v.Always, Session: string(v.Session), Turn: v.Turn, Call: v.Call,
			},
		}})
	}
	return fmt.Sprintf("approvals: %d", len(out.Approvals)), out, nil
}

type respondIn struct {
	Kind     string `json:"kind"`
	ID       string `json:"id"`
	Decision string `json:"decision"`
	Reason   string `json:"reason,omitempty"`
}

type respondOut struct {
	ID       string `json:"id"`
	Kind     string `json:"kind"`
	Decision string `json:"decision"`
	Status   string `json:"status" jsonschema:"allowed or denied"`
	Already  bool   `json:"already,omitempty" jsonschema:"it had been decided so before"`
	Text     string `json:"text"`
}

type approvalQuestion struct {
	Approval string `json:"approval"`
}

type decideQuestion struct {
	Approval string          `json:"approval"`
	Session  session.ID      `json:"session"`
	Decision callv1.Decision `json:"decision"`
	Reason   string          `json:"reason,omitempty"`
	Via      string          `json:"via"`
}

// ownClient is how jetclaw names itself to MCP servers.
const ownClient = "jetclaw"

func (b *Bridge) permissionsRespond(ctx context.Context, r *mcp.CallToolRequest, in respondIn) (string, respondOut, error) {
	if nameOfClient(r.Session) == ownClient {
		return "", respondOut{}, fault.New(fault.Denied, "jetclaw's agents answer no approvals, their own or others'")
	}
	v, err := ask[approvalView](ctx, b.line, approvals, "get", approvalQuestion{in.ID})
	switch {
	case fault.KindOf(err) == fault.NotFound:
		return "", respondOut{}, fault.New(fault.NotFound, "unknown or expired approval id: %.80s", in.ID)
	case err != nil:
		return "", respondOut{}, err
	case v.Session.Channel() == event.Client:
		return "", respondOut{}, fault.New(fault.Denied, "approval %s is about a call of a program outside, and no such program may "+
			"allow it: a person decides it with `jetclaw approvals approve %s`, or in a chat", v.Approval, v.Approval)
	case v.Executor != "" && event.KindOf(v.Executor) != in.Kind:
		return "", respondOut{}, fault.New(fault.Invalid, "approval %s is of kind %s", v.Approval, event.KindOf(v.Executor))
	}
	got, err := ask[struct {
		Status  string `json:"status"`
		Already bool   `json:"already"`
		Text    string `json:"text"`
	}](ctx, b.line, approvals, "decide", decideQuestion{
		Approval: v.Approval, Session: v.Session, Decision: callv1.Decision(in.Decision), Reason: in.Reason, Via: clientOf(r.Session, r.Extra),
	})
	if err != nil {
		return "", respondOut{}, err
	}
	out := respondOut{ID: v.Approval, Kind: in.Kind, Decision: in.Decision, Status: got.Status, Already: got.Already, Text: got.Text}
	return "approval: " + out.Status, out, nil
}
