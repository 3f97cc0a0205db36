package cli

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/config"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/home"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/logs"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

// shown are the cursors of the events that a command shows.
func (u *user) shown(args ...string) (cursors []uint64) {
	u.t.Helper()
	for _, e := range u.journal(args...) {
		cursors = append(cursors, e.Cursor)
	}
	return cursors
}

// filtered is a home with three turns of four events: of the sessions a, of Telegram, and of another agent.
func filtered(t *testing.T) *user {
	t.Helper()
	u := newUser(t, offlineYAML)
	u.lived(
		past{"a", day(t, "2020-09-01"), "hi", "m", turnv1.Usage{}},
		past{"main.telegram.bot.12", day(t, "2020-09-02"), "hi", "m", turnv1.Usage{}},
		past{"helper.telegram.bot.13", day(t, "2020-09-03"), "hi", "m", turnv1.Usage{}},
	)
	return u
}

func TestEventFilters(t *testing.T) {
	t.Parallel()
	u := filtered(t)
	d := u.start("--target", "nats")
	for args, want := range map[string][]uint64{
		"":                             {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12},
		"--type turn.*":                {2, 3, 6, 7, 10, 11},
		"--type turn.started.v1":       {2, 6, 10},
		"--type *.sent,turn.completed": {3, 4, 7, 8, 11, 12},
		"--type message.received --type turn.completed": {1, 3, 5, 7, 9, 11},
		"--session a":                                   {1, 2, 3, 4},
		"--session main.telegram.bot.12":                {5, 6, 7, 8},
		"--session *.telegram.bot.1?":                   {5, 6, 7, 8, 9, 10, 11, 12},
		"--session main.*":                              {1, 2, 3, 4, 5, 6, 7, 8},
		"--agent helper":                                {9, 10, 11, 12},
		"--channel telegram":                            {5, 6, 7, 8, 9, 10, 11, 12},
		"--channel telegram --agent main --type turn.*": {6, 7},
		"--since 10":                                    {11, 12},
		"--until 2":                                     {1, 2},
		"--since 2 --until 5":                           {3, 4, 5},
		"--until 2020-09-01":                            {1, 2, 3, 4},
		"--until 2020-09-02T12:00":                      {1, 2, 3, 4, 5, 6, 7, 8},
		"--until 2020-09-02T11:59:59":                   {1, 2, 3, 4},
		"--limit 3":                                     {1, 2, 3},
		"--last 3":                                      {10, 11, 12},
		"--last 99":                                     {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12},
		"--last 2 --type turn.* --until 7":              {6, 7},
		"--last 1 --session a":                          {4},
		"--limit 2 --type turn.* --since 2":             {3, 6},
		"--limit 2 --until 5d --agent helper":           {9, 10},
		"--last 2 --until 5d --session helper.telegram.bot.*": {11, 12},
	} {
		if got := u.shown(strings.Fields(args)...); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", args, got, want)
		}
	}
	if code := d.stop(); code != 0 {
		t.Errorf("exit %d", code)
	}
	if got, want := u.shown("--last", "2", "--type", "turn.*", "--until", "7"), []uint64{6, 7}; !slices.Equal(got, want) {
		t.Errorf("without a daemon: %v, want %v", got, want)
	}
}

// TestNoSuchEvents: who sees nothing is told why, and what there is.
func TestNoSuchEvents(t *testing.T) {
	t.Parallel()
	u := filtered(t)
	d := u.start("--target", "nats")
	for args, want := range map[string][]string{
		"--type turn.strated":           {`no type of event that is known here fits "turn.strated"; did you mean "turn.started"?`, "there are delivery.sent, "},
		"--type trun.*":                 {`did you mean "turn.*"?`},
		"--type call.*":                 {"the journal has no events of type call.*; there are delivery.sent, turn.completed"},
		"--session a --type call.*":     {"main.terminal.local.a has no events of type call.*"},
		"--agent hepler":                {`no events of an agent "hepler"; did you mean "helper"?`},
		"--channel http":                {`no events of a channel "http"; there are telegram, terminal`},
		"--session *.14":                {`no session that fits "*.14"`, "there are helper.telegram.bot.13, main.telegram.bot.12, main.terminal.local.a"},
		"--session helper.telegram.b.1": {"no session helper.telegram.b.1"},
		"--session a --since 4":         {"the last event of main.terminal.local.a has cursor 4"},
		"--agent helper --until 8":      {"no event fits all of that; the journal has cursors 1 to 12"},
		"--since 12":                    {"the journal ends at cursor 12"},
		"--since 5d":                    {"nothing has happened in that time"}, // what was of long ago when it was stored
		"--since 2999-01-01":            {"nothing has happened in that time; the last event of the journal is 12, of 2020-09-03 12:00:00"},
	} {
		r := u.run(append([]string{"events"}, strings.Fields(args)...)...)
		r.want(t, 0, want...)
		if r.stdout != "" {
			t.Errorf("%s: %s", args, r.stdout)
		}
	}
	for _, args := range []string{"--since 13", "--until 13", "--since 1 --until 13", "--last 2 --since 13", "--follow --since 13"} {
		r := u.run(append([]string{"events"}, strings.Fields(args)...)...)
		r.want(t, 1, "the journal has no cursor 13: it begins at 1 and ends at 12")
	}
	d.stop()
	newUser(t, offlineYAML).run("events", "--since", "1").want(t, 1, "the journal has no cursor 1: it is empty")
}

func TestEventsCompletion(t *testing.T) {
	t.Parallel()
	u := newUser(t, offlineYAML+"agents: {helper: {}}\n")
	for flag, want := range map[string][]string{
		"--type": {"turn.*", "turn.started"}, "--agent": {"helper", "main"}, "--channel": {"telegram", "terminal"}, "--since": {":4"},
	} {
		r := u.run("__complete", "events", flag, "")
		for _, w := range want {
			if !slices.Contains(strings.Fields(r.stdout), w) {
				t.Errorf("%s: no %s in %s", flag, w, r.stdout)
			}
		}
	}
}

// TestNewest: the newest of any choice are the end of the whole choice.
func TestNewest(t *testing.T) {
	t.Parallel()
	const turns = 5 * newestSpan / 16
	u := newUser(t, "")
	var pasts []past
	for i := range turns {
		pasts = append(pasts, past{fmt.Sprint("s", i%5), time.Now(), "hi", "m", turnv1.Usage{}})
	}
	u.lived(pasts...)
	u.visit(func(ctx context.Context, conn *bus.Conn) {
		usage, err := conn.Journal().Usage(ctx)
		if err != nil || usage.Last != 4*turns {
			t.Fatal(usage, err)
		}
		var journal []envelope.Event
		err = conn.Replay(ctx, bus.ReplayOptions{}, func(e envelope.Event) error {
			journal = append(journal, e)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		rapid.Check(t, func(t *rapid.T) {
			o := eventsOptions{
				session: rapid.SampledFrom([]string{"", "s0", "s3", "*s[", "*.s?", "*.s4"}).Draw(t, "session"),
				since:   rapid.SampledFrom([]string{"", "0", "3", "127", "128", "600", "1h", "0s"}).Draw(t, "since"),
				until:   rapid.SampledFrom([]string{"", "600", "640", "0s"}).Draw(t, "until"),
			}
			if rapid.Bool().Draw(t, "of turns") {
				o.types = []string{"turn.*"}
			}
			w, err := o.wanted(time.Now())
			if err != nil {
				return // nothing can lie in between
			}
			var all []uint64
			for _, e := range journal {
				p := w.part
				if e.Cursor >= p.From && (p.To == 0 || e.Cursor <= p.To) && (p.Session == "" || p.Session == e.Session) && w.match(e) {
					all = append(all, e.Cursor)
				}
			}
			n := rapid.IntRange(1, 2*len(all)+2).Draw(t, "n")
			found, err := w.newest(ctx, conn, n, usage, func() {})
			if err != nil {
				t.Fatal(err)
			}
			var got []uint64
			for _, e := range found {
				got = append(got, e.Cursor)
			}
			if want := all[max(0, len(all)-n):]; !slices.Equal(got, want) {
				t.Fatalf("%+v, the newest %d: %v, want %v", o, n, got, want)
			}
		})
	})
}

// visit opens a home's journal in this process.
func (u *user) visit(fn func(context.Context, *bus.Conn)) {
	u.t.Helper()
	h, err := home.Find(func(string) (string, bool) { return u.home, true })
	if err != nil {
		u.t.Fatal(err)
	}
	e := app.Env{
		Home: h, Config: config.Default(), Lookup: func(string) (string, bool) { return "", false }, Environ: func() []string { return nil },
		Secrets: &logs.Redactor{},
		Log:     slog.New(slog.DiscardHandler), Command: "test", Notice: func(string) {},
	}
	err = e.WithJournal(u.t.Context(), func(ctx context.Context, c app.Client) error {
		fn(ctx, c.Conn)
		return nil
	})
	if err != nil {
		u.t.Fatal(err)
	}
}
