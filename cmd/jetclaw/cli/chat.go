package cli

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/cmd/internal/suggest"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/config"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/home"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/services/turns"
)

func (s *shell) chatCommand() *cobra.Command {
	var name string
	c := &cobra.Command{
		Use:   "chat [MESSAGE]",
		Short: "Talk to an agent",
		Long: `With a MESSAGE (or one on stdin): one turn, the answer on stdout. Exit code 1 when there is no answer; stderr says why.
When the agent wants to do something that a person has to allow, it is shown and asked about; without a terminal to ask at it
waits, stderr says for what, and the exit code is 3: "jetclaw approvals" answers it.
Without: a conversation. Ctrl-C stops an answer, once more leaves. /help lists the commands.

It uses the running daemon; without one everything runs in this process, no port is opened, and the conversation has the
home for itself: start "jetclaw run" to use it from several terminals.`,
		Example: `  jetclaw chat "hello"
  jetclaw chat --session work
  git diff | jetclaw chat --session review -`,
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error { return s.chat(c.Context(), name, args) },
	}
	c.Flags().StringVar(&name, "session", "default", sessionHelp)
	noCompletion(c, "session")
	return c
}

// maxStdin bounds a message from a pipe. What is longer than the bus takes is refused there.
const maxStdin = 2 * bus.MaxRequest

func (s *shell) chat(ctx context.Context, name string, args []string) error {
	id, err := parseSession(name)
	if err != nil {
		return err
	}
	message, once := strings.Join(args, " "), len(args) > 0
	if message == "-" || !once && !s.inTTY {
		data, err := io.ReadAll(io.LimitReader(s.in, maxStdin))
		if err != nil {
			return fmt.Errorf("read the message: %w", err)
		}
		message, once = strings.TrimSuffix(string(data), "\n"), true
	}
	e, err := s.env("chat", slog.LevelError) // what concerns the person is told in words
	if err != nil {
		return err
	}
	if err := knownAgent(e.Config, id); err != nil {
		return err
	}
	// From here on Ctrl-C is an event; what it means depends on what is going on.
	interrupts := make(chan os.Signal, 2)
	signal.Notify(interrupts, os.Interrupt)
	defer signal.Stop(interrupts)
	ctx, begin := untilInterrupt(ctx, interrupts)
	defer begin()
	return e.WithServices(ctx, func(ctx context.Context, c app.Client) error {
		begin()
		s.introduce(ctx, c, id)
		t := &talk{
			shell: s, home: e.Home, where: e.Config.Remote.URL, alone: c.At == "", stream: stream{screen: s.newScreen(nil), live: s.outTTY},
			interrupts: interrupts, deltas: make(chan turns.Delta, deltaBuffer), notes: make(chan string, 1),
		}
		t.desk = desk{conn: c.Conn, session: id, note: func(text string) {
			select {
			case t.notes <- text:
			default: // one is enough
			}
		}}
		if s.outTTY {
			if err := t.watch(ctx); err != nil {
				return err
			}
		}
		if once {
			return t.once(ctx, message)
		}
		return t.converse(ctx)
	})
}

// knownAgent refuses a session of an agent that the configuration does not have: a slip of the pen would be answered by
// another model, on another budget. Who talks to a jetclaw elsewhere cannot know.
func knownAgent(c *config.Config, id session.ID) error {
	_, ok := c.Agents[id.Agent()]
	if ok || c.Remote.URL != "" {
		return nil
	}
	names := slices.Sorted(maps.Keys(c.Agents))
	text := fmt.Sprintf("--session %s: there is no agent %q; there is %s", id, id.Agent(), strings.Join(names, ", "))
	if n := suggest.Nearest(id.Agent(), names); n != "" {
		text += `. Did you mean "` + n + `"?`
	}
	return usagef("%s", text)
}

// introduce says who answers in a session.
func (s *shell) introduce(ctx context.Context, c app.Client, id session.ID) {
	ctx, cancel := context.WithTimeout(ctx, introTime)
	defer cancel()
	chain, err := bus.Ask[turns.Context](ctx, c.Conn, "turns", "context", turns.ContextRequest{Session: string(id), Brief: true})
	if err == nil && len(chain.Models) > 0 && !strings.HasPrefix(c.Models, chain.Models[0]+" ") {
		if c.Models = chain.Models[0] + " at " + chain.Endpoint; !strings.Contains(chain.Endpoint, "://") {
			c.Models = chain.Models[0] + " (" + chain.Endpoint + ")"
		}
	}
	switch {
	case c.At == "":
		fmt.Fprintf(s.err, "model: %s\n", c.Models)
	case c.Models == "":
		fmt.Fprintf(s.err, "model: chosen by the turns service behind %s\n", c.At)
	default:
		fmt.Fprintf(s.err, "model: %s, by %s\n", c.Models, c.At)
	}
}

// introTime is how long the turns service may take to say who answers: it may be busy, or not there yet.
const introTime = 500 * time.Millisecond

// deltaBuffer is how many pieces of an answer may wait to be shown; more are dropped, the whole comes at the end.
const deltaBuffer = 1024

// talk is one person at one session.
type talk struct {
	*shell
	home       home.Home
	alone      bool   // no other process can serve the session
	where      string // tells journals apart whose cursors are remembered
	desk       desk
	stream     stream
	deltas     chan turns.Delta
	notes      chan string // why it takes longer
	interrupts chan os.Signal
}

func (t *talk) session() session.ID { return t.desk.session }

// watch takes the pieces of answers as they come.
func (t *talk) watch(ctx context.Context) error {
	return t.desk.conn.SubscribeLive(ctx, t.session(), func(data []byte) {
		if d, ok := decodeDelta(data); ok {
			select {
			case t.deltas <- d:
			default: // the stream sees the gap
			}
		}
	})
}

// turnOf is the turn that begins with a message.
func turnOf(message string) string { return message + "/t" }

// note tells the person something, on a line of its own.
func (t *talk) note(text string) {
	t.stream.end()
	fmt.Fprintf(t.err, "note: %s\n", text)
}

// seen is up to where the person has seen the session.
func (t *talk) seen() (cursor uint64, ok bool) {
	return t.home.Seen(t.where + " " + string(t.session()))
}

// remember keeps up to where the person has seen the session.
func (t *talk) remember(cursor uint64) {
	if err := t.home.SetSeen(t.where+" "+string(t.session()), cursor); err != nil {
		fmt.Fprintf(t.err, "note: %s\n", err)
	}
}
