package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/subject"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

// stored is how many messages a stream has on subjects that a filter fits.
func stored(ctx context.Context, owner *bus.Conn, stream, filter string) (int, error) {
	s, err := owner.JetStream().Stream(ctx, stream)
	if err != nil {
		return 0, err
	}
	info, err := s.Info(ctx, jetstream.WithSubjectFilter(filter))
	if err != nil {
		return 0, err
	}
	return len(info.State.Subjects), nil
}

func (u *user) left(stream, filter string) (n int) {
	u.t.Helper()
	u.owns(func(ctx context.Context, owner *bus.Conn) (err error) {
		n, err = stored(ctx, owner, stream, filter)
		return err
	})
	return n
}

func TestSessionsDelete(t *testing.T) {
	t.Parallel()
	for _, beside := range []bool{false, true} {
		u := spoken(t)
		long := strings.Repeat("of some length ", 10_000) // too long for the journal
		u.runIn(long, "chat", "--session", "older", "-").want(t, 0)
		u.run("chat", "--session", "new", "hi").want(t, 0)
		u.owns(func(ctx context.Context, owner *bus.Conn) error { // services save one of longer conversations only
			return owner.SaveSnapshot(ctx, atTerminal("older"), bus.Snapshot{Version: "1", Cursor: 1, State: []byte("{}")})
		})
		if bodies, snapshots := u.left("OBJ_"+subject.Blobs, ">"), u.left("KV_"+subject.Snap, ">"); bodies == 0 || snapshots == 0 {
			t.Fatalf("there are %d objects and %d snapshots to purge", bodies, snapshots)
		}
		usage, others := u.run("usage", "--by", "session", "--json").stdout, u.run("events", "--json", "--session", "old").stdout
		u.run("sessions", "delete", "older").want(t, 2, "say --yes")
		stop := func() {}
		if beside {
			d := u.start()
			stop = func() {
				if code := d.stop(); code != 0 {
					t.Errorf("exit %d", code)
				}
			}
		}
		got := decoded[deleted](u, "sessions", "delete", "older", "--yes", "--json")
		if got.Session != atTerminal("older") || got.Messages != 3 || got.Events < 12 || int(got.Purged) != got.Events || got.Resumed {
			t.Errorf("%+v", got)
		}
		if left := u.journal("--session", "older"); !slices.Equal(types(left), []string{"session.deleted.v1"}) {
			t.Errorf("%+v", left)
		}
		if r := u.run("sessions", "search", "café"); r.stdout != "" || r.code != 0 {
			t.Errorf("%+v", r)
		}
		if l := decoded[listed](u, "sessions", "list", "--json"); len(l.Conversations) != 2 {
			t.Errorf("%+v", l)
		}
		u.run("sessions", "show", "older").want(t, 0, "was deleted by cli")
		if now := u.run("usage", "--by", "session", "--json").stdout; now != usage {
			t.Errorf("%s\nwas %s", now, usage)
		}
		if now := u.run("events", "--json", "--session", "old").stdout; now != others {
			t.Errorf("%s\nwas %s", now, others)
		}
		r := u.run("sessions", "delete", "older", "--yes")
		r.want(t, 0)
		if !strings.Contains(r.stdout, "was deleted before; nothing of it is left") {
			t.Errorf("%s", r.stdout)
		}
		stop()
		if n := u.left("OBJ_"+subject.Blobs, ">"); n != 0 {
			t.Errorf("%d objects are left", n)
		}
		if n := u.left("KV_"+subject.Snap, "$KV."+subject.Snap+".*."+string(atTerminal("older"))); n != 0 {
			t.Errorf("%d snapshots are left", n)
		}
		u.runIn(long, "chat", "--session", "older", "-").want(t, 0) // the same body again
		left := u.journal("--session", "older")
		if !slices.Equal(types(left), append([]string{"session.deleted.v1"}, aTurn()...)) {
			t.Errorf("%q", types(left))
		}
		if x := decoded[shownSession](u, "sessions", "show", "older", "--json"); len(x.Messages) != 2 || len(x.Messages[0].Text)+x.Messages[0].Cut < len(long)-1 {
			t.Errorf("%d messages", len(x.Messages))
		}
	}
}

// TestDeleteIsRepeated after it died between the tombstone and the purge.
func TestDeleteIsRepeated(t *testing.T) {
	t.Parallel()
	u := spoken(t)
	u.owns(func(ctx context.Context, owner *bus.Conn) error {
		last, err := owner.Journal().Last(ctx, atTerminal("older"))
		if err != nil {
			return err
		}
		_, err = owner.Journal().Append(ctx, envelope.Event{Session: atTerminal("older"), Prev: last, Body: turnv1.SessionDeleted{By: "cli", Events: 8}})
		return err
	})
	if n := len(u.journal("--session", "older")); n != 9 {
		t.Fatalf("%d events", n)
	}
	got := decoded[deleted](u, "sessions", "delete", "older", "--yes", "--json")
	if !got.Resumed || got.Purged != 8 || got.Events != 0 {
		t.Errorf("%+v", got)
	}
	if n := len(u.journal("--session", "older")); n != 1 {
		t.Errorf("%d events", n)
	}
}

func TestDeleteRefuses(t *testing.T) {
	t.Parallel()
	model := newFakeModel(t)
	u := newUser(t, "channels: {http: {listen: \"off\"}}\n", model.env()...)
	d := u.start()
	chat := u.command("chat", "--session", "busy", "hold on")
	if err := chat.Start(); err != nil {
		t.Fatal(err)
	}
	<-model.began
	u.run("sessions", "delete", "busy", "--yes").want(t, 1, "main.terminal.local.busy is not deleted, as a turn runs", "then /stop")
	if r := u.run("sessions", "list"); !strings.Contains(r.stdout, "  at work\n") {
		t.Errorf("%s", r.stdout)
	}
	if l := decoded[listed](u, "sessions", "list", "--open", "--json"); len(l.Conversations) != 1 {
		t.Errorf("%+v", l)
	}
	close(model.hold)
	if code := codeOf(t, chat.Wait()); code != 0 {
		t.Errorf("exit %d", code)
	}
	u.run("sessions", "delete", "main.house.access.all", "--yes").want(t, 1, "is no conversation")
	u.run("sessions", "delete", "bsuy", "--yes").want(t, 1, "there is no session main.terminal.local.bsuy")
	u.run("sessions", "delete", "busy", "--yes").want(t, 0)
	if code := d.stop(); code != 0 {
		t.Errorf("exit %d", code)
	}
	var stone turnv1.SessionDeleted
	left := u.run("events", "--json", "--session", "busy").stdout
	var line struct{ Data json.RawMessage }
	if err := json.Unmarshal([]byte(left), &line); err != nil || json.Unmarshal(line.Data, &stone) != nil || stone.By != "cli" || stone.Events == 0 {
		t.Errorf("%v %+v: %s", err, stone, left)
	}
}

// TestDeleteForgets: afterwards nothing of what was said is in the file of the read model, and who has a copy is named.
func TestDeleteForgets(t *testing.T) {
	t.Parallel()
	for _, beside := range []bool{false, true} {
		u := newUser(t, offlineYAML+"channels: {http: {listen: \"off\"}}\n")
		u.run("chat", "--session", "origin", "hello").want(t, 0)
		u.run("chat", "--session", "origin", "unmistakable").want(t, 0)
		u.run("fork", "origin", "--as", "copy").want(t, 0)
		u.run("fork", "copy", "--as", "again").want(t, 0)
		u.run("sessions", "search", "unmistakable").want(t, 0)
		stop := func() int { return 0 }
		if beside {
			stop = u.start().stop
		}
		r := u.run("sessions", "delete", "origin", "--yes", "--json")
		r.want(t, 0, "main.terminal.local.copy has its past still", "jetclaw sessions delete again")
		var got deleted
		forks := []session.ID{atTerminal("copy"), atTerminal("again")}
		if err := json.Unmarshal([]byte(r.stdout), &got); err != nil || !slices.Equal(got.Forks, forks) {
			t.Errorf("%+v, %v", got, err)
		}
		files, err := filepath.Glob(filepath.Join(u.home, "index", "*"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%q, %v", files, err)
		}
		for _, name := range files {
			if data, err := os.ReadFile(name); err == nil && bytes.Contains(data, []byte("unmistakable")) {
				t.Errorf("%s has what was deleted", name)
			}
		}
		if code := stop(); code != 0 {
			t.Errorf("exit %d", code)
		}
	}
}
