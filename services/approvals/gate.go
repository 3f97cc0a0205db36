package approvals

import (
	"context"
	"encoding/json"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/services/approvals/approval"
)

// gate is who says what may run now.
type gate interface {
	judge(ctx context.Context, id session.ID, q approval.Question) (approval.Verdict, error)
	version(ctx context.Context, agent string) (string, error)
}

// tools is the gate of the tools service.
type tools struct{ conn *bus.Conn }

const (
	toolsService = "tools"
	judgeVerb    = "judge"
	versionVerb  = "version"
)

// judgeTime bounds one round of asking the gate: below bus.AckWait, as a lane waits for it.
const judgeTime = 4 * time.Second

// judgeRequest and judgeAnswer are the wire of svc.tools.judge.
type judgeRequest struct {
	Session   session.ID      `json:"session"`
	Turn      string          `json:"turn"`
	Call      string          `json:"call"`
	Index     int             `json:"index"`
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
}

type judgeAnswer struct {
	Effect  approval.Effect `json:"effect"`
	Request callv1.Request  `json:"request"`
	Rule    string          `json:"rule"`
	Reason  string          `json:"reason,omitempty"`
	Shown   string          `json:"shown,omitempty"`
	Grant   string          `json:"grant,omitempty"`
}

func (t tools) judge(ctx context.Context, id session.ID, q approval.Question) (approval.Verdict, error) {
	ctx, cancel := context.WithTimeout(ctx, judgeTime)
	defer cancel()
	a, err := bus.Ask[judgeAnswer](ctx, t.conn, toolsService, judgeVerb, judgeRequest{
		Session: id, Turn: q.Turn, Call: q.Call, Index: q.Index, Tool: q.Tool, Arguments: q.Arguments,
	})
	if err != nil {
		return approval.Verdict{}, err
	}
	return approval.Verdict{
		Submission: q.Submission, Effect: a.Effect, Request: a.Request, Reason: a.Reason, Shown: a.Shown, Grant: a.Grant,
	}, nil
}

// versionRequest and versionAnswer are the wire of svc.tools.version.
type versionRequest struct {
	Agent string `json:"agent"`
}

type versionAnswer struct {
	Policy string `json:"policy"`
}

func (t tools) version(ctx context.Context, agent string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, judgeTime)
	defer cancel()
	a, err := bus.Ask[versionAnswer](ctx, t.conn, toolsService, versionVerb, versionRequest{Agent: agent})
	if err == nil && a.Policy == "" {
		err = fault.New(fault.Unavailable, "the gate names no policy of agent %s", agent)
	}
	return a.Policy, err
}
