package turns

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	"time"

	"github.com/jetclaw/jetclaw/bus/actor"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/turns/model"
	"github.com/jetclaw/jetclaw/services/turns/turn"
)

// caller makes the model calls that the machine claims.
type caller struct {
	model  Model
	tools  []model.Tool
	system string
	limits turn.Limits
	live   Live
	log    *slog.Logger
}

var (
	errNoClaim  = errors.New("no model call is claimed")
	errCallTime = errors.New("the time limit of the model call is over")
)

// perform makes one model call. Whatever the model does becomes an event; an error means that the call was ended from
// outside (fenced, withdrawn, shut down) and that its outcome is nobody's business any more.
func (c *caller) perform(ctx context.Context, w actor.Work[turn.State]) (envelope.Body, error) {
	t := w.State.Turn
	if t == nil || !t.Open {
		return nil, errNoClaim
	}
	// The call ends before its claim does, so that the report of it is the runner's and not a take-over.
	limit := w.Deadline.Add(-c.limits.Grace)
	call, cancel := context.WithDeadlineCause(ctx, limit, errCallTime)
	defer cancel()

	stream := newDeltas(c.live, w.Session, t)
	answer, err := c.generate(call, model.Request{
		Messages: turn.Prompt(w.State, c.system, c.limits),
		Tools:    c.tools,
	}, stream.add)
	stream.flush()

	out := turnv1.Outcome{
		Turn: t.ID, Round: t.Claim.Round, Attempt: t.Claim.Attempt, Model: c.model.Name(), Usage: answer.Usage,
	}
	if err == nil {
		var body envelope.Body
		if body, err = c.outcome(out, answer, t); err == nil {
			return body, nil
		}
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	failed := turnv1.Failed{Outcome: out, Answers: t.Messages}
	var reported *model.Error
	switch {
	case errors.Is(context.Cause(call), errCallTime):
		failed.Cause, failed.Detail = turnv1.TimedOut, err.Error()
		failed.Text = fmt.Sprintf("The model did not finish its answer within %s. Please try again, or ask for less at once.",
			limit.Sub(t.Claim.At).Round(100*time.Millisecond))
	case errors.As(err, &reported):
		failed.Cause, failed.Text, failed.Detail = reported.Cause, reported.Text, reported.Detail
	default:
		failed.Cause, failed.Detail = turnv1.ModelUnavailable, err.Error()
		failed.Text = "The model could not be used. Please try again."
	}
	c.log.Warn("model call failed", "session", w.Session, "turn", t.ID, "model", out.Model, "cause", failed.Cause, "detail", failed.Detail)
	return failed, nil
}

// outcome is the event of an answer.
func (c *caller) outcome(out turnv1.Outcome, a model.Answer, t *turn.Turn) (envelope.Body, error) {
	text := strings.ToValidUTF8(a.Text, "�")
	if len(a.Calls) > 0 {
		calls, err := model.Parse(a, c.tools, t)
		if err != nil {
			return nil, err
		}
		return turnv1.Stepped{Outcome: out, Text: text, Calls: calls}, nil
	}
	if strings.TrimSpace(text) == "" {
		return nil, &model.Error{Cause: turnv1.ModelGarbage, Text: "The model's answer was empty. Please try again.", Detail: "no text and no calls"}
	}
	if a.Cut {
		text += "\n\n[The answer ends here: it reached the model's length limit.]"
	}
	return turnv1.Completed{Outcome: out, Answers: t.Messages, Text: text}, nil
}

// generate calls the model. A panic of an adapter is a failure of the model: it reads what strangers send, and the person
// who waits is to be told.
func (c *caller) generate(ctx context.Context, r model.Request, onDelta func(string)) (a model.Answer, err error) {
	defer func() {
		if v := recover(); v != nil {
			c.log.Error("panic in a model call", "model", c.model.Name(), "panic", v, "stack", string(debug.Stack()))
			a, err = model.Answer{}, &model.Error{
				Cause: turnv1.ModelGarbage, Text: "The model's answer could not be read. Please try again.", Detail: fmt.Sprint("panic: ", v),
			}
		}
	}()
	return c.model.Generate(ctx, r, onDelta)
}
