package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/cmd/internal/suggest"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/services/turns/ledger"
)

// usageOptions are the flags of `usage`.
type usageOptions struct {
	by      string
	since   string
	session string
	json    bool
}

// lastDays are shown when nothing else is asked for.
const lastDays = 7

func (s *shell) usageCommand() *cobra.Command {
	var o usageOptions
	c := &cobra.Command{
		Use:   "usage",
		Short: "Show what model calls have used and cost",
		Long: `Counts the model calls of the whole journal: tokens, and money where the price of the model is known. What has no price
is "unknown"; prices are given under models.prices in the configuration. Days are in UTC.

Without --by it shows the last 7 days (with --since, all of its days), the models, and the total. Sessions that were
archived and removed still count.

With --json it prints one object with by (day unless chosen), rows and total. cost_nano_usd is in billionths of a US dollar,
null when no price is known; unpriced_tokens are not in it.`,
		Example: "  jetclaw usage\n  jetclaw usage --by model --since 30d\n  jetclaw usage --by session --since 2026-09-01 --json",
		Args:    noArguments,
		RunE:    func(c *cobra.Command, _ []string) error { return s.usage(c.Context(), o) },
	}
	var names []string
	for _, by := range ledger.Groupings() {
		names = append(names, string(by))
	}
	c.Flags().StringVar(&o.by, "by", "", "a line for each "+strings.Join(names, ", "))
	c.Flags().StringVar(&o.since, "since", "", "from a day on (2026-09-01), or the last while (24h, 30d)")
	c.Flags().StringVar(&o.session, "session", "", "only this session: "+sessionHelp)
	c.Flags().BoolVar(&o.json, "json", false, "one JSON object")
	noCompletion(c, "since", "session")
	_ = c.RegisterFlagCompletionFunc("by", cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp))
	return c
}

// grouping reads --by; "" when it was not given.
func (o usageOptions) grouping() (ledger.By, error) {
	by := ledger.By(o.by)
	if o.by == "" || slices.Contains(ledger.Groupings(), by) {
		return by, nil
	}
	var names []string
	for _, g := range ledger.Groupings() {
		names = append(names, string(g))
	}
	return "", usagef("--by %s: there is no such account; %s", o.by, suggest.Hint(o.by, names))
}

// day reads --since as the first day that counts; "" is all.
func (o usageOptions) day(now time.Time) (string, error) {
	if o.since == "" {
		return "", nil
	}
	if t, err := time.Parse(time.DateOnly, o.since); err == nil {
		return ledger.Day(t), nil
	}
	d, err := parseSpan(o.since)
	if err != nil || d < 0 {
		return "", usagef("--since %s is neither a day (2026-09-01) nor a duration (24h, 30d)", o.since)
	}
	return ledger.Day(now.Add(-d)), nil
}

func (s *shell) usage(ctx context.Context, o usageOptions) error {
	by, err := o.grouping()
	if err != nil {
		return err
	}
	now := time.Now()
	from, err := o.day(now)
	if err != nil {
		return err
	}
	var part bus.ReplayOptions
	if o.session != "" {
		if part.Session, err = parseSession(o.session); err != nil {
			return err
		}
	}
	e, err := s.env("usage", slog.LevelWarn)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	var book ledger.Book
	err = e.WithJournal(ctx, func(ctx context.Context, c app.Client) error {
		p := s.progress()
		defer p.end()
		// All of it, also for some days: what has been archived is in tombstones, which lie anywhere above.
		err := c.Conn.Replay(ctx, part, func(ev envelope.Event) error {
			p.step()
			book.Add(ev)
			return nil
		})
		if err == nil && part.Session != "" && p.events == 0 {
			return s.noSession(ctx, c.Conn, part.Session)
		}
		return err
	})
	if err != nil {
		return err
	}
	if from != "" {
		book.Forget(from)
	}
	if o.json {
		if by == "" {
			by = ledger.ByDay
		}
		return json.NewEncoder(s.out).Encode(accountsOf(&book, by))
	}
	return s.showUsage(&book, by, from, now, e.Home.Config())
}

// accounts is what `usage --json` prints.
type accounts struct {
	By    ledger.By `json:"by"`
	Rows  []account `json:"rows"`
	Total account   `json:"total"`
}

type account struct {
	Day      string `json:"day,omitempty"`
	Agent    string `json:"agent,omitempty"`
	Session  string `json:"session,omitempty"`
	Model    string `json:"model,omitempty"`
	Calls    int    `json:"calls"`
	Input    int    `json:"input_tokens"`
	Output   int    `json:"output_tokens"`
	Cost     *int64 `json:"cost_nano_usd"`
	Unpriced int    `json:"unpriced_tokens"`
	Silent   int    `json:"uncounted_answers"` // whose provider reported no tokens
}

func accountsOf(book *ledger.Book, by ledger.By) accounts {
	a := accounts{By: by, Rows: []account{}, Total: accountOf(book.Rows(ledger.Total)[0])}
	for _, r := range book.Rows(by) {
		a.Rows = append(a.Rows, accountOf(r))
	}
	return a
}

func accountOf(r ledger.Row) account {
	a := account{
		Day: r.Day, Agent: r.Agent, Session: string(r.Session), Model: r.Model,
		Calls: r.Calls, Input: r.Input, Output: r.Output, Unpriced: r.Unpriced, Silent: r.Silent,
	}
	if r.Money() != unknownCost {
		a.Cost = &r.Cost
	}
	return a
}

// unknownCost is what the ledger calls a cost of which nothing is known.
const unknownCost = "unknown"

// showUsage prints tables for a person.
func (s *shell) showUsage(book *ledger.Book, by ledger.By, from string, now time.Time, file string) error {
	total := book.Rows(ledger.Total)[0]
	t := columns{right: []bool{false, true, true, true}}
	head := func(by ledger.By, name string, rows []ledger.Row) {
		if len(rows) == 0 {
			return
		}
		if len(t.rows) > 0 {
			t.row("")
		}
		t.row(name, "calls", "tokens in", "tokens out", "cost")
		for _, r := range rows {
			t.row(usageCells(keyOf(by, r), r)...)
		}
	}
	if by != "" {
		head(by, string(by), book.Rows(by))
	} else {
		days, name := book.Rows(ledger.ByDay), "day (UTC)"
		if from == "" {
			first := ledger.Day(now.AddDate(0, 0, 1-lastDays))
			days = slices.DeleteFunc(days, func(r ledger.Row) bool { return r.Day < first })
			name = fmt.Sprintf("the last %d days", lastDays)
		}
		head(ledger.ByDay, name, days)
		head(ledger.ByModel, "model", book.Rows(ledger.ByModel))
	}
	if len(t.rows) == 0 {
		t.row("", "calls", "tokens in", "tokens out", "cost")
	} else {
		t.row("")
	}
	name := "total"
	if from != "" {
		name += " since " + from
	}
	t.row(usageCells(name, total)...)
	if err := t.print(s.out); err != nil {
		return err
	}
	s.noteUnpriced(book, file)
	return nil
}

func usageCells(key string, r ledger.Row) []string {
	return []string{key, strconv.Itoa(r.Calls), strconv.Itoa(r.Input), strconv.Itoa(r.Output), r.Money()}
}

// keyOf is what the row of a grouping is called.
func keyOf(by ledger.By, r ledger.Row) string {
	key := ""
	switch by {
	case ledger.ByDay:
		key = r.Day
	case ledger.ByModel:
		key = r.Model
	case ledger.BySession:
		key = string(r.Session)
	case ledger.ByAgent:
		key = r.Agent
	case ledger.Total:
	}
	if key == "" {
		return "-"
	}
	return flat(key)
}

const unpricedShown = 5

// noteUnpriced says how to give the prices that are missing.
func (s *shell) noteUnpriced(book *ledger.Book, file string) {
	var unpriced []string
	silent := 0
	for _, r := range book.Rows(ledger.ByModel) {
		if r.Unpriced > 0 {
			unpriced = append(unpriced, flat(r.Model))
		}
		silent += r.Silent
	}
	if n := len(unpriced); n > 0 {
		first := unpriced[0]
		if n > unpricedShown {
			unpriced = append(unpriced[:unpricedShown], "…")
		}
		fmt.Fprintf(s.err, "note: no price was known for %s. From now on, give it in %s, in US dollars for a million tokens:\n"+
			"  models: {prices: {%q: {input: 3, output: 15}}}\n", strings.Join(unpriced, ", "), file, first)
	}
	if silent > 0 {
		fmt.Fprintf(s.err, "note: of %d answers the provider reported no tokens\n", silent)
	}
}
