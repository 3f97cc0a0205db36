package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/services/turns"
	"github.com/jetclaw/jetclaw/services/turns/model"
)

func (s *shell) contextCommand() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "context SESSION",
		Short: "Show what the model would be sent next",
		Long: `Shows what the next model call of a session would contain: what it is made of, with the tokens that each part has (an
estimate), then the messages as they would be sent, and the tools that the model is offered.

SESSION is as in chat --session: ` + sessionHelp + `.

With --json it prints one object with session, cursor, models, endpoint, window, tokens, parts, tools and messages; the
texts in it are exactly what the model gets, while a terminal is spared control characters.`,
		Example: "  jetclaw context default\n  jetclaw context main.telegram.mybot.12345 --json | jq '.parts'",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("%q takes one session\nSee %q.", c.CommandPath(), c.CommandPath()+" --help")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return s.context(c.Context(), args[0], asJSON) },
	}
	c.Flags().BoolVar(&asJSON, "json", false, "one JSON object")
	noCompletion(c)
	c.ValidArgsFunction = s.completeSessions
	return c
}

func (s *shell) context(ctx context.Context, name string, asJSON bool) error {
	id, err := parseSession(name)
	if err != nil {
		return usagef("%s", strings.Replace(err.Error(), "--session", "SESSION", 1))
	}
	e, err := s.env("context", slog.LevelWarn)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	return e.WithServices(ctx, func(ctx context.Context, c app.Client) error {
		got, err := nextRequest(ctx, c.Conn, id)
		if fault.KindOf(err) == fault.NotFound {
			return s.noSession(ctx, c.Conn, id)
		}
		if err != nil {
			return err
		}
		if asJSON {
			line, err := json.Marshal(requestOf(got))
			if err != nil {
				return fmt.Errorf("write the request as JSON: %w", err)
			}
			_, err = s.out.Write(append(jsonForTerminal(line), '\n'))
			return err
		}
		out := bufio.NewWriter(s.out)
		if err := showRequest(out, got); err != nil {
			return err
		}
		return out.Flush()
	})
}

// noSession says that there is none, and which were perhaps meant.
func (s *shell) noSession(ctx context.Context, conn *bus.Conn, id session.ID) error {
	near, err := namesakes(ctx, conn, id)
	if err != nil {
		return err
	}
	hint := "`jetclaw sessions list` shows those that there are"
	if len(near) > 0 {
		hint = "did you mean " + strings.Join(near, " or ") + "?"
	}
	return &noSessionError{fmt.Sprintf("there is no session %s\n%s", id, hint)}
}

// noSessionError says that there is no such session, and which may have been meant.
type noSessionError struct{ text string }

func (e *noSessionError) Error() string { return e.text }

// contextTries is how often a session may change while its pages are read.
const contextTries = 5

// nextRequest asks for all pages of a session's next request. They belong together: with news it begins again.
func nextRequest(ctx context.Context, conn *bus.Conn, id session.ID) (turns.Context, error) {
	for try := 1; ; try++ {
		got, err := pages(ctx, conn, id)
		if fault.KindOf(err) != fault.Conflict || try == contextTries {
			return got, err
		}
	}
}

func pages(ctx context.Context, conn *bus.Conn, id session.ID) (turns.Context, error) {
	all, err := bus.Ask[turns.Context](ctx, conn, "turns", "context", turns.ContextRequest{Session: string(id)})
	for err == nil && all.Next > 0 {
		var page turns.Context
		page, err = bus.Ask[turns.Context](ctx, conn, "turns", "context",
			turns.ContextRequest{Session: string(id), From: all.Next, Cursor: all.Cursor})
		if err == nil && page.Next != 0 && page.Next <= all.Next {
			err = fault.New(fault.Internal, "the next page of %s begins at message %d, and this one at %d", id, page.Next, all.Next)
		}
		all.Messages = append(all.Messages, page.Messages...)
		all.Next = page.Next
	}
	return all, err
}

// request is what `context --json` prints.
type request struct {
	Session  session.ID      `json:"session"`
	Cursor   uint64          `json:"cursor"`
	Models   []string        `json:"models"`
	Endpoint string          `json:"endpoint"`
	Window   int             `json:"window"`
	Tokens   int             `json:"tokens"`
	Parts    []requestPart   `json:"parts"`
	Tools    []model.Tool    `json:"tools"`
	Messages []model.Message `json:"messages"`
	Problems []string        `json:"problems,omitempty"` // of the workspace
}

type requestPart struct {
	Name   string `json:"name"`
	Tokens int    `json:"tokens"`
	Note   string `json:"note,omitempty"`
}

func requestOf(c turns.Context) request {
	r := request{
		Session: c.Session, Cursor: c.Cursor, Models: c.Models, Endpoint: c.Endpoint, Window: c.Window, Tokens: c.Tokens,
		Parts: []requestPart{}, Tools: append([]model.Tool{}, c.Tools...), Messages: append([]model.Message{}, c.Messages...),
		Problems: c.Problems,
	}
	for _, p := range c.Parts {
		r.Parts = append(r.Parts, requestPart{Name: p.Name, Tokens: p.Tokens, Note: p.Note})
	}
	return r
}

func showRequest(out io.Writer, c turns.Context) error {
	fmt.Fprintf(out, "%s, up to event %d\n", c.Session, c.Cursor)
	if len(c.Models) > 0 {
		fmt.Fprintf(out, "model    %s (%s)\n", flat(c.Models[0]), flat(c.Endpoint))
	}
	if len(c.Models) > 1 {
		fmt.Fprintf(out, "else     %s\n", flat(strings.Join(c.Models[1:], ", then ")))
	}
	window := "a window that is not known"
	if c.Window > 0 {
		window = "a window of " + strconv.Itoa(c.Window)
	}
	fmt.Fprintf(out, "tokens   about %d, of %s that the answer is part of\n\n", c.Tokens, window)
	t := columns{right: []bool{false, true}}
	t.row("part", "tokens")
	for _, p := range c.Parts {
		t.row(flat(p.Name), strconv.Itoa(p.Tokens), flat(p.Note))
	}
	t.row("total, about", strconv.Itoa(c.Tokens))
	if err := t.print(out); err != nil {
		return err
	}
	for _, p := range c.Problems {
		fmt.Fprintf(out, "\nnot as it should be: %s\n", flat(p))
	}
	if len(c.Tools) > 0 {
		names := make([]string, len(c.Tools))
		for i, tool := range c.Tools {
			names[i] = flat(tool.Name)
		}
		fmt.Fprintf(out, "\ntools: %s\n", strings.Join(names, ", "))
	}
	for _, m := range c.Messages {
		showMessage(out, m)
	}
	return nil
}

// showMessage prints one message under a line that says whose it is.
func showMessage(out io.Writer, m model.Message) {
	head := string(m.Role)
	if m.Call != "" {
		head += fmt.Sprintf(": result of %s, call %s", m.Name, m.Call)
	}
	fmt.Fprintf(out, "\n--- %s\n", flat(head))
	if m.Text != "" {
		fmt.Fprintln(out, forTerminal(m.Text))
	}
	for _, c := range m.Calls {
		fmt.Fprintf(out, "[calls %s, call %s] %s\n", flat(c.Tool), flat(c.ID), forTerminal(c.Arguments))
	}
}
