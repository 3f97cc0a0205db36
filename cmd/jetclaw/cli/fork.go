package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/config"
	"github.com/jetclaw/jetclaw/schemas/approvalv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/turns"
	"github.com/jetclaw/jetclaw/services/turns/turn"
)

// forkOptions are the flags of `fork`.
type forkOptions struct {
	at, editAt uint64
	as         string
	model      string
	edit       string
	json       bool
}

func (s *shell) forkCommand() *cobra.Command {
	var o forkOptions
	c := &cobra.Command{
		Use:   "fork SESSION",
		Short: "Begin a new session with the past of another one",
		Long: `Makes a new session whose past is that of SESSION up to an event, and which then goes on for real; SESSION stays as it is.
What was under way at that event is not done twice: a tool call that had no result yet has none in the fork, and the model is
asked again. A message that had no answer yet is answered in the fork. What was approved in SESSION is not approved in the
fork; what its model had read there counts here, too.

With --edit, one message or tool result of that past has another text: the one at --edit-at, or else the one at --at.

SESSION is as in chat --session: ` + sessionHelp + `. The fork is a session of the terminal; its id is
printed on stdout, and "jetclaw diff" shows where the two part. Without a daemon the command stays until the fork has
answered what was open, and prints that.

With --json it prints one object with session, cursor, from, at, events and waits.`,
		Example: `  jetclaw fork default --at 4711
  jetclaw fork default --at 4711 --as retry --model openai/gpt-5
  echo "it rains" | jetclaw fork main.telegram.mybot.12345 --at 4711 --edit -`,
		Args: oneSession,
		RunE: func(c *cobra.Command, args []string) error { return s.fork(c.Context(), args[0], o) },
	}
	c.Flags().Uint64Var(&o.at, "at", 0, "cursor of the last event of the past; without it, all of it")
	c.Flags().StringVar(&o.as, "as", "", "name of the new session; without it, that of SESSION with the cursor")
	c.Flags().StringVar(&o.model, "model", "", "the model that the fork goes on with")
	c.Flags().StringVar(&o.edit, "edit", "", "file with another text for one message or tool result; - is stdin")
	c.Flags().Uint64Var(&o.editAt, "edit-at", 0, "cursor of the event that --edit is for; without it, that of --at")
	c.Flags().BoolVar(&o.json, "json", false, "one JSON object")
	noCompletion(c, "at", "as", "model", "edit-at")
	c.ValidArgsFunction = s.completeSessions
	return c
}

// oneSession takes the name of one session.
func oneSession(c *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usagef("%q takes one session\nSee %q.", c.CommandPath(), c.CommandPath()+" --help")
	}
	return nil
}

// parseSessionArgument is parseSession for an argument.
func parseSessionArgument(name, text string) (session.ID, error) {
	id, err := parseSession(text)
	if err != nil {
		return "", usagef("%s", strings.Replace(err.Error(), "--session", name, 1))
	}
	return id, nil
}

// forkWait is how long the making of a fork may take: all of a history is read for it.
const forkWait = 2 * time.Minute

// request reads what is asked for.
func (o forkOptions) request(s *shell, id session.ID) (turns.ForkRequest, error) {
	r := turns.ForkRequest{Session: string(id), At: o.at, Model: o.model, By: "cli"}
	if o.as != "" {
		as, err := session.Parse(o.as)
		if !strings.Contains(o.as, ".") {
			as, err = session.New(id.Agent(), "terminal", "local", o.as)
		}
		if err != nil {
			return r, usagef("--as %s", err)
		}
		r.As = string(as)
	}
	switch {
	case o.edit == "" && o.editAt != 0:
		return r, usagef("--edit-at names an event, and nothing says its text: add --edit FILE")
	case o.edit == "":
		return r, nil
	case o.editAt == 0 && o.at == 0:
		return r, usagef("--edit: nothing says which event is edited: add --edit-at CURSOR, or --at CURSOR")
	}
	text, err := s.editText(o.edit)
	if err != nil {
		return r, err
	}
	r.Edit = &turns.Edit{Cursor: o.editAt, Text: text}
	if o.editAt == 0 {
		r.Edit.Cursor = o.at
	}
	return r, nil
}

// editText reads the text of an edit, without the line end that editors put behind it.
func (s *shell) editText(file string) (string, error) {
	in, name := s.in, "stdin"
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return "", usagef("--edit: %s", err)
		}
		defer f.Close()
		in, name = f, file
	}
	data, err := io.ReadAll(io.LimitReader(in, bus.MaxRequest+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("read %s: %w", name, err)
	case len(data) > bus.MaxRequest:
		return "", usagef("--edit: %s is too long to stand in a conversation (more than %d bytes)", name, bus.MaxRequest)
	case !utf8.Valid(data):
		return "", usagef("--edit: %s is not UTF-8", name)
	}
	return strings.TrimSuffix(strings.TrimSuffix(string(data), "\n"), "\r"), nil
}

func (s *shell) fork(ctx context.Context, name string, o forkOptions) error {
	id, err := parseSessionArgument("SESSION", name)
	if err != nil {
		return err
	}
	request, err := o.request(s, id)
	if err != nil {
		return err
	}
	e, err := s.env("fork", slog.LevelError)
	if err != nil {
		return err
	}
	if request.As != "" {
		if err := knownAgent(e.Config, session.ID(request.As)); err != nil {
			return usagef("%s", strings.Replace(err.Error(), "--session", "--as", 1))
		}
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	return e.WithServices(ctx, func(ctx context.Context, c app.Client) error {
		asked, cancel := context.WithTimeout(ctx, forkWait)
		defer cancel()
		got, err := bus.Ask[turns.Forked](asked, c.Conn, "turns", "fork", request)
		if fault.KindOf(err) == fault.NotFound {
			return s.noSession(ctx, c.Conn, id)
		}
		if err != nil {
			return err
		}
		if err := s.showFork(got, request.Edit, o.json); err != nil {
			return err
		}
		switch {
		case !got.Waits:
			return nil
		case c.At == "":
			return s.stayWith(ctx, c.Conn, got, o.json)
		}
		fmt.Fprintf(s.err, "note: something was open at event %d: the fork goes on with it now\n", got.At)
		return nil
	})
}

func (s *shell) showFork(f turns.Forked, e *turns.Edit, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(s.out).Encode(f)
	}
	if _, err := fmt.Fprintln(s.out, f.Session); err != nil {
		return err
	}
	edited := ""
	if e != nil {
		edited = fmt.Sprintf(", event %d of it edited", e.Cursor)
	}
	fmt.Fprintf(s.err, "note: it has %s of %s, up to event %d%s; go on with: jetclaw chat --session %s\n",
		counted(f.Events, "event"), f.From, f.At, edited, forShell(shortName(f.Session)))
	return nil
}

// shortName is how a person can type a session.
func shortName(id session.ID) string {
	if name := id.Peer(); id.Agent() == config.MainAgent && id.Channel() == "terminal" && id.Account() == "local" && !strings.Contains(name, ".") {
		return name
	}
	return string(id)
}

// forShell is a word as a shell takes it.
func forShell(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-=@", r)
	}
	if word != "" && strings.TrimFunc(word, plain) == "" {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// errSettled ends the watching of a fork: nothing is open any more, or a person has to decide.
var errSettled = errors.New("settled")

// stayWith waits until a fork has done what was open in it, as nobody else would do it.
func (s *shell) stayWith(ctx context.Context, conn *bus.Conn, f turns.Forked, quiet bool) error {
	first, err := conn.Journal().Get(ctx, f.Cursor)
	if err != nil {
		return err
	}
	state, failed := turn.State{}.Apply(first), false
	err = follow(ctx, conn, bus.ReplayOptions{Session: f.Session, From: f.Cursor + 1}, func(e envelope.Event) error {
		state = state.Apply(e)
		switch b := e.Body.(type) {
		case turnv1.Completed:
			failed = false
			if !quiet {
				if _, err := fmt.Fprintln(s.out, forTerminal(b.Text)); err != nil {
					return err
				}
			}
		case turnv1.Failed:
			failed = true
			fmt.Fprintln(s.err, forTerminal(b.Text))
		case approvalv1.Requested:
			fmt.Fprintf(s.err, "note: it waits until approval %s for %s is decided: jetclaw approvals show %s\n", b.Approval, oneLine(b.Tool), b.Approval)
			return errSettled
		}
		if state.Quiet() {
			return errSettled
		}
		return nil
	})
	if !errors.Is(err, errSettled) {
		return err
	}
	if failed {
		return &toldError{exitFailed}
	}
	return nil
}
