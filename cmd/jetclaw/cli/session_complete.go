package cli

import (
	"context"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/config"
	"github.com/jetclaw/jetclaw/services/conversations"
)

// completeTime is how long a person who presses the tab key waits at most.
const completeTime = 300 * time.Millisecond

// completeSessions offers the sessions that were active last, as the first argument of a command, if a daemon runs. Nothing is
// started for it.
func (s *shell) completeSessions(c *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return s.sessionNames(c.Context(), begun), cobra.ShellCompDirectiveNoFileComp
}

// completeSessionFlag offers the same for a flag --session.
func (s *shell) completeSessionFlag(c *cobra.Command) {
	_ = c.RegisterFlagCompletionFunc("session", func(c *cobra.Command, _ []string, begun string) ([]string, cobra.ShellCompDirective) {
		return s.sessionNames(c.Context(), begun), cobra.ShellCompDirectiveNoFileComp
	}) // it fails for a flag that is not there
}

// sessionNames are names that begin so, with their titles.
func (s *shell) sessionNames(ctx context.Context, begun string) (names []string) {
	quiet := *s
	quiet.err = io.Discard
	e, err := quiet.env("completion", slog.LevelError+1)
	if err != nil {
		return nil
	}
	if _, err := os.Stat(e.Home.Data()); err != nil && e.Config.Remote.URL == "" { // a home is not made for this
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, completeTime)
	defer cancel()
	_ = e.WithDaemon(ctx, func(ctx context.Context, c app.Client) error { // without an answer there is nothing to offer
		l, err := bus.Ask[conversations.List](ctx, c.Conn, "conversations", "list", conversations.ListRequest{Limit: maxListed})
		for _, x := range l.Conversations {
			if name := nameFor(x, begun); name != "" {
				names = append(names, cobra.CompletionWithDesc(name, shortened(x.Title, titleShown)))
			}
		}
		return err
	})
	return names
}

// nameFor is how a session is typed that begins so, "" when it does not. Those of the terminal have a short name.
func nameFor(x conversations.Conversation, begun string) string {
	short := x.Agent == config.MainAgent && x.Channel == "terminal" && x.Account == "local" && !strings.Contains(x.Peer, ".")
	if short && strings.HasPrefix(x.Peer, begun) {
		return x.Peer
	}
	if strings.HasPrefix(string(x.Session), begun) {
		return string(x.Session)
	}
	return ""
}
