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
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/services/turns"
)

// rerunOptions are the flags of `rerun`.
type rerunOptions struct {
	turn, model string
	dry, json   bool
}

func (s *shell) rerunCommand() *cobra.Command {
	var o rerunOptions
	c := &cobra.Command{
		Use:   "rerun SESSION --turn TURN --dry",
		Short: "Play one turn again with another model, without acting",
		Long: `Asks a model for a turn that was answered already, and shows both: what was done and said then, and what would be now. The
model sees what it would have seen at the time, with today's instructions and tools. No tool runs: a call gets the result that
the same call (tool and arguments) had in the turn, and one that the turn has not made is told so. Nothing is written to the
journal, and nobody sees it; what the model costs is shown here, and is in no account.

TURN is the turn's number in the session, from 1, its id, or "last". SESSION is as in chat --session:
` + sessionHelp + `.

With --json it prints one object with session, turn, model, messages, then, now and unmatched; then and now have model, rounds,
calls, end, text, cause and usage. The exit code is 1 when the model gives no answer now.`,
		Example: `  jetclaw rerun default --turn last --model openai/gpt-5 --dry
  jetclaw rerun main.telegram.mybot.12345 --turn 3 --model local/qwen3 --dry --json | jq .now.text`,
		Args: oneSession,
		RunE: func(c *cobra.Command, args []string) error { return s.rerun(c.Context(), args[0], o) },
	}
	c.Flags().StringVar(&o.turn, "turn", "", `the turn: its number, its id, or "last"`)
	c.Flags().StringVar(&o.model, "model", "", "the model that is asked; without it, the session's own")
	c.Flags().BoolVar(&o.dry, "dry", false, "required: it says that nothing is done for real")
	c.Flags().BoolVar(&o.json, "json", false, "one JSON object")
	noCompletion(c, "turn", "model")
	c.ValidArgsFunction = s.completeSessions
	return c
}

// rerunWait is the longest that a rerun is waited for. The limits of the agent end it before, as a rule.
const rerunWait = time.Hour

func (s *shell) rerun(ctx context.Context, name string, o rerunOptions) error {
	id, err := parseSessionArgument("SESSION", name)
	switch {
	case err != nil:
		return err
	case o.turn == "":
		return usagef(`--turn is missing: the number of a turn, its id, or "last"`)
	case !o.dry:
		return usagef("--dry is missing. A rerun never acts: no tool runs and nothing is written. To go on for real with another model, " +
			"fork the session: jetclaw fork SESSION --at CURSOR --model MODEL")
	}
	e, err := s.env("rerun", slog.LevelError)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	return e.WithServices(ctx, func(ctx context.Context, c app.Client) error {
		ctx, cancel := context.WithTimeout(ctx, rerunWait)
		defer cancel()
		done := s.elapsed("playing the turn again")
		got, err := bus.Ask[turns.Rerun](ctx, c.Conn, "turns", "rerun", turns.RerunRequest{Session: string(id), Turn: o.turn, Model: o.model})
		done()
		switch {
		case fault.KindOf(err) == fault.NotFound:
			return s.noSession(ctx, c.Conn, id)
		case err != nil:
			return err
		}
		if o.json {
			line, jerr := json.Marshal(got)
			if jerr == nil {
				_, jerr = s.out.Write(append(jsonForTerminal(line), '\n'))
			}
			err = jerr
		} else {
			err = showRerun(s.out, got)
		}
		if err == nil && got.Now.End != turns.EndCompleted {
			return &toldError{exitFailed}
		}
		return err
	})
}

// elapsed tells a person at a terminal for how long something has been going on, until it is called.
func (s *shell) elapsed(what string) (end func()) {
	if !s.errTTY {
		return func() {}
	}
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for began := time.Now(); ; {
			select {
			case now := <-tick.C:
				fmt.Fprintf(s.rawErr, "%s%s, %s", clearLine, what, now.Sub(began).Round(time.Second))
			case <-stop:
				fmt.Fprint(s.rawErr, clearLine)
				return
			}
		}
	}()
	return func() {
		close(stop)
		<-ended
	}
}

func showRerun(out io.Writer, r turns.Rerun) error {
	t := columns{}
	t.row("", "then", "now")
	both := func(what string, of func(turns.Play) string) { t.row(what, flat(of(r.Then)), flat(of(r.Now))) }
	both("model", func(p turns.Play) string { return orDash(p.Model) })
	both("rounds", func(p turns.Play) string { return strconv.Itoa(p.Rounds) })
	both("tool calls", func(p turns.Play) string { return strconv.Itoa(len(p.Calls)) })
	both("tokens", func(p turns.Play) string { return fmt.Sprintf("%d in, %d out", p.Usage.Input, p.Usage.Output) })
	both("money", func(p turns.Play) string { return p.Usage.Money() })
	both("end", ended)
	_, err := fmt.Fprintf(out, "turn %s of %s\n\n", flat(r.Turn), r.Session)
	err = errors.Join(err, t.print(out))
	var b strings.Builder
	for _, m := range r.Messages {
		fmt.Fprintf(&b, "\n--- message\n%s\n", forTerminal(m))
	}
	showPlay(&b, "then", r.Then)
	showPlay(&b, "now", r.Now)
	if r.Unmatched > 0 {
		fmt.Fprintf(&b, "\n%s of now had no recorded result: the turn has not made the same\n", counted(r.Unmatched, "call"))
	}
	_, werr := io.WriteString(out, b.String())
	return errors.Join(err, werr)
}

// ended is how a turn has ended.
func ended(p turns.Play) string {
	switch {
	case p.End == turns.EndNone:
		return "not yet"
	case p.Cause != "":
		return fmt.Sprintf("%s: %s", p.End, p.Cause)
	}
	return string(p.End)
}

func showPlay(b *strings.Builder, when string, p turns.Play) {
	for _, c := range p.Calls {
		arguments := oneLine(plainJSON([]byte(c.Arguments)))
		fmt.Fprintf(b, "\n--- %s: calls %s (round %d)\n%s\n=> %s\n", when, flat(c.Tool), c.Round, arguments, orDash(oneLine(c.Result)))
	}
	fmt.Fprintf(b, "\n--- %s: %s\n%s\n", when, flat(ended(p)), forTerminal(p.Text))
	if p.Detail != "" {
		fmt.Fprintf(b, "(%s)\n", oneLine(p.Detail))
	}
}
