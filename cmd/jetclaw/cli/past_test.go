package cli

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/cmd/jetclaw/app"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/config"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/home"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/logs"
	"github.com/jetclaw/jetclaw/schemas/deliveryv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

// past is a turn that a test makes up.
type past struct {
	session string
	at      time.Time
	text    string
	model   string
	usage   turnv1.Usage
}

// lived writes a past into a home's journal. Nobody else may have the home.
func (u *user) lived(turns ...past) {
	u.t.Helper()
	h, err := home.Find(func(string) (string, bool) { return u.home, true })
	if err != nil {
		u.t.Fatal(err)
	}
	e := app.Env{
		Home: h, Config: config.Default(), Lookup: func(string) (string, bool) { return "", false }, Environ: func() []string { return nil },
		Secrets: &logs.Redactor{},
		Log:     slog.New(slog.DiscardHandler), Command: "test", Notice: func(string) {},
	}
	err = e.WithJournal(u.t.Context(), func(ctx context.Context, c app.Client) error {
		owner, err := c.Admin(ctx)
		if err != nil {
			return err
		}
		for i, p := range turns {
			id, err := parseSession(p.session)
			if err != nil {
				return err
			}
			prev, err := owner.Journal().Last(ctx, id)
			if err != nil {
				return err
			}
			for _, ev := range p.events(id, fmt.Sprint("p", i)) {
				ev.Prev = prev
				if prev, err = owner.Journal().Append(ctx, ev); err != nil {
					return err
				}
			}
		}
		return owner.Close(ctx)
	})
	if err != nil {
		u.t.Fatal(err)
	}
}

// events are those of a turn that was answered and delivered.
func (p past) events(id session.ID, message string) []envelope.Event {
	claim := turnv1.Claim{Turn: message + "/t", Round: 1, Attempt: 1, Worker: "w", Deadline: p.at, Messages: []string{message}}
	outcome := turnv1.Outcome{Turn: claim.Turn, Round: 1, Attempt: 1, Model: p.model, Usage: p.usage}
	events := []envelope.Event{
		{ID: message, Key: message, Body: messagev1.Received{From: me, Text: p.text}},
		{ID: message + "s", Body: turnv1.Started{Claim: claim}},
		{ID: message + "c", Body: turnv1.Completed{Outcome: outcome, Answers: claim.Messages, Text: "so it was"}},
		{ID: message + "d", Body: deliveryv1.Sent{Ref: deliveryv1.Ref{Delivery: message + "c", Attempt: 1}}},
	}
	for i := range events {
		events[i].Session, events[i].Time = id, p.at
	}
	return events
}

func day(t *testing.T, text string) time.Time {
	t.Helper()
	at, err := time.Parse(time.DateOnly, text)
	if err != nil {
		t.Fatal(err)
	}
	return at.Add(12 * time.Hour)
}
