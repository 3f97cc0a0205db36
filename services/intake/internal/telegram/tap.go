package telegram

import (
	"cmp"
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/jetclaw/jetclaw/schemas/approvalv1"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/services/intake/access"
	"github.com/jetclaw/jetclaw/services/intake/internal/wire"
	"github.com/jetclaw/jetclaw/services/intake/thread"
)

// What a person who has tapped is told, beside what becomes of it.
const (
	notIn   = "You are not let in here."
	unused  = "This button is no longer in use."
	taken   = "Your answer was taken down."
	answers = 32              // answers to taps that a bot waits for at a time
	goodbye = 2 * time.Second // for an answer when the channel stops
)

// tapped makes a tap of somebody who is let in a decision. The data of a button is the tapping device's word: it is taken only
// in its one form.
func (c *clerk) tapped(ctx context.Context, l letter, v access.Verdict) error {
	b, ok := approvalv1.ParseButton(l.button.Data)
	id := thread.ApprovalID(b.Approval)
	if !ok || id == "" {
		c.answer(ctx, l.button.ID, unused, false)
		return nil
	}
	l.request.Verb, l.request.Argument = messagev1.Approve, wire.Text(id)
	switch b.Decision {
	case callv1.AllowOnce:
	case callv1.AllowAlways:
		l.request.Argument += " always"
	case callv1.Deny:
		l.request.Verb = messagev1.Deny
	}
	o, err := c.submit(ctx, l, v)
	if err == nil {
		c.inBackground(ctx, l.button.ID, func(ctx context.Context) (string, bool) { return c.became(ctx, o) })
	}
	return err
}

// became is what a person is told of a decision, and whether it has to be noticed.
func (c *clerk) became(ctx context.Context, o outcome) (text string, alert bool) {
	if o.refused != nil {
		return o.refused.Error(), true
	}
	limit, cancel := context.WithTimeout(ctx, c.pace.Answer+time.Second)
	defer cancel()
	r, err := c.desk.Reply(limit, wire.ReplyRequest{
		Session: string(o.session), MessageID: o.receipt.MessageID, WaitMS: c.pace.Answer.Milliseconds(), Until: wire.UntilAnswer,
	})
	if err != nil || r.Status == wire.Pending || r.Status == wire.AwaitingApproval {
		return taken, false
	}
	return cmp.Or(r.Text, taken), r.Status != wire.Completed || r.Decision == ""
}

// noted is the reaction to what was passed on: one that every chat allows unless it allows none.
const noted = "👍"

// seen shows in the background that a message was taken as what it is: nothing else will be said to it. Lossy.
func (c *clerk) seen(ctx context.Context, l letter) {
	id, err := strconv.ParseInt(l.request.Native, 10, 64)
	if err != nil {
		return
	}
	c.behind(ctx, "reaction", func(ctx context.Context) error {
		limit, cancel := context.WithTimeout(ctx, c.pace.Answer)
		defer cancel()
		return c.api.React(limit, l.attempt.Chat, id, noted)
	})
}

// answer tells a person in the background. It is told once: a query that is too old (as after a restart) cannot be answered.
func (c *clerk) answer(ctx context.Context, query, text string, alert bool) {
	c.inBackground(ctx, query, func(context.Context) (string, bool) { return text, alert })
}

// inBackground answers a tap with what ask returns, while its update is done already. Where too many wait, nothing is asked.
func (c *clerk) inBackground(ctx context.Context, query string, ask func(context.Context) (text string, alert bool)) {
	c.behind(ctx, "answer to a tap", func(ctx context.Context) error {
		text, alert := ask(ctx)
		text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
		limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), c.pace.Answer)
		defer cancel()
		stop := context.AfterFunc(ctx, func() { time.AfterFunc(goodbye, cancel) })
		defer stop()
		return c.api.AnswerCallback(limit, query, text, alert)
	})
}

// behind tells a person something while its update is done already. Where too much waits, it is not told.
func (c *clerk) behind(ctx context.Context, what string, do func(context.Context) error) {
	select {
	case c.answering <- struct{}{}:
	default:
		c.log.Debug("telegram: a person is not told, too many wait", "what", what)
		return
	}
	c.background.Go(func() {
		defer func() { <-c.answering }()
		if err := c.contained(func() error { return do(ctx) }); err != nil {
			c.log.Debug("telegram: a person was not told", "what", what, "error", err)
		}
	})
}
