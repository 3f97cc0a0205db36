// Package approval has calls wait for a person, and is that person: on the bus, as the command line is.
package approval

import (
	"context"
	"fmt"
	"strings"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/loadtest/user/client"
	"github.com/jetclaw/jetclaw/loadtest/user/exchange"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/session"
)

// What svc.approvals.decide and list are asked and say, as far as it matters here.
type (
	// Request is a person's answer to an approval.
	Request struct {
		Approval string          `json:"approval"`
		Decision callv1.Decision `json:"decision"`
	}
	// Answer is what he is told.
	Answer struct {
		Already bool   `json:"already"` // it was decided before, in the same way
		Text    string `json:"text"`
	}
	// Open are those that wait.
	Open struct {
		Approvals []struct {
			Approval string     `json:"approval"`
			Session  session.ID `json:"session"`
		} `json:"approvals"`
		More int `json:"more"` // that are not listed
	}
)

const service = "approvals"

// AllowOnce lets the one call run.
const AllowOnce = callv1.AllowOnce

// Decide answers.
func Decide(ctx context.Context, conn *bus.Conn, r Request) (Answer, error) {
	return bus.Ask[Answer](ctx, conn, service, "decide", r)
}

// List lists the open ones, of one session or "" for all.
func List(ctx context.Context, conn *bus.Conn, of string) (Open, error) {
	return bus.Ask[Open](ctx, conn, service, "list", map[string]string{"session": of})
}

// One is the only open approval of a session.
func One(ctx context.Context, conn *bus.Conn, session string) (id string, err error) {
	l, err := List(ctx, conn, session)
	if err != nil {
		return "", err
	}
	if len(l.Approvals) != 1 {
		return "", fmt.Errorf("%s has %d open approvals, want 1", session, len(l.Approvals))
	}
	return l.Approvals[0].Approval, nil
}

// Content is what a call writes that was allowed.
const Content = "allowed by a person"

// Path is a file that every prompt begins with: writing it asks a person. Since a change of one voids all that was
// asked, those that are to be approved write other files, about which a rule asks.
func Path(i, approve int) string {
	if i < approve {
		return fmt.Sprintf("asked-%d.txt", i)
	}
	return "AGENTS.md"
}

// AskPaths are the files of the configuration's rule.
const AskPaths = "asked-*"

// Text has the fake model call the tool that writes a file.
func Text(path string) string {
	return fmt.Sprintf(`!tool write_file {"path":%q,"content":%q}`, path, Content)
}

// Parked is one session whose call waits.
type Parked struct {
	Path, Marker string
	Accepted     client.Accepted
}

// Park sends a message and waits until a call of its turn waits for a person.
func Park(ctx context.Context, cl *client.Client, msg client.Message) (client.Accepted, error) {
	a, err := cl.Send(ctx, msg)
	for err == nil {
		var reply client.Reply
		if reply, err = cl.Wait(ctx, a.ID, exchange.ReplyPatience); err != nil {
			break
		}
		switch reply.Status {
		case "awaiting_approval":
			return a, nil
		case "pending":
		default:
			err = fmt.Errorf("%s %q, and not an approval", reply.Status, reply.Text)
		}
	}
	return a, fmt.Errorf("%s: %w", msg.Key, err)
}

// Finished waits until a message has its own answer, although a call of its turn may wait for a person still.
func Finished(ctx context.Context, cl *client.Client, a client.Accepted, m string) error {
	for {
		r, err := cl.WaitAnswer(ctx, a.ID, exchange.ReplyPatience)
		switch {
		case err != nil:
			return fmt.Errorf("reply to %s: %w", m, err)
		case r.Status == "completed" && strings.Contains(r.Text, m+" "):
			return nil
		case r.Final():
			return fmt.Errorf("reply to %s: %s %q", m, r.Status, r.Text)
		case ctx.Err() != nil:
			return context.Cause(ctx)
		}
	}
}
