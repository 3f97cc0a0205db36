package builtin

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jetclaw/jetclaw/bus/actor"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/services/builtin/internal/tool"
	"github.com/jetclaw/jetclaw/services/internal/admission"
	"github.com/jetclaw/jetclaw/services/internal/execution"
)

// errLate is the cause of the end of a call at its time limit.
var errLate = errors.New("the time limit of the call is over")

// perform carries out the call that a call.started claims, and says what became of it. An error means that the call was
// ended from outside, and that its outcome is somebody else's to tell.
func (s *Service) perform(ctx context.Context, w actor.Work[execution.State]) (envelope.Body, error) {
	claim, ok := w.Claim.Body.(callv1.Started)
	open, found := w.State.Open(execution.Part(w.Claim))
	if !ok || !found {
		return nil, fmt.Errorf("%s at %d of %s claims no call of this executor", w.Claim.Type(), w.Claim.Cursor, w.Session)
	}
	out := callv1.Completed{Executor: Executor, Turn: claim.Turn, Call: claim.Call, Attempt: claim.Attempt}
	t, allowed, err := s.admit(w.Session, open.Dispatched)
	if err != nil {
		out.Outcome, out.Content = callv1.Refused, err.Error()
		return out, nil
	}
	call, cancel := context.WithDeadlineCause(ctx, w.Deadline.Add(-grace), errLate)
	defer cancel()
	c := tool.Call{Session: w.Session, Workspace: s.workspaceOf(w.Session), Arguments: open.Arguments, Allowed: allowed}
	if open.Approval != nil { // what a person has seen is bound; else two edits of one step would be in each other's way
		c.Files = open.Files
	}
	got, err := t.Run(call, c)
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	late := errors.Is(context.Cause(call), errLate)
	out.Outcome, out.Content = outcomeOf(got, err, late)
	if late && out.Outcome == callv1.TimedOut {
		out.Content = strings.TrimSpace(fmt.Sprintf("it was ended after %s. %s", t.Timeout.Round(time.Second), out.Content))
	}
	out.Untrusted, out.Private, out.Cut = got.Untrusted || t.Untrusted, got.Private || t.Private, got.Cut
	s.clean(&out)
	return out, nil
}

func outcomeOf(got tool.Result, err error, late bool) (callv1.Outcome, string) {
	switch {
	case err == nil && !got.Failed && !late:
		return callv1.OK, got.Text
	case tool.IsRefusal(err):
		return callv1.Refused, err.Error()
	case late && err != nil:
		return callv1.TimedOut, got.Text
	case err != nil:
		return callv1.Error, strings.TrimSpace(err.Error() + "\n" + got.Text)
	case got.Failed:
		return callv1.Error, got.Text
	}
	return callv1.OK, got.Text
}

// clean makes a result fit to be stored: valid UTF-8, bounded, without secrets.
func (s *Service) clean(out *callv1.Completed) {
	text := s.secrets.Redact(strings.ToValidUTF8(out.Content, "�"))
	if len(text) > tool.MaxText {
		kept := strings.ToValidUTF8(text[:tool.MaxText], "")
		out.Cut += int64(len(text) - len(kept))
		text = kept
	}
	out.Content = text
}

// admit checks everything once more: what was decided may be old, and whoever decided is another process. allowed says
// that a person has allowed it.
func (s *Service) admit(id session.ID, d callv1.Dispatched) (t tool.Tool, allowed bool, err error) {
	t, ok := s.tools[d.Tool]
	if !ok {
		return t, false, fmt.Errorf("there is no tool %s here any more", d.Tool)
	}
	allowed, err = admission.Check(s.key, id, d, t.Tool, s.conn.Now())
	return t, allowed, err
}

// grace is what is left of a claim for the append of its outcome.
const grace = 5 * time.Second
