package turns

import (
	"context"
	"fmt"
	"strings"

	"github.com/jetclaw/jetclaw/bus/actor"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/turns/model"
	"github.com/jetclaw/jetclaw/services/turns/prompt"
	"github.com/jetclaw/jetclaw/services/turns/turn"
)

// compact has finished turns summarised. Whatever goes wrong keeps the history as it is.
func (c *caller) compact(ctx context.Context, w actor.Work[turn.State]) (envelope.Body, error) {
	s, co := w.State, w.State.Compaction
	a := c.agents.of(w.Session)
	past := s.Past
	for i, x := range past {
		if x.Turn == co.Through {
			past = past[:i+1]
			break
		}
	}
	call, cancel := c.within(ctx, a, w.Deadline)
	defer cancel()
	got, err := c.generate(call, w, a, func(m Model) model.Request {
		window := a.window(m, c.prices)
		if s.Room > 0 {
			window = min(window, s.Room)
		}
		return prompt.Summarise(past, s.Summary, window)
	}, func(string) {})
	usage := c.charge(got.Model, got.Answer.Usage)
	summary := shortened(strings.TrimSpace(strings.ToValidUTF8(got.Answer.Text, "�")), maxSummary, "summary")
	if err == nil && summary == "" {
		err = &model.Error{Class: model.Garbage, Cause: turnv1.ModelGarbage, Text: "The summary was empty."}
	}
	if err == nil {
		turns := len(past)
		if s.Summary != nil {
			turns += s.Summary.Turns
		}
		return turnv1.SessionCompacted{
			Compaction: co.ID, Attempt: co.Claim.Attempt, By: co.By, Through: co.Through, Turns: turns, Summary: summary,
			Model: got.Model, Usage: usage, Text: told(s, co.By, turns),
		}, nil
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	cause, text, detail := c.why(call, err, len(got.Tried) > 0, co.Claim.Deadline.Add(-a.Limits.Grace).Sub(co.Claim.At))
	c.log.Warn("compaction failed", "session", w.Session, "through", co.Through, "model", got.Model, "cause", cause, "detail", detail)
	return turnv1.CompactionFailed{
		Compaction: co.ID, Attempt: co.Claim.Attempt, By: co.By, Model: got.Model, Usage: usage, Cause: cause,
		Text: "The conversation could not be summarised, and is as it was: " + text, Detail: detail,
	}, nil
}

// told is what a person who asked for the summary is told.
func told(s turn.State, by string, turns int) string {
	what := fmt.Sprintf("%d turns are", turns)
	if turns == 1 {
		what = "1 turn is"
	}
	for _, it := range s.Inbox {
		if it.ID == by && it.Verb == messagev1.New {
			return fmt.Sprintf("A new beginning: %s kept as a summary.", what)
		}
	}
	return fmt.Sprintf("%s now a summary. Nothing is lost: the originals stay in the journal.", what)
}
