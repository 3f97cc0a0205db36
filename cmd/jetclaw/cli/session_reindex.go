package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app"
	"github.com/jetclaw/jetclaw/services/conversations"
)

func (s *shell) sessionsReindex() *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "reindex",
		Short: "Build the list and the search anew from the journal",
		Long: `What "jetclaw sessions list, show and search" read is made from the journal, and can be made again at any time: nothing is
lost with it. This builds it anew, beside the old one, which goes on to answer until then. It is hardly ever needed: a file that
is missing, damaged or of another version is built anew by itself.

When it is interrupted, a daemon goes on with it.

With --json it prints one object: events, sessions, messages, seconds, events_per_second, path and bytes.`,
		Example: "  jetclaw sessions reindex",
		Args:    noArguments,
		RunE:    func(c *cobra.Command, _ []string) error { return s.reindex(c.Context(), asJSON) },
	}
	c.Flags().BoolVar(&asJSON, "json", false, "one JSON object")
	noCompletion(c)
	return c
}

// reindexed is what `sessions reindex --json` prints.
type reindexed struct {
	Events   uint64  `json:"events"`
	Sessions int     `json:"sessions"`
	Messages int     `json:"messages"`
	Seconds  float64 `json:"seconds"`
	Rate     float64 `json:"events_per_second"`
	Path     string  `json:"path"`
	Bytes    int64   `json:"bytes"`
}

func (s *shell) reindex(ctx context.Context, asJSON bool) error {
	return s.readingSoon(ctx, "sessions reindex", func(ctx context.Context, c app.Client) error {
		// Without an answer there is no old one to be told apart.
		before, _ := bus.Ask[conversations.Status](ctx, c.Conn, "conversations", "status", conversations.StatusRequest{})
		began := time.Now()
		if _, err := bus.Ask[conversations.Reindexed](ctx, c.Conn, "conversations", "reindex", conversations.ReindexRequest{}); err != nil {
			return err
		}
		st, err := s.readUntil(ctx, c.Conn, isBuilt)
		if errors.Is(err, context.Canceled) && c.At != "" {
			fmt.Fprintf(s.err, "note: %s goes on with it\n", c.At)
		}
		if err != nil {
			return err
		}
		if st.Since.Equal(before.Since) {
			return errors.New("no new index could be built, and the old one stays: the log of the conversations service says why")
		}
		u, err := c.Conn.Journal().Usage(ctx)
		if err != nil {
			return err
		}
		r := reindexed{
			Events: u.Messages, Sessions: st.Sessions, Messages: st.Messages, Seconds: time.Since(began).Seconds(), Path: st.Path, Bytes: st.Bytes,
		}
		r.Rate = float64(r.Events) / max(r.Seconds, 1e-6)
		if asJSON {
			return s.writeJSON(r)
		}
		_, err = fmt.Fprintf(s.out, "%s in %.1f s, %s a second: %s, %s\n", countedBig(int(r.Events), "event"), r.Seconds,
			grouped(int(r.Rate)), countedBig(r.Sessions, "session"), countedBig(r.Messages, "message"))
		return err
	})
}
