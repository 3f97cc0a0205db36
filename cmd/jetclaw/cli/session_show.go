package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/cli/markdown"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/conversations"
	fold "github.com/jetclaw/jetclaw/services/conversations/conversation"
)

// showOptions are the flags of `sessions show`.
type showOptions struct {
	limit  int
	all    bool
	before uint64
	json   bool
}

func (s *shell) sessionsShow() *cobra.Command {
	var o showOptions
	c := &cobra.Command{
		Use:   "show SESSION",
		Short: "Show what was said in a conversation",
		Long: `Shows the newest messages of a session, the oldest first: who, when, and the text. What was edited later says so and has the
newer text. It works also when the daemon has no read model, from the journal.

SESSION is as in chat --session: ` + sessionHelp + `.

With --json it prints one object: session; messages, each with id, cursor, time, role (user, assistant, notice), from, text, turn,
files, edited and cut (bytes of a very long text that are left out); more, which says whether there are older ones; and behind,
which says how far the read model is behind the journal.`,
		Example: `  jetclaw sessions show default
  jetclaw sessions show work --all
  jetclaw sessions show main.telegram.mybot.12345 --before 4711 --limit 10`,
		Args: oneSession,
		RunE: func(c *cobra.Command, args []string) error {
			if o.all && c.Flags().Changed("limit") {
				return usagef("--limit is for a part and --all for the whole: give one of the two")
			}
			return s.showSession(c.Context(), args[0], o)
		},
	}
	f := c.Flags()
	f.IntVar(&o.limit, "limit", 50, "how many messages at most")
	f.BoolVar(&o.all, "all", false, "the whole conversation")
	f.Uint64Var(&o.before, "before", 0, "only what came before this cursor")
	f.BoolVar(&o.json, "json", false, "one JSON object")
	noCompletion(c, "limit", "before")
	c.ValidArgsFunction = s.completeSessions
	return c
}

// shownSession is what `sessions show --json` prints.
type shownSession struct {
	Session  session.ID              `json:"session"`
	Messages []conversations.Message `json:"messages"` // oldest first
	More     bool                    `json:"more"`
	Behind   conversations.Behind    `json:"behind"`
}

func (s *shell) showSession(ctx context.Context, name string, o showOptions) error {
	id, err := parseSessionArgument("SESSION", name)
	if err != nil {
		return err
	}
	if err := positive(o.limit); err != nil {
		return err
	}
	return s.reading(ctx, "sessions show", func(ctx context.Context, c app.Client) error {
		x, err := readPages(ctx, c.Conn, id, o)
		switch {
		case fault.KindOf(err) == fault.NotFound: // or not yet known
			if err := s.unknownSession(ctx, c.Conn, id); err != nil {
				return err
			}
			x, err = s.readJournal(ctx, c.Conn, id, o)
		case noReader(err):
			fmt.Fprintln(s.err, "note: the read model does not answer; this is read from the journal")
			x, err = s.readJournal(ctx, c.Conn, id, o)
		}
		if err != nil {
			return err
		}
		s.behind(x.Behind)
		if o.json {
			return s.writeJSON(x)
		}
		out := bufio.NewWriter(s.out)
		s.showMessages(out, x)
		return out.Flush()
	})
}

// maxRead is how many messages one answer has at most.
const maxRead = 200

// readPages asks for pages from the newest on, until there are enough.
func readPages(ctx context.Context, conn *bus.Conn, id session.ID, o showOptions) (shownSession, error) {
	x := shownSession{Session: id, Messages: []conversations.Message{}}
	r := conversations.ReadRequest{Session: id, Before: o.before}
	for {
		r.Limit = maxRead
		if !o.all {
			r.Limit = min(o.limit-len(x.Messages), maxRead)
		}
		page, err := bus.Ask[conversations.Read](ctx, conn, "conversations", "read", r)
		if err != nil {
			return x, err
		}
		x.Messages = slices.Insert(x.Messages, 0, page.Messages...)
		x.More, x.Behind = page.More, page.Behind
		if !x.More || len(page.Messages) == 0 || !o.all && len(x.Messages) >= o.limit {
			return x, nil
		}
		r.Before = page.Messages[0].Cursor
	}
}

// readJournal does without the read model.
func (s *shell) readJournal(ctx context.Context, conn *bus.Conn, id session.ID, o showOptions) (shownSession, error) {
	x := shownSession{Session: id, Messages: []conversations.Message{}}
	events, hole, err := s.history(ctx, conn, id)
	if err != nil {
		return x, err
	}
	if hole != nil {
		fmt.Fprintf(s.err, "note: %s\n", holeText(hole))
	}
	if stone, ok := events[len(events)-1].Body.(turnv1.SessionDeleted); ok {
		fmt.Fprintf(s.err, "note: %s was deleted by %s on %s\n", id, flat(stone.By), events[len(events)-1].Time.Local().Format(time.DateTime))
	}
	x.Messages = append(x.Messages, transcriptOf(events).messages...)
	if o.before > 0 {
		x.Messages = slices.DeleteFunc(x.Messages, func(m conversations.Message) bool { return m.Cursor >= o.before })
	}
	if n := len(x.Messages) - o.limit; !o.all && n > 0 {
		x.Messages, x.More = x.Messages[n:], true
	}
	return x, nil
}

func (s *shell) showMessages(out io.Writer, x shownSession) {
	if len(x.Messages) == 0 {
		fmt.Fprintf(s.err, "note: nothing was said in %s there\n", x.Session)
		return
	}
	if x.More {
		fmt.Fprintf(s.err, "note: there is more before it: --before %d, or --all\n", x.Messages[0].Cursor)
	}
	on, off := "", ""
	if s.colour(s.outTTY) {
		on, off = dim, plain
	}
	for i, m := range x.Messages {
		if i > 0 {
			fmt.Fprintln(out)
		}
		fmt.Fprintf(out, "%s--- %s%s\n", on, headOf(m), off)
		for _, f := range m.Files {
			fmt.Fprintf(out, "%s\n", fileLine(f))
		}
		if m.Text != "" {
			fmt.Fprint(out, s.rendered(m))
		}
		if m.Cut > 0 {
			fmt.Fprintf(out, "%s[%s more: `jetclaw sessions export %s` has all of it]%s\n", on, countedBig(m.Cut, "byte"), x.Session, off)
		}
	}
}

// headOf is the line above a message.
func headOf(m conversations.Message) string {
	head := fmt.Sprintf("%s, %s, cursor %d", whoSays(m), m.Time.Local().Format(time.DateTime), m.Cursor)
	if m.Edited {
		head += ", edited"
	}
	return head
}

// whoSays is who has written a message.
func whoSays(m conversations.Message) string {
	switch {
	case m.Role == fold.User && m.From != "":
		return flat(m.From)
	case m.Role == fold.Notice:
		return "jetclaw"
	case m.From != "": // a model
		return flat(m.Role + ", " + m.From)
	}
	return flat(m.Role)
}

// rendered is a text for the reader: what a model has written as Markdown on a terminal that can, all else as it is.
func (s *shell) rendered(m conversations.Message) string {
	kind, _ := s.lookup("TERM")
	if m.Role != fold.Assistant || !s.outTTY || kind == "dumb" {
		return strings.TrimRight(forTerminal(m.Text), "\n") + "\n"
	}
	r := markdown.New(markdown.Options{Width: min(s.columns()-1, widest), Colour: s.colour(s.outTTY), Clean: forTerminal})
	var text markdown.Splitter
	var b strings.Builder
	for _, p := range append(text.Add(m.Text), text.End()...) {
		b.WriteString(r.Render(p))
	}
	return b.String()
}
