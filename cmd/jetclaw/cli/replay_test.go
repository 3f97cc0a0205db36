package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/subject"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

const conversed session.ID = "main.terminal.local.default"

// conversedHome is a home with a plain turn and one with a tool call.
func conversedHome(t *testing.T) *user {
	t.Helper()
	u := newUser(t, offlineYAML)
	u.run("chat", "hello").want(t, exitOK)
	u.run("chat", `!tool write_file {"path":"a.txt","content":"x"}`).want(t, exitOK)
	return u
}

// firstOf is the cursor of the first event of a kind.
func (u *user) firstOf(kind string) uint64 {
	u.t.Helper()
	for line := range strings.Lines(u.run("events", "--json").stdout) {
		var l struct {
			Cursor uint64 `json:"cursor"`
			Type   string `json:"type"`
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			u.t.Fatal(err)
		}
		if envelope.KindOf(l.Type) == kind {
			return l.Cursor
		}
	}
	u.t.Fatalf("no %s", kind)
	return 0
}

func TestReplay(t *testing.T) {
	t.Parallel()
	u := conversedHome(t)
	for _, args := range [][]string{{"default", "--check"}, {"--all", "--check"}} {
		got := u.run(append([]string{"replay"}, args...)...)
		got.want(t, exitOK)
		if !strings.Contains(got.stdout, "\nno difference\n") || strings.Contains(got.stdout, " 0 decided again") {
			t.Errorf("%v: %s", args, got.stdout)
		}
	}
	if got := u.run("replay", "--all"); got.code != exitOK || !strings.Contains(got.stdout, "waits in 0 of them") {
		t.Errorf("%+v", got)
	}
	claimed := u.firstOf("turn.started")
	var st struct {
		Cursor uint64 `json:"cursor"`
		States []struct {
			Service string         `json:"service"`
			State   map[string]any `json:"state"`
		} `json:"states"`
	}
	got := u.run("replay", "default", "--to", fmt.Sprint(claimed), "--json")
	if err := json.Unmarshal([]byte(got.stdout), &st); err != nil || st.Cursor != claimed || len(st.States) != 6 || st.States[0].State["turn"] == nil {
		t.Errorf("%v: %s", err, got.stdout)
	}
	got = u.run("replay", "default", "--from", fmt.Sprint(claimed), "--machine", "turns")
	if got.code != exitOK || !strings.Contains(got.stdout, "    turns turn: {") || strings.Contains(got.stdout, "outbox") {
		t.Errorf("%+v", got)
	}
	got = u.run("replay", "default", "--step", "--check")
	if got.code != exitOK || strings.Count(got.stdout, "turn.started") != 2 || strings.Contains(got.stdout, "something else") {
		t.Errorf("%+v", got)
	}
}

func TestReplayWrong(t *testing.T) {
	t.Parallel()
	u := newUser(t, offlineYAML)
	u.run("replay", "--all", "--check").want(t, exitFailed, "nothing was compared")
	u.run("chat", "hello").want(t, exitOK)
	u.run("replay", "defautl").want(t, exitFailed, "there is no session")
	u.run("replay", "default", "--to", "4711").want(t, exitUsage, "the events of the session are 1 to")
	u.run("replay", "--all", "--check", "--to", "4711").want(t, exitUsage, "which has 1 to")
	u.run("replay", "default", "--machine", "turn").want(t, exitUsage, "turns")
	u.run("replay", "--all", "--step").want(t, exitUsage, "--all takes")
	u.run("replay").want(t, exitUsage, "one session")
}

// TestReplayNamesTheFirstDifference: other rules than those that the events were decided by stand for another machine.
func TestReplayNamesTheFirstDifference(t *testing.T) {
	t.Parallel()
	u := conversedHome(t)
	u.withJournal(func(ctx context.Context, owner *bus.Conn) error {
		js, digests := owner.JetStream(), map[string]bool{}
		err := owner.Replay(ctx, bus.ReplayOptions{}, func(ev envelope.Event) error {
			if _, ok := ev.Body.(turnv1.Started); ok {
				digests[ev.Rules] = true
			}
			return nil
		})
		for d := range digests {
			kv, kerr := js.KeyValue(ctx, subject.Settings)
			if kerr != nil {
				return kerr
			}
			key := "turns." + bus.RulesKey(d)
			entry, kerr := kv.Get(ctx, key)
			if kerr != nil {
				return kerr
			}
			var rules map[string]any
			if kerr := json.Unmarshal(entry.Value(), &rules); kerr != nil {
				return kerr
			}
			rules["limits"].(map[string]any)["call_time"] = 1e9 //nolint:forcetypeassert // it is what the service has recorded
			changed, kerr := json.Marshal(rules)
			if kerr != nil {
				return kerr
			}
			if _, kerr := kv.Put(ctx, key, changed); kerr != nil {
				return kerr
			}
		}
		return err
	})
	first := u.firstOf("turn.started")
	for _, args := range [][]string{{"default", "--check", "--json"}, {"--all", "--check", "--json"}} {
		got := u.run(append([]string{"replay"}, args...)...)
		var r struct {
			OK    bool `json:"ok"`
			First struct {
				Cursor      uint64 `json:"cursor"`
				Service     string `json:"service"`
				Differences []struct {
					Field string `json:"field"`
				} `json:"differences"`
			} `json:"first"`
		}
		if err := json.Unmarshal([]byte(got.stdout), &r); err != nil {
			t.Fatal(err, got.stdout)
		}
		if got.code != exitFailed || r.OK || r.First.Cursor != first || r.First.Service != "turns" ||
			len(r.First.Differences) != 1 || r.First.Differences[0].Field != "data.deadline" {
			t.Errorf("%v: %d %s", args, got.code, got.stdout)
		}
	}
}

// TestReplayOfABrokenJournal: a hole, a message that is no event and an event of a newer version are found, and the rest is judged.
func TestReplayOfABrokenJournal(t *testing.T) {
	t.Parallel()
	u := conversedHome(t)
	u.run("chat", "--session", "other", "hello").want(t, exitOK)
	stepped := u.firstOf("turn.stepped")
	u.withJournal(func(ctx context.Context, owner *bus.Conn) error {
		stream, err := owner.JetStream().Stream(ctx, subject.Journal)
		if err != nil {
			return err
		}
		if err := stream.DeleteMsg(ctx, stepped); err != nil {
			return err
		}
		other := session.ID("main.terminal.local.newer")
		m := &nats.Msg{Subject: subject.OfEvent(other, "turn.dreamt", ""), Data: []byte("{}"), Header: nats.Header(envelope.HeaderOf(envelope.Event{
			ID: "x1", Session: other, Source: "turns/w", Body: envelope.Unknown{Type: "turn.dreamt.v1"},
		}))}
		if _, err := owner.JetStream().PublishMsg(ctx, m); err != nil {
			return err
		}
		_, err = owner.JetStream().PublishMsg(ctx, &nats.Msg{Subject: subject.OfEvent(other, "turn.started", ""), Data: []byte("?")})
		return err
	})
	got := u.run("replay", "--all", "--check")
	got.want(t, exitFailed)
	for _, want := range []string{
		fmt.Sprintf("of %s follows on event %d, which is not in the journal", conversed, stepped), "written by a newer jetclaw", "is no event",
		"no difference where it could be judged",
	} {
		if !strings.Contains(got.stdout, want) {
			t.Errorf("%q is not in\n%s", want, got.stdout)
		}
	}
	u.run("replay", "default", "--check").want(t, exitFailed, "the journal has a hole")
	u.run("replay", "other", "--check").want(t, exitOK)
	u.run("sessions", "delete", "default", "--yes").want(t, exitOK) // all that helps a session with a hole
	u.run("chat", "hello").want(t, exitOK)
	u.run("replay", "default", "--check").want(t, exitOK)
}

// TestApprovalsBesideABrokenSession: a session that cannot be read hides the questions of no other.
func TestApprovalsBesideABrokenSession(t *testing.T) {
	t.Parallel()
	u := newUser(t, offlineYAML)
	for _, name := range []string{"broken", "whole"} {
		u.run("chat", "--session", name, `!tool remember {"text":"x"}`).want(t, exitApproval)
	}
	missing := u.firstOf("turn.started")
	u.withJournal(func(ctx context.Context, owner *bus.Conn) error {
		stream, err := owner.JetStream().Stream(ctx, subject.Journal)
		if err != nil {
			return err
		}
		kv, err := owner.JetStream().KeyValue(ctx, subject.Snap)
		if err != nil {
			return err
		}
		for _, service := range []string{"turns", "approvals", "tools", "outbox", "builtin", "intake"} {
			if err := kv.Delete(ctx, service+".main.terminal.local.broken"); err != nil {
				return err
			}
		}
		return stream.DeleteMsg(ctx, missing)
	})
	got := u.run("approvals", "list")
	got.want(t, exitOK, "main.terminal.local.broken has an open approval and cannot be read")
	if !strings.Contains(got.stdout, "main.terminal.local.whole") {
		t.Errorf("%s", got.stdout)
	}
}

func TestForShell(t *testing.T) {
	for word, want := range map[string]string{"work-at-18": "work-at-18", "a b": "'a b'", "it's": `'it'\''s'`, "": "''", "$(x)": "'$(x)'"} {
		if got := forShell(word); got != want {
			t.Errorf("%q: %s, want %s", word, got, want)
		}
	}
}
