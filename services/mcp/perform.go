package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jetclaw/jetclaw/bus/actor"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/toolv1"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/internal/admission"
	"github.com/jetclaw/jetclaw/services/internal/execution"
	"github.com/jetclaw/jetclaw/services/mcp/catalogue"
	"github.com/jetclaw/jetclaw/services/mcp/internal/client"
	"github.com/jetclaw/jetclaw/services/mcp/internal/content"
	"github.com/jetclaw/jetclaw/services/mcp/server"
)

const (
	attempts = 3               // claims of a call that may be repeated
	grace    = 5 * time.Second // what is left of a claim for the append of its outcome
	maxText  = 256 << 10       // bytes of a result that are kept as text
	spare    = 16 << 10        // bytes of it beyond that are looked at for secrets that the cut goes through
)

// errLate is the cause of the end of a call at its time limit.
var errLate = errors.New("the time limit of the call is over")

// heard sees what rings before the machine does.
func (s *Service) heard(ev envelope.Event) {
	if _, ok := ev.Body.(turnv1.SessionDeleted); ok {
		for _, u := range s.all() {
			u.part(ev.Session)
		}
	}
}

// perform carries out the call that a call.started claims, and says what became of it. An error means that the call was ended from
// outside, and that its outcome is somebody else's to tell.
func (s *Service) perform(ctx context.Context, w actor.Work[execution.State]) (envelope.Body, error) {
	claim, ok := w.Claim.Body.(callv1.Started)
	open, found := w.State.Open(execution.Part(w.Claim))
	if !ok || !found {
		return nil, fmt.Errorf("%s at %d of %s claims no call of an MCP server", w.Claim.Type(), w.Claim.Cursor, w.Session)
	}
	limited, cancel := context.WithDeadlineCause(ctx, w.Deadline.Add(-grace), errLate)
	defer cancel()
	e := &errand{session: w.Session, claim: w.Claim, call: open.Dispatched, attempt: claim.Attempt}
	got := s.call(e.with(limited), w.Session, open.Dispatched)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	text := s.redact(strings.ToValidUTF8(got.text, "�"))
	if len(text) > maxText { // only now: half a secret would not have been found
		whole := len(text)
		text = strings.ToValidUTF8(text[:maxText], "")
		got.cut += int64(whole - len(text))
	}
	out := callv1.Completed{
		Executor: open.Executor, Turn: claim.Turn, Call: claim.Call, Attempt: claim.Attempt, Untrusted: true,
		Outcome: got.outcome, Content: text, Cut: got.cut, Files: got.files,
	}
	return out, nil
}

// result is what became of a call.
type result struct {
	outcome callv1.Outcome
	text    string
	cut     int64
	files   []callv1.Attachment
}

func refused(format string, args ...any) result {
	return result{outcome: callv1.Refused, text: fmt.Sprintf(format, args...)}
}

func (s *Service) call(ctx context.Context, id session.ID, d callv1.Dispatched) result {
	u := s.of(d.Executor)
	if u == nil {
		return refused("the server of %s %v any more", d.Executor, errNoServer)
	}
	if why := u.refusal(time.Now()); why != "" {
		return refused("%s", why)
	}
	if !u.parallel() { // calls that come in another way than by the consumer would run beside its one
		select {
		case u.alone <- struct{}{}:
			defer func() { <-u.alone }()
		case <-ctx.Done():
			return u.unreached(ctx, context.Cause(ctx))
		}
	}
	u.count(1)
	defer u.count(-1)
	got, lost := u.try(ctx, id, d)
	if ctx.Err() == nil && (lost == harmless || lost == doubtful && d.Again) { // a new connection, once
		got, _ = u.try(ctx, id, d)
	}
	return got
}

// loss says whether a connection was lost in a call, and what that means.
type loss int

const (
	kept     loss = iota
	harmless      // nothing was done
	doubtful      // it is not known whether anything was done
)

func (u *upstream) parallel() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.conf.SupportsParallelToolCalls
}

func (u *upstream) count(n int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.running += n
}

// try carries a call out on one connection.
func (u *upstream) try(ctx context.Context, id session.ID, d callv1.Dispatched) (got result, lost loss) {
	l, err := u.acquire(ctx, id, false)
	if err != nil {
		return u.unreached(ctx, err), kept
	}
	defer u.release(l)
	target, err := u.admit(id, d)
	if err != nil {
		return refused("%v", err), kept
	}
	got, err = u.run(ctx, l, id, d, target)
	u.refresh(ctx, l) // before the model is asked what to do next
	switch {
	case err == nil:
		u.note(ctx, server.Worked{})
		return got, kept
	case errors.Is(context.Cause(ctx), errLate):
		l.broke(ctx, "a call was not answered within its limit", false)
		return result{outcome: callv1.TimedOut, text: "the server did not answer in time; what it had done by then is done"}, kept
	case ctx.Err() != nil:
		return result{}, kept // nobody waits for it
	}
	return u.fell(ctx, l, err)
}

// unreached is the result of a call for which there was no connection: nothing was done.
func (u *upstream) unreached(ctx context.Context, err error) result {
	text := fmt.Sprintf("the server %s cannot be used now: %v", u.name, err)
	if errors.Is(context.Cause(ctx), errLate) {
		text = fmt.Sprintf("the server %s could not be reached in time", u.name)
	}
	return result{outcome: callv1.Error, text: text + ". Nothing was done"}
}

// fell is the result of a call whose request came to nothing.
func (u *upstream) fell(ctx context.Context, l *link, err error) (got result, lost loss) {
	var rpc *client.RPCError
	var late *client.TimeoutError
	var unsent *client.UnsentError
	gone := errors.Is(err, client.ErrClosed)
	if client.Broken(err) {
		if gone {
			err = l.program.explain(err)
			u.abandon(l, err.Error())
		}
		u.broken(err)
		l.broke(ctx, err.Error(), gone)
	}
	switch {
	case errors.As(err, &unsent) && gone:
		return u.unreached(ctx, err), harmless
	case errors.As(err, &unsent):
		return u.unreached(ctx, err), kept
	case errors.As(err, &late):
		return result{outcome: callv1.TimedOut, text: fmt.Sprintf("the server %s did not answer within %s; what it had done by then is done",
			u.name, late.After)}, kept
	case errors.As(err, &rpc):
		if !client.Broken(err) {
			u.note(ctx, server.Worked{}) // it has answered
		}
		u.mu.Lock()
		u.stale = true // it may not have the tool any more
		u.mu.Unlock()
		u.refresh(ctx, l)
		return result{outcome: callv1.Error, text: "the server refuses the call: " + err.Error()}, kept
	case needsLogin(err):
		u.mu.Lock()
		u.login = err
		u.mu.Unlock()
		u.withdraw(ctx)
		return result{outcome: callv1.Error, text: err.Error()}, kept
	}
	return result{outcome: callv1.Unknown, text: fmt.Sprintf("the server %s was lost in the middle of the call (%v): whether it was done is not known",
		u.name, err)}, doubtful
}

// admit checks everything once more, and says what of the server is meant.
func (u *upstream) admit(id session.ID, d callv1.Dispatched) (catalogue.Target, error) {
	u.mu.Lock()
	built := u.built
	u.mu.Unlock()
	var tool toolv1.Tool
	var target catalogue.Target
	ok := false
	if built != nil {
		tool, ok = built.Catalogue.Find(d.Tool)
		target = built.Targets[d.Tool]
	}
	if !ok {
		return target, fmt.Errorf("the server %s has no tool %s any more", u.name, d.Tool)
	}
	_, err := admission.Check(u.s.key, id, d, tool, u.s.conn.Now())
	return target, err
}

// run sends the request that a call is.
func (u *upstream) run(ctx context.Context, l *link, id session.ID, d callv1.Dispatched, target catalogue.Target) (result, error) {
	leave := l.attend(ctx)
	defer leave()
	var got content.Result
	switch target.Kind {
	case catalogue.KindTool:
		r, err := l.session.Call(ctx, target.Name, d.Arguments, u.progress(id, d))
		if err != nil {
			return result{}, err
		}
		got = content.OfResult(r, maxText+spare)
	default:
		var err error
		if got, err = utility(ctx, l.session, target.Kind, d.Arguments); err != nil {
			return result{}, err
		}
	}
	out := result{outcome: callv1.OK, text: got.Text, cut: got.Cut}
	if got.Failed {
		out.outcome = callv1.Error
	}
	u.keep(ctx, id, got.Files, &out)
	return out, nil
}

// utility answers the tools that stand for a server's resources and prompts.
func utility(ctx context.Context, s *client.Session, kind catalogue.Kind, raw json.RawMessage) (content.Result, error) {
	var args struct {
		Cursor    string            `json:"cursor"`
		URI       string            `json:"uri"`
		Name      string            `json:"name"`
		Arguments map[string]string `json:"arguments"`
	}
	if err := json.Unmarshal(raw, &args); err != nil {
		return content.Result{Failed: true, Text: "the arguments cannot be read: " + err.Error()}, nil //nolint:nilerr // it is told
	}
	switch kind {
	case catalogue.KindResourcesList:
		r, err := s.ListResources(ctx, args.Cursor)
		if err != nil {
			return content.Result{}, err
		}
		return content.OfResources(r, maxText+spare), nil
	case catalogue.KindResourcesRead:
		r, err := s.ReadResource(ctx, args.URI)
		if err != nil {
			return content.Result{}, err
		}
		return content.OfResource(r, maxText+spare), nil
	case catalogue.KindPromptsList:
		r, err := s.ListPrompts(ctx, args.Cursor)
		if err != nil {
			return content.Result{}, err
		}
		return content.OfPrompts(r, maxText+spare), nil
	case catalogue.KindPromptsGet:
		r, err := s.GetPrompt(ctx, args.Name, args.Arguments)
		if err != nil {
			return content.Result{}, err
		}
		return content.OfPrompt(r, maxText+spare), nil
	case catalogue.KindTool:
	}
	return content.Result{Failed: true, Text: fmt.Sprintf("there is no %s here", kind)}, nil
}

// keep stores the files of a result among the attachments of the conversation.
func (u *upstream) keep(ctx context.Context, id session.ID, files []content.File, out *result) {
	for _, f := range files {
		digest, err := u.s.conn.PutFile(ctx, id, f.Data)
		if err != nil {
			out.text += fmt.Sprintf("\n[file %s could not be kept: %v]", f.Digest, err)
			continue
		}
		out.files = append(out.files, callv1.Attachment{
			Name: u.s.redact(f.Name), Type: u.s.redact(f.MIME), Size: int64(len(f.Data)), Digest: digest,
		})
	}
}

// Progress is what a server says of a call under way, on live.<session>: lossy.
type Progress struct {
	Type     string  `json:"type"` // ProgressType
	Turn     string  `json:"turn"`
	Call     string  `json:"call"`
	Tool     string  `json:"tool"`
	Progress float64 `json:"progress"`
	Total    float64 `json:"total,omitempty"` // 0: not known
	Message  string  `json:"message,omitempty"`
}

// ProgressType is the type of a Progress among the messages of live.<session>.
const ProgressType = "progress"

func (u *upstream) progress(id session.ID, d callv1.Dispatched) func(client.Progress) {
	return func(p client.Progress) {
		_ = u.s.conn.PublishLive(id, Progress{
			Type: ProgressType, Turn: d.Turn, Call: d.Call, Tool: d.Tool, Progress: p.Progress, Total: p.Total, Message: u.s.redact(p.Message),
		})
	}
}
