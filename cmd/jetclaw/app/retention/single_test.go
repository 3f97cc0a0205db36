package retention_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/retention"
	"github.com/jetclaw/jetclaw/schemas/accessv1"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/services/turns/ledger"
)

func (h *house) look(s session.ID) *retention.Single {
	h.t.Helper()
	one, err := retention.Look(h.t.Context(), h.bus(), s)
	if err != nil {
		h.t.Fatal(err)
	}
	return one
}

func TestDeleteOne(t *testing.T) {
	h := build(t)
	s, other := h.talked("one", 3, today), h.talked("other", 1, today)
	h.live()
	before, totals := h.journal(), h.totals()
	one := h.look(s)
	if one.Events != 9 || one.Messages != 3 || one.AtWork != "" || one.Gone || !one.Last.Equal(today.UTC()) || !one.First.Before(one.Last) {
		t.Errorf("%+v", one)
	}
	for _, want := range []uint64{9, 0} { // repeating it is in order
		if n, err := one.Delete(t.Context(), h.bus(), "cli"); err != nil || n != want {
			t.Fatalf("%d events went, want %d; %v", n, want, err)
		}
		one = h.look(s)
		if !one.Gone || one.AtWork != "" {
			t.Errorf("%+v", one)
		}
	}
	after := h.journal()
	if len(after[s]) != 1 || !reflect.DeepEqual(after[other], before[other]) {
		t.Errorf("left are %q", after)
	}
	if _, stone := tombstone(t, after[s][0]); stone.By != "cli" || stone.Events != 9 || stone.Archive != "" || len(stone.Spent) == 0 {
		t.Errorf("%+v", stone)
	}
	if len(h.files()) != 0 {
		t.Errorf("archived %q", h.files())
	}
	h.answered(s, "I am back") // and the past of the past counts
	one = h.look(s)
	if _, err := one.Delete(t.Context(), h.bus(), "cli"); err != nil {
		t.Fatal(err)
	}
	now, was := h.totals()[ledger.BySession], totals[ledger.BySession]
	for i, row := range now {
		more := 0
		if row.Session == s { // the answer that came after
			more = 1
		}
		if row.Calls != was[i].Calls+more {
			t.Errorf("accounts %+v\nwere %+v", now, was)
		}
	}
}

// TestDeleteDies between the tombstone and the purge.
func TestDeleteDies(t *testing.T) {
	h := build(t)
	s := h.talked("one", 2, today)
	h.live()
	totals := h.totals()
	one := h.look(s)
	func() {
		defer func() {
			if r := recover(); r != (death{}) {
				t.Errorf("%v", r)
			}
		}()
		_, _ = one.Delete(t.Context(), &dying{Bus: h.bus(), step: "before purge", after: 1 << 30}, "cli")
	}()
	if n := len(h.journal()[s]); n != 7 {
		t.Fatalf("%d events", n)
	}
	one = h.look(s)
	if n, err := one.Delete(t.Context(), h.bus(), "cli"); !one.Gone || n != 6 || err != nil {
		t.Errorf("%+v: %d %v", one, n, err)
	}
	if now := h.totals(); !reflect.DeepEqual(now, totals) {
		t.Errorf("accounts %+v\nwere %+v", now, totals)
	}
}

func TestDeleteRefuses(t *testing.T) {
	h := build(t)
	s := h.talked("one", 1, today)
	h.live()
	one := h.look(s)
	h.say(s, "hold on", today)
	if _, err := one.Delete(t.Context(), h.bus(), "cli"); fault.KindOf(err) != fault.Conflict {
		t.Errorf("with news: %v", err)
	}
	if now := h.look(s); now.AtWork == "" {
		t.Errorf("%+v", now)
	} else if _, err := now.Delete(t.Context(), h.bus(), "cli"); fault.KindOf(err) != fault.Conflict {
		t.Errorf("at work: %v", err)
	}
	for s, want := range map[session.ID]fault.Kind{id(t, "nobody"): fault.NotFound, accessv1.Session: fault.Denied} {
		if _, err := retention.Look(t.Context(), h.bus(), s); fault.KindOf(err) != want || !strings.Contains(err.Error(), string(s)) {
			t.Errorf("%s: %v", s, err)
		}
	}
}
