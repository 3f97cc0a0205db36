package cli

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app"
	"github.com/jetclaw/jetclaw/services/conversations"
	fold "github.com/jetclaw/jetclaw/services/conversations/conversation"
)

// sessionsOptions are the flags of `sessions list`.
type sessionsOptions struct {
	limit   int
	search  string
	agent   string
	channel string
	since   string
	open    bool
	json    bool
}

func (s *shell) sessionsList() *cobra.Command {
	var o sessionsOptions
	c := &cobra.Command{
		Use:   "list",
		Short: "List conversations, the latest first",
		Long: `Lists the sessions that there are by when something last happened in them, with their beginning as a title, the messages
and answers in them, and what they are at: waiting for approval, at work, delivering, or idle.

--search looks into titles, names and the people in them; "jetclaw sessions search" looks into what was said.

With --json it prints one object: conversations, each with session, agent, channel, account, peer, title, people, first, last
(cursors), created, updated, messages, answers, turns, calls, events, tokens, cost (billionths of a US dollar), last_message and
open; more, which says whether there are others; and behind, which says how far the read model is behind the journal.`,
		Example: `  jetclaw sessions list
  jetclaw sessions list --open
  jetclaw sessions list --channel telegram --since 7d
  jetclaw sessions list --json | jq -r '.conversations[].session'`,
		Args: noArguments,
		RunE: func(c *cobra.Command, _ []string) error { return s.listSessions(c.Context(), o) },
	}
	f := c.Flags()
	f.IntVar(&o.limit, "limit", 50, "how many at most")
	f.StringVar(&o.search, "search", "", "only those with this in the title, the name or the people")
	f.StringVar(&o.agent, "agent", "", "only those of this agent")
	f.StringVar(&o.channel, "channel", "", "only those of this channel: terminal, telegram, http")
	f.StringVar(&o.since, "since", "", "only those in which something has happened since then (24h, 5d, 2006-01-02)")
	f.BoolVar(&o.open, "open", false, "only those in which something is under way")
	f.BoolVar(&o.json, "json", false, "one JSON object")
	noCompletion(c, "limit", "search", "agent", "channel", "since")
	return c
}

// listed is what `sessions list --json` prints.
type listed struct {
	Conversations []conversations.Conversation `json:"conversations"`
	More          bool                         `json:"more"`
	Behind        conversations.Behind         `json:"behind"`
}

func (s *shell) listSessions(ctx context.Context, o sessionsOptions) error {
	now := time.Now()
	r := conversations.ListRequest{Search: o.search, Agent: o.agent, Channel: o.channel, Open: o.open}
	if err := positive(o.limit); err != nil {
		return err
	}
	if o.since != "" {
		m, err := parseMoment("since", o.since, now)
		if err != nil {
			return err
		}
		if r.Since = m.at; m.at.IsZero() {
			return usagef("--since %s: a time or how long ago (24h, 5d, 2006-01-02) is meant, not a cursor", o.since)
		}
	}
	return s.reading(ctx, "sessions list", func(ctx context.Context, c app.Client) error {
		l, err := listPages(ctx, c.Conn, r, o.limit)
		if err != nil {
			return err
		}
		s.behind(l.Behind)
		if o.json {
			return s.writeJSON(l)
		}
		return s.showSessions(l, o, now)
	})
}

// maxListed is how many sessions one answer has at most.
const maxListed = 500

// listPages asks for as many pages as it takes.
func listPages(ctx context.Context, conn *bus.Conn, r conversations.ListRequest, limit int) (listed, error) {
	l := listed{Conversations: []conversations.Conversation{}}
	for {
		r.Limit = min(limit-len(l.Conversations), maxListed)
		page, err := bus.Ask[conversations.List](ctx, conn, "conversations", "list", r)
		if err != nil {
			return l, err
		}
		l.Conversations = append(l.Conversations, page.Conversations...)
		l.More, l.Behind = page.Next != "", page.Behind
		if !l.More || page.Next == r.Cursor || len(l.Conversations) >= limit {
			return l, nil
		}
		r.Cursor = page.Next
	}
}

// titleShown is how many characters of a title a row has.
const titleShown = 48

func (s *shell) showSessions(l listed, o sessionsOptions, now time.Time) error {
	if len(l.Conversations) == 0 {
		if o.search+o.agent+o.channel+o.since != "" || o.open {
			fmt.Fprintln(s.err, "note: no session fits all of that")
		} else {
			fmt.Fprintln(s.err, "note: there is no session yet; `jetclaw chat` begins one")
		}
		return nil
	}
	t := columns{right: []bool{false, false, false, true}}
	t.row("session", "title", "last activity", "messages", "state")
	for _, c := range l.Conversations {
		t.row(string(c.Session), shortened(c.Title, titleShown), ago(now, c.Updated), strconv.Itoa(c.Messages+c.Answers), stateOf(c.Open))
	}
	if err := t.print(s.out); err != nil {
		return err
	}
	if l.More {
		fmt.Fprintf(s.err, "note: there are more; --limit %d shows them, --search, --since and --open find one\n", 4*o.limit)
	}
	return nil
}

// stateOf says in a word or three what is under way in a session.
func stateOf(open []conversations.Open) string {
	state := "idle"
	for _, o := range open {
		switch o.Kind {
		case fold.OpenApproval:
			return "waiting for approval"
		case fold.OpenDelivery:
			if state == "idle" {
				state = "delivering"
			}
		default:
			state = "at work"
		}
	}
	return state
}
