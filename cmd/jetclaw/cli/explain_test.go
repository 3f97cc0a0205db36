package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/logs"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/subject"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

// here runs one command in the process of the test.
func (u *user) here(command func(*shell) *cobra.Command, args ...string) result {
	u.t.Helper()
	var out, stderr bytes.Buffer
	s := u.shell(&out, &stderr)
	root := &cobra.Command{Use: "jetclaw", SilenceErrors: true, SilenceUsage: true}
	root.AddCommand(command(s))
	root.SetFlagErrorFunc(flagError)
	root.SetArgs(args)
	root.SetOut(&out)
	root.SetErr(&stderr)
	err := root.ExecuteContext(u.t.Context())
	if err != nil {
		stderr.WriteString(err.Error())
	}
	return result{code: exitCode(err), stdout: out.String(), stderr: stderr.String()}
}

func (u *user) shell(out, stderr io.Writer) *shell {
	return &shell{
		in: strings.NewReader(""), out: out, err: told{stderr}, rawErr: stderr, secrets: &logs.Redactor{},
		lookup: func(name string) (string, bool) { return u.home, name == "JETCLAW_HOME" },
	}
}

func (u *user) explain(args ...string) result {
	u.t.Helper()
	return u.here((*shell).explainCommand, append([]string{"explain"}, args...)...)
}

// withJournal lets a test at the journal of the home, as the owner of everything.
func (u *user) withJournal(fn func(context.Context, *bus.Conn) error) {
	u.t.Helper()
	e, err := u.shell(io.Discard, io.Discard).env("test", slog.LevelError)
	if err != nil {
		u.t.Fatal(err)
	}
	err = e.WithJournal(u.t.Context(), func(ctx context.Context, c app.Client) error {
		owner, err := c.Admin(ctx)
		if err != nil {
			return err
		}
		return errors.Join(fn(ctx, owner), owner.Close(ctx))
	})
	if err != nil {
		u.t.Fatal(err)
	}
}

func TestExplain(t *testing.T) {
	t.Parallel()
	u := newUser(t, offlineYAML)
	used := turnv1.Usage{Input: 800, Output: 40, Cost: 1_200_000, Priced: true}
	u.lived(
		past{"a", day(t, "2026-01-01"), "what is \x1b[31mred?", "p/m", used},
		past{"b", day(t, "2026-01-01"), "somebody else", "p/m", used},
		past{"a", day(t, "2026-01-02"), "and blue?", "p/m", used},
	)
	r := u.explain("a")
	r.want(t, 0)
	for _, want := range []string{
		"main.terminal.local.a, 8 events, cursors 1 to 12\nwaits for nothing: it is quiescent, since 2026-01-02 ",
		"  message from local: what is [31mred?\n", " turn 1 (p0/t): completed after 0 ms; 1 round; 800 tokens in, 40 out, $0.0012\n",
		" turn 2 (p2/t): ", "turn.completed answers: so it was\n", "delivery to terminal: sent\n",
		"\ntotal: 2 turns, 2 model calls, 0 tool calls; 1600 tokens in, 80 out, $0.0024\n",
	} {
		if !strings.Contains(r.stdout, want) {
			t.Errorf("no %q in\n%s", want, r.stdout)
		}
	}
	if strings.Contains(r.stdout, "\x1b") || strings.Contains(r.stdout, "somebody") {
		t.Errorf("%q", r.stdout)
	}
	r = u.explain("a", "--turn", "2", "--since", "8")
	if r.want(t, 0); strings.Contains(r.stdout, "turn 1 ") || !strings.Contains(r.stdout, "turn 2 ") {
		t.Errorf("%s", r.stdout)
	}
	r = u.explain("main.terminal.local.a", "--graph")
	if r.want(t, 0); !strings.HasPrefix(r.stdout, "flowchart TD\n  e1[\"1 message from local#58; what is #91;31mred#63;\"]\n") {
		t.Errorf("%s", r.stdout)
	}
	var got struct {
		Session string
		Waiting []struct{ For string }
		Totals  struct {
			Turns int
			Spent struct {
				Cost int64 `json:"cost_nano_usd"`
			}
		}
		Entries []struct {
			Kind    string
			Cursor  uint64
			Entries []struct{ Kind string }
		}
	}
	r = u.explain("a", "--json")
	r.want(t, 0)
	if err := json.Unmarshal([]byte(r.stdout), &got); err != nil {
		t.Fatalf("%v: %s", err, r.stdout)
	}
	if got.Session != "main.terminal.local.a" || got.Waiting[0].For != "nothing" || got.Totals.Turns != 2 || got.Totals.Spent.Cost != 2_400_000 ||
		len(got.Entries) != 2 || got.Entries[1].Cursor != 9 || got.Entries[1].Entries[0].Kind != "turn" {
		t.Errorf("%s", r.stdout)
	}
	for _, c := range []struct {
		code int
		args string
		want string
	}{
		{2, "", "takes one session"},
		{2, "a b", "takes one session"},
		{2, "a.b", "SESSION "},
		{2, "a --since yesterday", "--since yesterday is no cursor (4711)"},
		{2, "a --graph --json", "choose one"},
		{1, "a --since 13", "the events of main.terminal.local.a have cursors from 1 to 12"},
		{1, "a --turn 3", "--turn 3: there is none; main.terminal.local.a has 2 turns, counted from 1"},
		{1, "main.http.token.a", "there is no session main.http.token.a\ndid you mean main.terminal.local.a?"},
		{1, "nobody", "there is no session main.terminal.local.nobody\n"},
	} {
		r := u.explain(strings.Fields(c.args)...)
		if r.want(t, c.code, c.want); r.stdout != "" {
			t.Errorf("%s: %s", c.args, r.stdout)
		}
	}
}

// TestExplainOpen: a message that nobody has taken, and one that a newer jetclaw has written.
func TestExplainOpen(t *testing.T) {
	t.Parallel()
	u := newUser(t, offlineYAML)
	u.withJournal(func(ctx context.Context, owner *bus.Conn) error {
		id, err := parseSession("a")
		if err != nil {
			return err
		}
		first, err := owner.Journal().Append(ctx, envelope.Event{
			ID: "m1", Session: id, Time: time.Now().Add(-time.Hour), Body: messagev1.Received{From: me, Text: "hello"},
		})
		if err != nil {
			return err
		}
		_, err = owner.Journal().Append(ctx, envelope.Event{ID: "u1", Session: id, Prev: first, Cause: "m1", Body: ponder{}})
		return err
	})
	r := u.explain("a")
	r.want(t, 0)
	for _, want := range []string{
		"waits for a step that is due (turns: turn.started, nobody has taken it: is the daemon running?), since ",
		"message from local: hello (waits, for 1 h)\n", "turn.pondered written by a newer jetclaw: turn.pondered.v2\n",
	} {
		if !strings.Contains(r.stdout, want) {
			t.Errorf("no %q in\n%s", want, r.stdout)
		}
	}
}

// ponder is an event of another time.
type ponder struct{}

func (ponder) EventType() string { return "turn.pondered.v2" }

// TestExplainHole: what lies above and below a hole is explained, and the command fails.
func TestExplainHole(t *testing.T) {
	t.Parallel()
	u := newUser(t, offlineYAML)
	u.lived(
		past{"a", day(t, "2026-01-01"), "red?", "p/m", turnv1.Usage{}},
		past{"a", day(t, "2026-01-02"), "blue?", "p/m", turnv1.Usage{}},
	)
	u.withJournal(func(ctx context.Context, owner *bus.Conn) error {
		msg, err := owner.NATS().RequestWithContext(ctx, "$JS.API.STREAM.MSG.DELETE."+subject.Journal, []byte(`{"seq":6}`))
		if err == nil && !strings.Contains(string(msg.Data), `"success":true`) {
			err = errors.New(string(msg.Data))
		}
		return err
	})
	r := u.explain("a")
	r.want(t, 1, "main.terminal.local.a has a hole: event 7 follows on event 6, which is not in the journal")
	for _, want := range []string{
		"7 events, cursors 1 to 8\n", "hole: event 7 follows on event 6, which is not in the journal\n", "red?", "blue?", "turn 1 ", "turn 2 ",
	} {
		if !strings.Contains(r.stdout, want) {
			t.Errorf("no %q in\n%s", want, r.stdout)
		}
	}
	if r := u.explain("a", "--json"); r.code != 1 || !strings.Contains(r.stdout, `"holes":[{"above":7,"missing":6}]`) {
		t.Errorf("exit %d: %s", r.code, r.stdout)
	}
}
