package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/loadtest/client"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/session"
)

type decideRequest struct {
	Approval string          `json:"approval"`
	Decision callv1.Decision `json:"decision"`
}

type decideAnswer struct {
	Already bool   `json:"already"`
	Text    string `json:"text"`
}

type approvalList struct {
	Approvals []struct {
		Approval string     `json:"approval"`
		Session  session.ID `json:"session"`
	} `json:"approvals"`
	More int `json:"more"`
}

const approvalsService = "approvals"

const allowOnce = callv1.AllowOnce

func decide(ctx context.Context, conn *bus.Conn, r decideRequest) (decideAnswer, error) {
	return bus.Ask[decideAnswer](ctx, conn, approvalsService, "decide", r)
}

// listApprovals lists the open ones, of one session or "" for all.
func listApprovals(ctx context.Context, conn *bus.Conn, of string) (approvalList, error) {
	return bus.Ask[approvalList](ctx, conn, approvalsService, "list", map[string]string{"session": of})
}

const approvedContent = "allowed by a person"

// parkedPath is a file that every prompt begins with: writing it asks a person. Since a change of one voids all that was
// asked, those that are to be approved write other files, about which a rule asks.
func parkedPath(i, approve int) string {
	if i < approve {
		return fmt.Sprintf("asked-%d.txt", i)
	}
	return "AGENTS.md"
}

const askPaths = "asked-*"

func parkedText(path string) string {
	return fmt.Sprintf(`!tool write_file {"path":%q,"content":%q}`, path, approvedContent)
}

// parkedSession is one session whose call waits.
type parkedSession struct {
	path, marker string
	accepted     client.Accepted
}

// parkOne sends a message and waits until a call of its turn waits for a person.
func parkOne(ctx context.Context, cl *client.Client, msg client.Message) (client.Accepted, error) {
	a, err := cl.Send(ctx, msg)
	for err == nil {
		var reply client.Reply
		if reply, err = cl.Wait(ctx, a.ID, replyPatience); err != nil {
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

// finished waits until a message has its own answer, although a call of its turn may wait for a person still.
func finished(ctx context.Context, cl *client.Client, a client.Accepted, m string) error {
	for {
		r, err := cl.WaitAnswer(ctx, a.ID, replyPatience)
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
