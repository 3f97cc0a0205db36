package intake

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/bus/bustest"
	"github.com/jetclaw/jetclaw/schemas/accessv1"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/intake/access"
)

var mybot = accessv1.Door{Channel: "telegram", Account: "mybot"} //nolint:gochecknoglobals // a constant

func pairingPolicy() access.Policy {
	return access.Policy{Mode: access.Pairing, Allow: []int64{1}, Groups: map[int64]access.Group{-100: {}}}
}

// newDoors is a bus for intake, for who writes elsewhere in sessions, and for the command line.
func newDoors(t *testing.T) *bustest.Server {
	t.Helper()
	return bustest.New(t, Spec(), bus.Spec{Name: "turns", Appends: []string{"session.deleted", "turn.completed"}},
		bus.Spec{Name: "approvals", Serves: []string{"get", "list"}, Appends: []string{"approval.decided"}},
		bus.Spec{Name: "cli", Asks: []string{"intake.pairing-list", "intake.pairing-approve", "intake.pairing-revoke"}})
}

// startDoors is an intake with two bots and without HTTP.
func startDoors(t *testing.T, srv *bustest.Server) *running {
	t.Helper()
	return startWith(t, srv, func(c *Config) {
		c.HTTP = nil
		c.Doors = map[string]Door{
			"mybot": {Agent: "main", Policy: pairingPolicy()},
			"other": {Agent: "poet", Policy: access.Policy{Mode: access.Open}},
		}
	}, func(*Service) {})
}

func knock(user int64, key string) access.Attempt {
	return access.Attempt{
		Door: mybot, Kind: access.Message, Key: key, Chat: user, ChatKind: "private", User: user, Name: fmt.Sprint("User ", user),
	}
}

func (r *running) mustJudge(a access.Attempt) access.Verdict {
	r.t.Helper()
	v, err := r.judge(r.t.Context(), pairingPolicy(), a)
	if err != nil {
		r.t.Fatal(err)
	}
	return v
}

func TestStrangersAreAskedOnce(t *testing.T) {
	srv := newDoors(t)
	s := startDoors(t, srv)
	if v := s.mustJudge(knock(1, "tg.1")); v.Kind != access.Allow {
		t.Errorf("who is configured: %+v", v)
	}
	group := knock(2, "tg.2")
	group.Chat, group.ChatKind = -200, "group"
	if v := s.mustJudge(group); v.Kind != access.Ignore || v.Reason != "group -200 is not listed" {
		t.Errorf("%+v", v)
	}
	if got := eventsOf(t, srv, accessv1.Session); len(got) != 0 {
		t.Fatalf("something was written down: %v", got)
	}
	before := time.Now()
	v := s.mustJudge(knock(2, "tg.3"))
	if v.Kind != access.Pair || !access.IsCode(v.Request.Code) || !strings.Contains(v.Detail, v.Request.Code) ||
		v.Request.Expires.Before(before.Add(access.CodeLife)) {
		t.Fatalf("%+v", v)
	}
	if v := s.mustJudge(knock(2, "tg.4")); v.Kind != access.Ignore {
		t.Errorf("again: %+v", v)
	}
	if again := s.mustJudge(knock(2, "tg.3")); again.Kind != access.Tell || again.Detail != v.Detail {
		t.Errorf("the same update: %+v", again)
	}
	// Another process knows it, too.
	if err := s.stop(); err != nil {
		t.Fatal(err)
	}
	s = startDoors(t, srv)
	if again := s.mustJudge(knock(2, "tg.3")); again.Kind != access.Tell || again.Detail != v.Detail {
		t.Errorf("the same update after a restart: %+v", again)
	}
	late := knock(2, "tg.5")
	late.Now = v.Request.Expires
	if again := s.mustJudge(late); again.Kind != access.Pair || again.Request.Code == v.Request.Code {
		t.Errorf("after an hour: %+v", again)
	}
	if got := eventsOf(t, srv, accessv1.Session); len(got) != 2 || got[0].Key != "tg.3" {
		t.Errorf("%+v", got)
	}
}

// TestACrowdOfStrangers: two processes judge many strangers at once. No more than three are asked, each with a code of their own.
func TestACrowdOfStrangers(t *testing.T) {
	srv := newDoors(t)
	houses := []*running{startDoors(t, srv), startDoors(t, srv)}
	var (
		mu    sync.Mutex
		codes []string
		wg    sync.WaitGroup
	)
	for i := range 40 {
		wg.Go(func() {
			v, err := houses[i%2].judge(t.Context(), pairingPolicy(), knock(int64(10+i/2), fmt.Sprint("tg.", i)))
			switch {
			case err != nil:
				t.Error(err)
			case v.Kind == access.Pair:
				mu.Lock()
				codes = append(codes, v.Request.Code)
				mu.Unlock()
			case v.Kind != access.Ignore:
				t.Errorf("%+v", v)
			}
		})
	}
	wg.Wait()
	slices.Sort(codes)
	if n := len(slices.Compact(slices.Clone(codes))); n != access.MaxOpen || len(codes) != n {
		t.Errorf("codes %q", codes)
	}
	if got := eventsOf(t, srv, accessv1.Session); len(got) != access.MaxOpen {
		t.Errorf("%d events", len(got))
	}
}

func TestJudgeFailsClosed(t *testing.T) {
	srv := newDoors(t)
	s := startDoors(t, srv)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, a := range []access.Attempt{knock(1, ""), knock(2, "")} {
		if v, err := s.judge(ctx, pairingPolicy(), a); err == nil || v.Kind != access.Ignore || v.Request != nil {
			t.Errorf("%+v, %v", v, err)
		}
	}
	bad := knock(2, "a key with spaces")
	if v := s.mustJudge(bad); v.Kind != access.Pair {
		t.Errorf("%+v", v)
	}
	if v := s.mustJudge(bad); v.Kind != access.Ignore {
		t.Errorf("a key that cannot be kept is none: %+v", v)
	}
}

func TestStrangersAndAFullJournal(t *testing.T) {
	srv := newDoors(t)
	s := startDoors(t, srv)
	turns := srv.Connect(t, "turns")
	for range 20 {
		appendAs(t, turns, theirs, turnv1.Completed{})
	}
	nearlyFill(t, srv, s)
	if v := s.mustJudge(knock(2, "")); v.Kind != access.Ignore || !strings.Contains(v.Reason, "takes no new messages") || v.Detail != "" {
		t.Errorf("%+v", v)
	}
	if v := s.mustJudge(knock(1, "")); v.Kind != access.Allow {
		t.Errorf("%+v", v)
	}
}

func TestMovedGroupsAreWrittenDownOnce(t *testing.T) {
	srv := newDoors(t)
	s := startDoors(t, srv)
	other := accessv1.Door{Channel: "telegram", Account: "other"}
	for _, m := range []accessv1.Moved{
		{Door: mybot, From: "-100", To: "-300"},
		{Door: mybot, From: "-100", To: "-300"},
		{Door: mybot, From: "-300", To: "-400"},
		{Door: mybot, From: "-400", To: "-100"}, // a circle
		{Door: mybot, From: "-200", To: "-500"}, // not listed
		{Door: other, From: "-100", To: "-300"}, // not listed there
		{Door: accessv1.Door{Channel: "telegram", Account: "never"}, From: "-100", To: "-300"},
		{Door: accessv1.Door{Channel: "http", Account: "mybot"}, From: "-100", To: "-600"},
	} {
		if err := s.moved(t.Context(), m); err != nil {
			t.Errorf("%+v: %v", m, err)
		}
	}
	if got := history(t, srv, accessv1.Session); !slices.Equal(got, []string{"access.moved.v1", "access.moved.v1"}) {
		t.Errorf("%v", got)
	}
	a := knock(7, "")
	a.Chat, a.ChatKind = -400, "supergroup"
	if v := s.mustJudge(a); v.Kind != access.Allow || v.Chat != -100 {
		t.Errorf("%+v", v)
	}
}

func TestDoorsNeedAnAgent(t *testing.T) {
	srv := newDoors(t)
	_, err := New(Config{Conn: srv.Connect(t, "intake"), Log: srv.Admin().Log(), Doors: map[string]Door{"mybot": {}}})
	if err == nil || !strings.Contains(err.Error(), "mybot has no agent") {
		t.Errorf("%v", err)
	}
}
