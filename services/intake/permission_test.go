package intake

import (
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/schemas/accessv1"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/noticev1"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/services/intake/internal/wire"
)

// asks is the question of a program, as the outbox posts it.
func asks(request string, expires time.Duration) noticev1.Posted {
	return noticev1.Posted{
		Service: "outbox", Text: "May I? Answer yes " + request + " or no " + request + ".", By: "mcp:claude-code",
		Permission: &noticev1.Permission{Request: request, Tool: "Bash", Expires: time.Now().Add(expires)},
	}
}

// write sends a text and says what it became.
func (r *running) write(s session.ID, who, key, text string) (wire.Receipt, string) {
	r.t.Helper()
	got, err := r.Submit(r.t.Context(), Request{Session: string(s), From: messagev1.Sender{ID: who}, Key: key, Text: wire.Text(text)})
	if err != nil {
		r.t.Fatal(err)
	}
	e, err := r.journal.Get(r.t.Context(), got.Cursor)
	if err != nil {
		r.t.Fatal(err)
	}
	return got, e.Kind()
}

func TestPermissionAnswered(t *testing.T) {
	srv := newBus(t)
	s := startWith(t, srv, func(c *Config) { c.Owners = []string{"local", "http:app", "telegram:1"} }, func(*Service) {})
	outbox := srv.Connect(t, "turns")
	begin(t, s, chatSession)
	for _, id := range []string{"abcde", "fghij"} {
		appendAs(t, outbox, chatSession, asks(id, time.Minute))
	}
	appendAs(t, outbox, chatSession, asks("kmnop", -time.Second))
	for _, c := range []struct {
		who, key, text string
		passed         bool
	}{
		{"telegram:2", "k1", "yes abcde", false}, // who is no owner
		{"telegram:1", "k2", "yes abcde!", false},
		{"telegram:1", "k3", "yes kmnop", false}, // nobody waits any more
		{"telegram:1", "k4", "yes zzzzz", false}, // nobody has asked
		{"telegram:1", "k5", " YES Abcde ", true},
		{"local", "", "no abcde", false}, // the first answer counts
		{"local", "", "no fghij", true},  // without a key
	} {
		receipt, kind := s.write(chatSession, c.who, c.key, c.text)
		want, status := "message.received", wire.Pending
		if c.passed {
			want, status = "permission.answered", wire.Completed
		}
		if kind != want || receipt.Passed != c.passed || receipt.Status != status {
			t.Errorf("%q of %s is %s, %+v", c.text, c.who, kind, receipt)
		}
		if !c.passed {
			continue
		}
		e, err := s.journal.Get(t.Context(), receipt.Cursor)
		if b, ok := e.Body.(messagev1.PermissionAnswer); err != nil || !ok || b.From.ID != c.who || b.Allow != (c.key == "k5") {
			t.Errorf("%+v, %v", e, err)
		}
		r, err := s.Reply(t.Context(), ReplyRequest{Session: string(chatSession), MessageID: receipt.MessageID, WaitMS: 60_000})
		if err != nil || r.Status != wire.Completed || r.Text != "Passed on." {
			t.Errorf("the reply to %q: %+v, %v", c.text, r, err)
		}
	}
	first, _ := s.write(chatSession, "telegram:1", "k5", "something else")
	if first.Status != wire.Completed || first.Passed {
		t.Errorf("a repeat of the key: %+v", first)
	}
}

// TestPermissionAnsweredByHTTP: it is taken as any message is, and the reply says what became of it.
func TestPermissionAnsweredByHTTP(t *testing.T) {
	srv := newBus(t)
	s := startWith(t, srv, func(c *Config) { c.Owners = []string{"http:app"} }, func(*Service) {})
	s.send(post{"default", "hello", ""})
	appendAs(t, srv.Connect(t, "turns"), appSession, asks("abcde", time.Minute))
	m := s.send(post{"default", "yes abcde", "k"})
	if r := s.reply(m.MessageID, "30s"); r.Status != "completed" || r.Text != passedOn {
		t.Errorf("%+v", r)
	}
	if again := s.send(post{"default", "yes abcde", "k"}); again.MessageID != m.MessageID || again.Cursor != m.Cursor {
		t.Errorf("again: %+v, first %+v", again, m)
	}
}

// TestPermissionOfJoinedOwners: who was made an owner counts until sent away, where the configuration names no approvers.
func TestPermissionOfJoinedOwners(t *testing.T) {
	srv := newBus(t)
	s := startWith(t, srv, func(c *Config) { c.JoinOwners = true }, func(*Service) {})
	alone := startWith(t, srv, func(c *Config) { c.Owners = []string{"local"} }, func(*Service) {})
	outbox := srv.Connect(t, "turns")
	begin(t, s, chatSession)
	for _, id := range []string{"abcde", "fghij"} {
		appendAs(t, outbox, chatSession, asks(id, time.Minute))
	}
	door := accessv1.Door{Channel: "telegram", Account: "bot"}
	appendAs(t, s.conn, accessv1.Session, accessv1.Granted{Door: door, Who: "telegram:3", By: "local"})
	appendAs(t, s.conn, accessv1.Session, accessv1.Granted{Door: door, Who: "telegram:4", Owner: true, By: "local"})
	if _, kind := s.write(chatSession, "telegram:3", "k1", "yes abcde"); kind != "message.received" {
		t.Errorf("of somebody who was let in: %s", kind)
	}
	if _, kind := alone.write(chatSession, "telegram:4", "k2", "yes abcde"); kind != "message.received" {
		t.Errorf("of an owner who does not join: %s", kind)
	}
	if _, kind := s.write(chatSession, "telegram:4", "k3", "yes abcde"); kind != "permission.answered" {
		t.Errorf("of an owner: %s", kind)
	}
	appendAs(t, s.conn, accessv1.Session, accessv1.Revoked{Door: door, Who: "telegram:4", By: "local"})
	if _, kind := s.write(chatSession, "telegram:4", "k4", "yes fghij"); kind != "message.received" {
		t.Errorf("of who was an owner: %s", kind)
	}
}
