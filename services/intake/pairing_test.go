package intake

import (
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/accessv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/noticev1"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/intake/access"
)

// operator is the command line.
type operator struct {
	t    *testing.T
	conn *bus.Conn
}

func ask[T any](o operator, verb string, r any) (T, error) {
	o.t.Helper()
	return bus.Ask[T](within(o.t, 10*time.Second), o.conn, "intake", verb, r)
}

func (o operator) list() PairingList {
	o.t.Helper()
	l, err := ask[PairingList](o, "pairing-list", PairingListRequest{})
	if err != nil || l.Requests == nil || l.People == nil {
		o.t.Fatalf("%+v, %v", l, err)
	}
	return l
}

func (o operator) approve(code string, owner bool) PairingApproved {
	o.t.Helper()
	a, err := ask[PairingApproved](o, "pairing-approve", PairingApproveRequest{Code: code, Owner: owner})
	if err != nil {
		o.t.Fatal(err)
	}
	return a
}

// notices are the texts that were posted in a session.
func notices(list []envelope.Event) (out []string) {
	for _, e := range list {
		if n, ok := e.Body.(noticev1.Posted); ok {
			out = append(out, n.Text)
		}
	}
	return out
}

const theirs = session.ID("main.telegram.mybot.2")

func TestApprove(t *testing.T) {
	srv := newDoors(t)
	s := startDoors(t, srv)
	o := operator{t, srv.Connect(t, "cli")}
	if l := o.list(); len(l.Requests)+len(l.People) != 0 {
		t.Errorf("%+v", l)
	}
	code := s.mustJudge(knock(2, "tg.1")).Request.Code
	s.mustJudge(knock(3, "tg.2"))
	if l := o.list(); len(l.Requests) != 2 || l.Requests[0].Code != code || l.Requests[0].Who != "telegram:2" || l.Requests[0].Name != "User 2" {
		t.Errorf("%+v", l)
	}
	a := o.approve(" "+strings.ToLower(code)+"\n", false)
	if a.Who != "telegram:2" || a.Door != mybot || a.Name != "User 2" || a.Owner || a.Already || !a.Told || a.Note != "" || a.By != "local" {
		t.Errorf("%+v", a)
	}
	if v := s.mustJudge(knock(2, "tg.3")); v.Kind != access.Allow {
		t.Errorf("%+v", v)
	}
	if v := s.mustJudge(knock(3, "tg.4")); v.Kind != access.Ignore {
		t.Errorf("somebody else: %+v", v)
	}
	if again := o.approve(code, false); !again.Already || !again.Told || again.Person != a.Person {
		t.Errorf("%+v, first %+v", again, a)
	}
	if owner := o.approve(code, true); owner.Already || !owner.Owner || owner.Cursor != a.Cursor {
		t.Errorf("%+v", owner)
	}
	if again := o.approve(code, false); !again.Already || !again.Owner {
		t.Errorf("%+v", again)
	}
	if got := notices(eventsOf(t, srv, theirs)); len(got) != 1 || got[0] != welcomeText {
		t.Errorf("told %q", got)
	}
	if l := o.list(); len(l.Requests) != 1 || len(l.People) != 1 || !l.People[0].Owner || l.People[0].Who != "telegram:2" {
		t.Errorf("%+v", l)
	}
}

func TestApproveRefuses(t *testing.T) {
	srv := newDoors(t)
	s := startDoors(t, srv)
	o := operator{t, srv.Connect(t, "cli")}
	old := knock(2, "tg.1")
	old.Now = time.Now().Add(-access.CodeLife)
	expired := s.mustJudge(old).Request.Code
	for code, want := range map[string]string{
		expired:    "nobody waits", // its request was over when it was written down
		"ZZZZZZZZ": `nobody waits with the code "ZZZZZZZZ": a code is good for an hour`,
		"":         "nobody waits",
	} {
		_, err := ask[PairingApproved](o, "pairing-approve", PairingApproveRequest{Code: code})
		if fault.KindOf(err) != fault.NotFound || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", code, err)
		}
	}
	if _, err := ask[PairingApproved](o, "pairing-approve", map[string]any{"code": expired, "by": "me"}); fault.KindOf(err) != fault.Invalid {
		t.Errorf("%v", err)
	}
	if v := s.mustJudge(knock(2, "tg.2")); v.Kind != access.Pair {
		t.Errorf("%+v", v)
	}
	if got := history(t, srv, accessv1.Session); len(got) != 2 {
		t.Errorf("%v", got)
	}
}

func TestGrantOf(t *testing.T) {
	end := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	st := access.State{}.Apply(envelope.Event{Body: accessv1.Requested{Door: mybot, Who: "telegram:2", Code: "EEEEEEEE", Expires: end}})
	if g, err := grantOf(st, "eeeeeeee", end.Add(-1)); err != nil || g.Who != "telegram:2" || g.Door != mybot || g.By != "local" {
		t.Errorf("%+v, %v", g, err)
	}
	if _, err := grantOf(st, "eeeeeeee", end); fault.KindOf(err) != fault.NotFound || !strings.Contains(err.Error(), "the code EEEEEEEE has expired: a code is good for an hour") {
		t.Errorf("%v", err)
	}
	st = st.Apply(envelope.Event{Time: end, Body: accessv1.Granted{Door: mybot, Who: "telegram:2"}})
	if g, err := grantOf(st, "EEEEEEEE", end.Add(time.Hour)); err != nil || g.Who != "telegram:2" {
		t.Errorf("approved before: %+v, %v", g, err)
	}
}

// TestApproveAtOnce: whoever approves at the same time, at whatever process, lets in once and tells once.
func TestApproveAtOnce(t *testing.T) {
	srv := newDoors(t)
	s := startDoors(t, srv)
	startDoors(t, srv)
	code := s.mustJudge(knock(2, "tg.1")).Request.Code
	o := operator{t, srv.Connect(t, "cli")}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if a := o.approve(code, true); !a.Told || !a.Owner || a.Who != "telegram:2" {
				t.Errorf("%+v", a)
			}
		})
	}
	wg.Wait()
	if got := history(t, srv, accessv1.Session); len(got) != 2 || got[1] != "access.granted.v1" {
		t.Errorf("%v", got)
	}
	if got := notices(eventsOf(t, srv, theirs)); len(got) != 1 {
		t.Errorf("told %q", got)
	}
}

// TestApproveDiedInBetween: who was let in but not told is told when the code is approved again.
func TestApproveDiedInBetween(t *testing.T) {
	srv := newDoors(t)
	s := startDoors(t, srv)
	code := s.mustJudge(knock(2, "tg.1")).Request.Code
	if _, err := s.Service.approve(t.Context(), code, false); err != nil {
		t.Fatal(err)
	}
	appendAs(t, srv.Connect(t, "turns"), theirs, turnv1.Completed{})
	o := operator{t, srv.Connect(t, "cli")}
	for range 2 {
		if a := o.approve(code, false); !a.Already || !a.Told {
			t.Errorf("%+v", a)
		}
	}
	if got := notices(eventsOf(t, srv, theirs)); len(got) != 1 {
		t.Errorf("told %q", got)
	}
}

func TestWhoCannotBeTold(t *testing.T) {
	srv := newDoors(t)
	s := startDoors(t, srv)
	o := operator{t, srv.Connect(t, "cli")}
	turns := srv.Connect(t, "turns")
	deleted := s.mustJudge(knock(2, "tg.1")).Request.Code
	appendAs(t, turns, theirs, turnv1.Completed{})
	appendAs(t, turns, theirs, turnv1.SessionDeleted{})
	if a := o.approve(deleted, false); a.Told || !strings.Contains(a.Note, "was deleted") {
		t.Errorf("%+v", a)
	}
	gone := knock(2, "tg.2")
	gone.Door.Account = "gone"
	if a := o.approve(s.mustJudge(gone).Request.Code, false); a.Told || !strings.Contains(a.Note, "no bot gone") {
		t.Errorf("%+v", a)
	}
	if v := s.mustJudge(knock(2, "tg.3")); v.Kind != access.Allow {
		t.Errorf("%+v", v)
	}
}

func TestRevoke(t *testing.T) {
	srv := newDoors(t)
	s := startDoors(t, srv)
	o := operator{t, srv.Connect(t, "cli")}
	revoke := func(who, account string) (PairingRevoked, error) {
		return ask[PairingRevoked](o, "pairing-revoke", PairingRevokeRequest{Who: who, Account: account})
	}
	other := knock(2, "tg.1")
	other.Door.Account = "other"
	o.approve(s.mustJudge(knock(2, "tg.2")).Request.Code, true)
	o.approve(s.mustJudge(other).Request.Code, false)
	third := s.mustJudge(knock(3, "tg.3")).Request.Code
	for who, want := range map[[2]string]struct {
		kind fault.Kind
		text string
	}{
		{"", ""}:            {fault.Invalid, "want the number of a person"},
		{"ada", ""}:         {fault.Invalid, "want the number of a person"},
		{"-100", ""}:        {fault.Invalid, "want the number of a person"},
		{"02", ""}:          {fault.Invalid, "want the number of a person"},
		{"http:app", ""}:    {fault.Invalid, "want the number of a person"},
		{"4", ""}:           {fault.NotFound, "telegram:4 was not let in by a code: the configuration lets them in at other"},
		{"1", "mybot"}:      {fault.NotFound, "telegram:1 was not let in by a code at the bot mybot: the configuration lets them in at mybot"},
		{"4", "mybot"}:      {fault.NotFound, "telegram:4 was not let in at the bot mybot"},
		{"telegram:2", "x"}: {fault.NotFound, "telegram:2 was not let in at the bot x"},
	} {
		if _, err := revoke(who[0], who[1]); fault.KindOf(err) != want.kind || !strings.Contains(err.Error(), want.text) {
			t.Errorf("%v: %v", who, err)
		}
	}
	r, err := revoke("telegram:2", "mybot")
	if err != nil || r.Who != "telegram:2" || len(r.Doors) != 1 || r.Doors[0] != mybot || !r.Owner || len(r.Still) != 0 {
		t.Errorf("%+v, %v", r, err)
	}
	if v := s.mustJudge(knock(2, "tg.4")); v.Kind != access.Pair {
		t.Errorf("%+v", v)
	}
	// Everywhere: where they are in, and where they have asked again.
	if r, err := revoke("2", ""); err != nil || len(r.Doors) != 2 || r.Owner || len(r.Still) != 1 || r.Still[0] != "other" {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err := revoke("3", ""); err != nil || len(r.Doors) != 1 {
		t.Errorf("%+v, %v", r, err)
	}
	if _, err := ask[PairingApproved](o, "pairing-approve", PairingApproveRequest{Code: third}); fault.KindOf(err) != fault.NotFound {
		t.Errorf("the code of somebody who was sent away: %v", err)
	}
	if l := o.list(); len(l.Requests)+len(l.People) != 0 {
		t.Errorf("%+v", l)
	}
}
