package cli

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/cmd/internal/suggest"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app"
	"github.com/jetclaw/jetclaw/schemas/accessv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/services/intake"
	"github.com/jetclaw/jetclaw/services/intake/access"
)

func (s *shell) pairingCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "pairing",
		Short: "Say who may write to a bot",
		Long: `Whoever writes to a bot with "access: pairing" and is not known is told a code, which is good for an hour. They read it to you,
or send it by other means, and you let them in with it. What they wrote before is not read.

Who is in stays in until you send them away. People whom the configuration lets in (allow, owners) need no code, and are not
listed here.`,
		Example: `  jetclaw pairing list
  jetclaw pairing approve K7QW2MXR
  jetclaw pairing revoke 12345`,
		Args: noSuchCommand,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(s.pairingList(), s.pairingApprove(), s.pairingRevoke())
	noCompletion(c)
	return c
}

func (s *shell) pairingList() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "list",
		Short: "List who wants to be let in, and who is",
		Long: `Lists the open requests and the people who were let in, each at their bot, oldest first. Names are what people call themselves:
the number (who) says who it is.

With --json it prints one object: requests, each with channel, account, who, name, code, since and expires; and people, each with
channel, account, who, name, owner, by and since.`,
		Example: "  jetclaw pairing list\n  jetclaw pairing list --json | jq -r '.requests[].code'",
		Args:    noArguments,
		RunE: func(c *cobra.Command, _ []string) error {
			return s.visit(c.Context(), "pairing list", func(ctx context.Context, _ app.Env, c app.Client) error {
				l, err := pairings(ctx, c.Conn)
				if err != nil {
					return err
				}
				if asJSON {
					return s.writeJSON(l)
				}
				return s.showPairings(l, time.Now())
			})
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "one JSON object")
	noCompletion(c)
	return c
}

func pairings(ctx context.Context, conn *bus.Conn) (intake.PairingList, error) {
	return bus.Ask[intake.PairingList](ctx, conn, "intake", "pairing-list", intake.PairingListRequest{})
}

func (s *shell) showPairings(l intake.PairingList, now time.Time) error {
	if len(l.Requests)+len(l.People) == 0 {
		fmt.Fprintln(s.err, "note: nobody asks to be let in, and nobody was")
		return nil
	}
	if len(l.Requests) > 0 {
		t := columns{right: []bool{false, true}}
		t.row("code", "expires in", "bot", "who", "name")
		for _, r := range l.Requests {
			t.row(flat(r.Code), span(r.Expires.Sub(now)), flat(r.Account), flat(r.Who), flat(r.Name))
		}
		if err := t.print(s.out); err != nil {
			return err
		}
	}
	if len(l.Requests) > 0 && len(l.People) > 0 {
		fmt.Fprintln(s.out)
	}
	if len(l.People) > 0 {
		t := columns{}
		t.row("let in", "bot", "who", "role", "name")
		for _, p := range l.People {
			t.row(p.Since.Local().Format(time.DateTime), flat(p.Account), flat(p.Who), role(p), flat(p.Name))
		}
		if err := t.print(s.out); err != nil {
			return err
		}
	}
	if len(l.Requests) > 0 {
		fmt.Fprintln(s.err, "`jetclaw pairing approve CODE` lets somebody in; be sure that it was them who told you the code")
	}
	return nil
}

func role(p access.Person) string {
	if p.Owner {
		return "owner"
	}
	return "guest"
}

func (s *shell) pairingApprove() *cobra.Command {
	var asJSON, owner bool
	c := &cobra.Command{
		Use:   "approve CODE",
		Short: "Let in who was told a code",
		Long: `Lets in the person who was told this code, at the bot that told it, and lets them know. Upper and lower case are the same.

With --owner the person is an owner from now on: they may approve what agents ask for (unless the configuration names other
approvers), as you may. Give that to nobody but yourself and people whom you would give your keyboard. Who is in already becomes
an owner by the same code.

Exit code 1: nobody waits with this code, or it has expired; the person writes again to be told another one.

With --json it prints one object with channel, account, who, name, owner, by, since, already (they were in, as that), told (they
were told) and note (why not).`,
		Example: "  jetclaw pairing approve K7QW2MXR\n  jetclaw pairing approve k7qw2mxr --owner",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("%q takes one code\nSee %q.", c.CommandPath(), c.CommandPath()+" --help")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			return s.approvePairing(c.Context(), intake.PairingApproveRequest{Code: args[0], Owner: owner}, asJSON)
		},
	}
	c.Flags().BoolVar(&owner, "owner", false, "as an owner, who may approve what agents ask for")
	c.Flags().BoolVar(&asJSON, "json", false, "one JSON object")
	c.ValidArgsFunction = s.completeCode
	return c
}

func (s *shell) approvePairing(ctx context.Context, r intake.PairingApproveRequest, asJSON bool) error {
	return s.visit(ctx, "pairing approve", func(ctx context.Context, _ app.Env, c app.Client) error {
		a, err := bus.Ask[intake.PairingApproved](ctx, c.Conn, "intake", "pairing-approve", r)
		if err != nil {
			return noCode(ctx, c.Conn, r.Code, err)
		}
		if asJSON {
			return s.writeJSON(a)
		}
		if _, err := fmt.Fprintln(s.out, approvedText(a)); err != nil {
			return err
		}
		if !a.Owner {
			fmt.Fprintln(s.err, "note: what an agent asks a person to allow is for owners to decide; "+
				"the same command with --owner makes this one")
		}
		switch {
		case !a.Told:
			fmt.Fprintf(s.err, "note: %s\n", flat(a.Note))
		case c.At == "" && !a.Already:
			fmt.Fprintln(s.err, "note: they are told when `jetclaw run` is started")
		}
		return nil
	})
}

// approvedText says who is in.
func approvedText(a intake.PairingApproved) string {
	text := fmt.Sprintf("%s may write to the bot %s", person(a.Who, a.Name), flat(a.Account))
	if a.Owner {
		text += ", and is an owner: they may approve what agents ask for"
	}
	if a.Already {
		return text + ". So it was before."
	}
	return text + "."
}

// person is somebody for people: the number counts, the name may be anybody's.
func person(who, name string) string {
	if name = flat(name); name == "" {
		return flat(who)
	}
	return fmt.Sprintf("%s (%s)", flat(who), name)
}

// noCode adds to an error that says that there is no such code which one was perhaps meant.
func noCode(ctx context.Context, conn *bus.Conn, code string, err error) error {
	if fault.KindOf(err) != fault.NotFound {
		return err
	}
	l, lerr := pairings(ctx, conn)
	if lerr != nil {
		return err
	}
	var open []string
	for _, r := range l.Requests {
		open = append(open, strings.ToLower(r.Code)) // as it compares
	}
	if n := suggest.Nearest(code, open); n != "" {
		return fmt.Errorf("%w\ndid you mean %s?", err, strings.ToUpper(n))
	}
	return fmt.Errorf("%w\n`jetclaw pairing list` shows those that are open", err)
}

func (s *shell) pairingRevoke() *cobra.Command {
	var (
		asJSON bool
		r      intake.PairingRevokeRequest
	)
	c := &cobra.Command{
		Use:   "revoke ID",
		Short: "Send somebody away",
		Long: `Sends away a person who was let in, by their number: what they write from now on is not read. An owner is none any more. Who has
asked to be let in and was not is forgotten; the code is void.

It holds at all bots, or with --account at one. It does not change the configuration: whom that lets in, by allow, owners or
"access: open", it still lets in, and groups are not concerned; it says so.

Exit code 1: they were not let in.

With --json it prints one object with who, doors (each with channel and account), owner (they were one) and still (the bots where
the configuration lets them in all the same).`,
		Example: "  jetclaw pairing revoke 12345\n  jetclaw pairing revoke telegram:12345 --account mybot",
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("%q takes the number of one person\nSee %q.", c.CommandPath(), c.CommandPath()+" --help")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			r.Who = args[0]
			return s.revokePairing(c.Context(), r, asJSON)
		},
	}
	c.Flags().StringVar(&r.Account, "account", "", "at this bot alone, by its NAME in the configuration")
	c.Flags().BoolVar(&asJSON, "json", false, "one JSON object")
	noCompletion(c, "account")
	return c
}

func (s *shell) revokePairing(ctx context.Context, r intake.PairingRevokeRequest, asJSON bool) error {
	return s.visit(ctx, "pairing revoke", func(ctx context.Context, _ app.Env, c app.Client) error {
		a, err := bus.Ask[intake.PairingRevoked](ctx, c.Conn, "intake", "pairing-revoke", r)
		switch fault.KindOf(err) {
		case "":
		case fault.Invalid:
			return usagef("%s", err)
		default:
			return err
		}
		if asJSON {
			return s.writeJSON(a)
		}
		var bots []string
		for _, d := range a.Doors {
			bots = append(bots, flat(d.Account))
		}
		owner := ""
		if a.Owner {
			owner = ", and is no owner any more"
		}
		_, err = fmt.Fprintf(s.out, "%s was sent away from the bot %s%s.\n", flat(a.Who), strings.Join(bots, ", "), owner)
		if len(a.Still) > 0 {
			fmt.Fprintf(s.err, "warning: the configuration still lets them in at %s: by access, allow or owners\n", flat(strings.Join(a.Still, ", ")))
		}
		return err
	})
}

// completeCode offers the open codes. It starts no service: nobody means to work with the tab key.
func (s *shell) completeCode(c *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	const only = cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
	if len(args) > 0 {
		return nil, only
	}
	quiet := *s
	quiet.err = io.Discard
	e, err := quiet.env("completion", slog.LevelError+1)
	if err == nil {
		_, err = os.Stat(e.Home.Data()) // a home is not made for this
	}
	if err != nil {
		return nil, only
	}
	ctx, cancel := context.WithTimeout(c.Context(), lookTime)
	defer cancel()
	var open []access.Request
	err = e.WithJournal(ctx, func(ctx context.Context, c app.Client) error {
		if c.At != "" {
			l, err := pairings(ctx, c.Conn)
			open = l.Requests
			return err
		}
		var st access.State
		err := c.Conn.Replay(ctx, bus.ReplayOptions{Session: accessv1.Session}, func(ev envelope.Event) error {
			st = st.Apply(ev)
			return nil
		})
		open = st.Requests(time.Now())
		return err
	})
	if err != nil {
		return nil, only
	}
	var codes []string
	for _, r := range open {
		codes = append(codes, r.Code+"\t"+oneLine(person(r.Who, r.Name)+" at "+r.Account))
	}
	return codes, only
}
