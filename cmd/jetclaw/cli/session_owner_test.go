package cli

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/config"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/home"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/logs"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

// owns lets fn work on a home's journal as the owner of the topology. Nobody else may have the home.
func (u *user) owns(fn func(ctx context.Context, owner *bus.Conn) error) {
	u.t.Helper()
	h, err := home.Find(func(string) (string, bool) { return u.home, true })
	if err != nil {
		u.t.Fatal(err)
	}
	e := app.Env{
		Home: h, Config: config.Default(), Lookup: func(string) (string, bool) { return "", false }, Environ: func() []string { return nil },
		Secrets: &logs.Redactor{}, Log: slog.New(slog.DiscardHandler), Command: "test", Notice: func(string) {},
	}
	err = e.WithJournal(u.t.Context(), func(ctx context.Context, c app.Client) error {
		owner, err := c.Admin(ctx)
		if err != nil {
			return err
		}
		if err := fn(ctx, owner); err != nil {
			return err
		}
		return owner.Close(ctx)
	})
	if err != nil {
		u.t.Fatal(err)
	}
}

// spoken is a home with three conversations.
func spoken(t *testing.T) *user {
	t.Helper()
	u := newUser(t, offlineYAML+"channels: {http: {listen: \"off\"}}\n")
	use := turnv1.Usage{Input: 100, Output: 20, Cost: 500, Priced: true}
	u.lived(
		past{"older", time.Now().AddDate(0, 0, -300), "hi \x1b[31mthere", "claude/big", use},
		past{"older", time.Now().AddDate(0, 0, -299), "and the café?", "claude/big", use},
		past{"old", time.Now().AddDate(0, 0, -200), "about the train to Vienna", "claude/big", use},
		past{"new", time.Now().Add(-time.Minute), "today's news", "claude/big", use},
	)
	return u
}

// decoded runs a command and reads the object that it prints.
func decoded[T any](u *user, args ...string) (v T) {
	u.t.Helper()
	r := u.run(args...)
	r.want(u.t, 0)
	if err := json.Unmarshal([]byte(r.stdout), &v); err != nil {
		u.t.Fatalf("%v: %s", err, r.stdout)
	}
	return v
}

// inBoth runs a test without a daemon and beside one.
func inBoth(t *testing.T, build func(*testing.T) *user, test func(*testing.T, *user)) {
	t.Helper()
	for _, daemon := range []bool{false, true} {
		name := "alone"
		if daemon {
			name = "daemon"
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := build(t)
			if daemon {
				d := u.start()
				defer func() {
					if code := d.stop(); code != 0 {
						t.Errorf("exit %d", code)
					}
				}()
			}
			test(t, u)
		})
	}
}

func atTerminal(name string) session.ID { return session.ID("main.terminal.local." + name) }

// lines are those of a text that are not empty.
func lines(text string) []string {
	return strings.FieldsFunc(text, func(r rune) bool { return r == '\n' })
}
