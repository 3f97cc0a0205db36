package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/services/conversations"
)

// searchOptions are the flags of `sessions search`.
type searchOptions struct {
	session string
	agent   string
	channel string
	limit   int
	json    bool
}

func (s *shell) sessionsSearch() *cobra.Command {
	var o searchOptions
	c := &cobra.Command{
		Use:   "search QUERY",
		Short: "Find what was said",
		Long: `Finds messages and answers that have all the words of QUERY, of which the last may be only begun. Case and accents do not
matter. What was found is marked with [ ]; "jetclaw sessions show SESSION --before CURSOR" shows what came before it.

With --json it prints one object: hits, each with session, message and snippet; more, which says whether there are others; and
behind, which says how far the read model is behind the journal.`,
		Example: `  jetclaw sessions search "train to Vienna"
  jetclaw sessions search invoice --channel telegram
  jetclaw sessions search deploy --session work --json | jq -r '.hits[].message.cursor'`,
		Args: func(c *cobra.Command, args []string) error {
			if strings.TrimSpace(strings.Join(args, " ")) == "" {
				return usagef("%q takes the words to look for\nSee %q.", c.CommandPath(), c.CommandPath()+" --help")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return s.search(c.Context(), strings.Join(args, " "), o) },
	}
	f := c.Flags()
	f.StringVar(&o.session, "session", "", "only in this session: "+sessionHelp)
	f.StringVar(&o.agent, "agent", "", "only in sessions of this agent")
	f.StringVar(&o.channel, "channel", "", "only in sessions of this channel: terminal, telegram, http")
	f.IntVar(&o.limit, "limit", 20, "how many at most")
	f.BoolVar(&o.json, "json", false, "one JSON object")
	noCompletion(c, "agent", "channel", "limit")
	s.completeSessionFlag(c)
	return c
}

// found is what `sessions search --json` prints.
type found struct {
	Hits   []conversations.Hit  `json:"hits"`
	More   bool                 `json:"more"`
	Behind conversations.Behind `json:"behind"`
}

func (s *shell) search(ctx context.Context, query string, o searchOptions) error {
	if err := positive(o.limit); err != nil {
		return err
	}
	r := conversations.SearchRequest{Query: query, Agent: o.agent, Channel: o.channel}
	if o.session != "" {
		id, err := parseSession(o.session)
		if err != nil {
			return err
		}
		r.Session = id
	}
	return s.reading(ctx, "sessions search", func(ctx context.Context, c app.Client) error {
		all, err := searchPages(ctx, c.Conn, r, o.limit)
		if fault.KindOf(err) == fault.NotFound { // or not yet known: then nothing is found in it
			err = s.unknownSession(ctx, c.Conn, r.Session)
		}
		if err != nil {
			return err
		}
		s.behind(all.Behind)
		if o.json {
			return s.writeJSON(all)
		}
		return s.showHits(all, o.limit)
	})
}

// maxHits is how many one answer has at most.
const maxHits = 100

func searchPages(ctx context.Context, conn *bus.Conn, r conversations.SearchRequest, limit int) (found, error) {
	all := found{Hits: []conversations.Hit{}}
	for {
		r.Limit = min(limit-len(all.Hits), maxHits)
		page, err := bus.Ask[conversations.Search](ctx, conn, "conversations", "search", r)
		if err != nil {
			return all, err
		}
		all.Hits = append(all.Hits, page.Hits...)
		all.More, all.Behind = page.Next != "", page.Behind
		if !all.More || page.Next == r.Cursor || len(all.Hits) >= limit {
			return all, nil
		}
		r.Cursor = page.Next
	}
}

func (s *shell) showHits(all found, limit int) error {
	if len(all.Hits) == 0 {
		fmt.Fprintln(s.err, "note: nothing was found")
		return nil
	}
	on, off := "", ""
	if s.colour(s.outTTY) {
		on, off = dim, plain
	}
	for _, h := range all.Hits {
		_, err := fmt.Fprintf(s.out, "%s%s  %s  %s  cursor %d%s\n  %s\n", on, h.Session, h.Message.Time.Local().Format(time.DateTime),
			whoSays(h.Message), h.Message.Cursor, off, flat(h.Snippet))
		if err != nil {
			return err
		}
	}
	if all.More {
		fmt.Fprintf(s.err, "note: there is more; --limit %d shows it, --session looks into one session\n", 4*limit)
	}
	return nil
}
