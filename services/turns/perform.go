package turns

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jetclaw/jetclaw/bus/actor"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/turns/internal/relay"
	"github.com/jetclaw/jetclaw/services/turns/internal/router"
	"github.com/jetclaw/jetclaw/services/turns/model"
	"github.com/jetclaw/jetclaw/services/turns/offer"
	"github.com/jetclaw/jetclaw/services/turns/price"
	"github.com/jetclaw/jetclaw/services/turns/prompt"
	"github.com/jetclaw/jetclaw/services/turns/turn"
)

// caller makes the model calls that the machine claims.
type caller struct {
	agents agents
	models Catalog
	route  *router.Router
	shelf  *shelf
	files  Files
	prices price.Table
	daily  Accounts // nil: no budget of the day
	live   Live
	book   *actor.Rulebook
	log    *slog.Logger
	only   string // the one model that is asked, whatever the session and its agent say; "" for all but a rerun
}

// Accounts say what has been used today.
type Accounts interface {
	// Check says whether a budget of the day is used up, and what to tell the person.
	Check(ctx context.Context, agent string, now time.Time) (text string, over bool)
}

var (
	errNoClaim  = errors.New("no model call is claimed")
	errCallTime = errors.New("the time limit of the model call is over")
)

// perform makes one model call: of a turn, or of a compaction. Whatever the model does becomes an event; an error means
// that the call was ended from outside (fenced, withdrawn, shut down) and that its outcome is nobody's business any more.
func (c *caller) perform(ctx context.Context, w actor.Work[turn.State]) (envelope.Body, error) {
	if w.State.Compaction != nil {
		return c.compact(ctx, w)
	}
	t := w.State.Turn
	if t == nil || !t.Open {
		return nil, errNoClaim
	}
	a := c.agents.of(w.Session)
	out := turnv1.Outcome{Turn: t.ID, Round: t.Claim.Round, Attempt: t.Claim.Attempt}
	if c.daily != nil && !a.Client {
		if text, over := c.daily.Check(ctx, w.Session.Agent(), time.Now()); over {
			return turnv1.Failed{Outcome: out, Answers: t.Messages, Cause: turnv1.OverBudget, Text: text}, nil
		}
	}
	call, cancel := c.within(ctx, a, w.Deadline)
	defer cancel()
	c.shelf.refresh(call, t.Claim.Round > 1 || a.Client) // a client calls what it was told of a moment ago
	stream := newDeltas(c.live, w.Session, t)
	var plan prompt.Plan
	pictures := album{files: c.files, session: w.Session, log: c.log}
	got, err := c.generate(call, w, a, func(m Model) model.Request {
		plan = c.plan(a, w.State, m)
		pictures.fill(call, plan.Messages)
		return model.Request{Messages: plan.Messages, Tools: plan.Tools}
	}, stream.add)
	stream.flush()
	out.Model, out.Tried, out.Usage = got.Model, got.Tried, c.charge(got.Model, got.Answer.Usage)
	if err == nil {
		var body envelope.Body
		if body, err = c.outcome(out, got.Answer, plan.Names, a, t); err == nil {
			return body, nil
		}
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	cause, text, detail := c.why(call, err, len(out.Tried) > 0, t.Claim.Deadline.Add(-a.Limits.Grace).Sub(t.Claim.At))
	c.log.Warn("model call failed", "session", w.Session, "turn", t.ID, "model", out.Model, "cause", cause, "detail", detail)
	if cause == turnv1.ContextOverflow {
		return turnv1.Overflowed{Outcome: out, Tokens: plan.Tokens, Detail: detail}, nil
	}
	return turnv1.Failed{Outcome: out, Answers: t.Messages, Cause: cause, Text: text, Detail: detail}, nil
}

// chain is which models are asked, in order.
func (c *caller) chain(a *agent, s turn.State) []string {
	if c.only != "" {
		return []string{c.only}
	}
	return a.chain(s)
}

// within ends a call before its claim does, so that the report of it is the runner's and not a take-over.
func (c *caller) within(ctx context.Context, a *agent, deadline time.Time) (context.Context, context.CancelFunc) {
	return context.WithDeadlineCause(ctx, deadline.Add(-a.Limits.Grace), errCallTime)
}

// why says what went wrong with a call: its class, what the person is told, and what the operator is. several says that more
// than one model was asked.
func (c *caller) why(call context.Context, err error, several bool, limit time.Duration) (cause turnv1.Cause, text, detail string) {
	var reported *model.Error
	late, isReported := errors.Is(context.Cause(call), errCallTime), errors.As(err, &reported)
	switch {
	case late && !(several && isReported):
		return turnv1.TimedOut, fmt.Sprintf("The model did not finish its answer within %s (limits.call). Please try again, or ask for less at once.",
			limit.Round(100*time.Millisecond)), err.Error()
	case isReported:
		return reported.Cause, reported.Text, reported.Detail
	}
	return turnv1.ModelUnavailable, "The model could not be used. Please try again.", err.Error()
}

// plan is what the next model call of a session shows to m.
func (c *caller) plan(a *agent, s turn.State, m Model) prompt.Plan {
	if a.Client {
		return c.relayed(a, s)
	}
	in := prompt.Input{State: s, Instructions: a.Instructions, Window: a.window(m, c.prices), Sees: sees(m)}
	in.Files, in.Skills = a.files(c.log)
	offered := c.shelf.offer(a, dialectOf(m), len(in.Skills) > 0)
	in.Tools, in.Names = offered.tools, offered.names
	return prompt.Build(in)
}

// charge gives usage its price.
func (c *caller) charge(ref string, u turnv1.Usage) turnv1.Usage {
	if ref == "" || ref == relay.Name { // that one costs nothing, and says so
		return u
	}
	m, err := c.models.Model(ref)
	if err != nil {
		return u
	}
	return c.prices.Charge(ref, vendorOf(m), u)
}

// outcome is the event of an answer.
func (c *caller) outcome(out turnv1.Outcome, a model.Answer, offered offer.Names, of *agent, t *turn.Turn) (envelope.Body, error) {
	text := shortened(strings.ToValidUTF8(a.Text, "�"), maxText, "answer")
	if len(a.Calls) > 0 {
		calls, err := model.Parse(a, offered, t)
		if err != nil {
			return nil, err
		}
		bound(calls, t.CallsLeft(of.Budget), of.Budget.Calls)
		of.answerSkills(calls)
		return turnv1.Stepped{Outcome: out, Text: text, Calls: calls}, nil
	}
	if strings.TrimSpace(text) == "" {
		return nil, &model.Error{
			Class: model.Garbage, Cause: turnv1.ModelGarbage, Text: "The model's answer was empty. Please try again.", Detail: "no text and no calls",
		}
	}
	if a.Cut {
		text += "\n\n[The answer ends here: it reached the model's length limit.]"
	}
	return turnv1.Completed{Outcome: out, Answers: t.Messages, Text: text}, nil
}

const (
	maxText    = 256 << 10 // bytes of an answer that are kept: a session keeps it in memory, and one message carries it
	maxSummary = 32 << 10  // of a summary: every request from then on carries it
)

// shortened is at most limit bytes of text and, where something is left out, a note that says so.
func shortened(text string, limit int, what string) string {
	if len(text) <= limit {
		return text
	}
	n := limit
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return fmt.Sprintf("%s\n\n[The %s ends here: %d more bytes are left out.]", text[:n], what, len(text)-n)
}

// bound refuses the calls beyond what the turn may make. left is -1 where there is no bound.
func bound(calls []turnv1.Call, left, limit int) {
	if left < 0 {
		return
	}
	for i := range calls[min(left, len(calls)):] {
		calls[left+i].Refusal = fmt.Sprintf("one answer may make %d tool calls (limits.calls), and they are used up; answer with what you have", limit)
	}
}
