package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/cmd/internal/suggest"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/subject"
)

func (s *shell) deadCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "dead",
		Short: "Look at doorbells that were given up, and try them again",
		Long: `A doorbell wakes a service when its session has news. One is given up when nothing can be made of it: its event cannot be read, or
the session cannot be folded. The event stays in the journal, and the other sessions go on; this one waits until it is tried
again here, or until something new happens in it.`,
		Example: `  jetclaw dead list
  jetclaw dead show 3
  jetclaw dead retry 3
  jetclaw dead drop --all`,
		Args: noSuchCommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(s.deadList(), s.deadShow(), s.deadRetry(), s.deadDrop())
	noCompletion(c)
	return c
}

// letter is a dead letter as it is printed.
type letter struct {
	Number     uint64     `json:"number"`
	Time       time.Time  `json:"time"`
	Service    string     `json:"service"`
	Session    session.ID `json:"session,omitempty"`
	Cursor     uint64     `json:"cursor,omitempty"` // of the event; none for a timer
	Kind       string     `json:"kind"`             // of the event, or "timer"
	Deliveries uint64     `json:"deliveries"`
	Reason     string     `json:"reason"`
}

const timerKind = "timer"

func letterOf(d bus.Dead) letter {
	l := letter{
		Number: d.Seq, Time: d.Time, Service: d.Service, Session: d.Session, Cursor: d.Cursor, Kind: d.Kind,
		Deliveries: d.Deliveries, Reason: d.Reason,
	}
	if d.Stream != subject.Journal {
		l.Kind, l.Cursor = timerKind, 0
	}
	return l
}

// inOwn lets fn see the bus as its owner, who alone sees dead letters.
func (s *shell) inOwn(ctx context.Context, command string, fn func(context.Context, app.Client, *bus.Conn) error) error {
	e, err := s.env(command, slog.LevelWarn)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	return e.WithJournal(ctx, func(ctx context.Context, c app.Client) error {
		owner, err := c.Admin(ctx)
		if err != nil {
			return err
		}
		err = fn(ctx, c, owner)
		end, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
		defer cancel()
		if cerr := owner.Close(end); cerr != nil {
			e.Log.Debug("leave the bus", "error", cerr) // everything was answered: nothing is lost with the connection
		}
		return err
	})
}

// letters reads all dead letters, oldest first.
func letters(ctx context.Context, owner *bus.Conn) (all []bus.Dead, err error) {
	err = owner.Dead(ctx, func(d bus.Dead) error {
		all = append(all, d)
		return nil
	})
	return all, err
}

func (s *shell) deadList() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "list",
		Short: "List the doorbells that were given up",
		Long: `Lists the doorbells that were given up, oldest first, with the service that could not make anything of them.

With --json it prints one object: letters, each with number, time, service, session, cursor, kind (of the event, or timer),
deliveries and reason. Session and cursor are left out where they are not known.`,
		Example: "  jetclaw dead list\n  jetclaw dead list --json | jq -r '.letters[].session'",
		Args:    noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			return s.inOwn(c.Context(), "dead list", func(ctx context.Context, _ app.Client, owner *bus.Conn) error {
				all, err := letters(ctx, owner)
				if err != nil {
					return err
				}
				return s.showLetters(all, asJSON)
			})
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "one JSON object")
	noCompletion(c)
	return c
}

func (s *shell) showLetters(all []bus.Dead, asJSON bool) error {
	list := struct {
		Letters []letter `json:"letters"`
	}{[]letter{}}
	for _, d := range all {
		list.Letters = append(list.Letters, letterOf(d))
	}
	if asJSON {
		return s.writeJSON(list)
	}
	if len(all) == 0 {
		fmt.Fprintln(s.err, "note: no doorbell was given up")
		return nil
	}
	t := columns{right: []bool{true, false, false, false, true}}
	t.row("number", "when", "service", "session", "cursor", "kind", "reason")
	for _, l := range list.Letters {
		cursor := ""
		if l.Cursor > 0 {
			cursor = strconv.FormatUint(l.Cursor, 10)
		}
		t.row(strconv.FormatUint(l.Number, 10), l.Time.Local().Format(time.DateTime), flat(l.Service), string(l.Session), cursor,
			flat(l.Kind), oneLine(l.Reason))
	}
	if err := t.print(s.out); err != nil {
		return err
	}
	fmt.Fprintln(s.err, "`jetclaw dead show NUMBER` shows all of one, `jetclaw dead retry NUMBER` has its session looked at again")
	return nil
}

// oneLetter reads the number that a command was given.
func oneLetter(c *cobra.Command, args []string) (uint64, error) {
	if len(args) != 1 {
		return 0, usagef("%q takes the number of one dead letter\nSee %q.", c.CommandPath(), c.CommandPath()+" --help")
	}
	n, err := strconv.ParseUint(args[0], 10, 63)
	if err != nil || n == 0 {
		return 0, usagef("%q is no number of a dead letter; `jetclaw dead list` shows them", args[0])
	}
	return n, nil
}

// pick finds one letter by its number, or says which there are.
func pick(all []bus.Dead, n uint64) (bus.Dead, error) {
	known := make([]string, len(all))
	for i, d := range all {
		if d.Seq == n {
			return d, nil
		}
		known[i] = strconv.FormatUint(d.Seq, 10)
	}
	text := fmt.Sprintf("there is no dead letter %d", n)
	switch near := suggest.Nearest(strconv.FormatUint(n, 10), known); {
	case len(all) == 0:
		return bus.Dead{}, errors.New(text + "; there is none at all")
	case near != "" && len(all) > namesakesShown:
		return bus.Dead{}, fmt.Errorf("%s\ndid you mean %s?", text, near)
	case len(all) > namesakesShown:
		return bus.Dead{}, fmt.Errorf("%s; there are %s to %s", text, known[0], known[len(known)-1])
	}
	return bus.Dead{}, fmt.Errorf("%s; there are %s", text, strings.Join(known, ", "))
}
