package router

import (
	"slices"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/services/turns/model"
)

var noon = time.Date(2026, 9, 18, 12, 0, 0, 0, time.UTC)

func TestWhatAFailureDoes(t *testing.T) {
	once := hold{Fails: 1, At: noon.Add(-time.Minute)}
	for _, c := range []struct {
		name    string
		before  hold
		class   model.Class
		after   time.Duration
		until   time.Duration // from now; 0: none
		reason  reason
		fails   int
		changes bool
	}{
		{"a first failure", hold{}, model.Passing, 0, 0, "", 1, true},
		{"a second in a row", once, model.Passing, 0, 15 * time.Second, failing, 2, true},
		{"a third", hold{Fails: 2}, model.Passing, 0, 30 * time.Second, failing, 3, true},
		{"a tenth", hold{Fails: 9}, model.Passing, 0, 5 * time.Minute, failing, 10, true},
		{"a thousandth", hold{Fails: 999}, model.Passing, 0, 5 * time.Minute, failing, 1000, true},
		{"asked to wait", hold{}, model.Passing, 20 * time.Second, 20 * time.Second, asked, 0, true},
		{"asked to wait for a day", once, model.Passing, 24 * time.Hour, time.Hour, asked, 1, true},
		{"fails while asked to wait", hold{Until: noon.Add(time.Hour), Reason: asked, Fails: 4}, model.Passing, 0, time.Hour, asked, 5, true},
		{"fails after it was asked to wait", hold{Until: noon.Add(-1), Reason: asked, Fails: 1}, model.Passing, 0, 15 * time.Second, failing, 2, true},
		{"not there", hold{}, model.Missing, 0, 5 * time.Minute, missing, 0, true},
		{"the key", hold{}, model.Denied, time.Hour, 0, "", 0, false},
		{"refused", once, model.Invalid, time.Hour, 0, "", 1, false},
		{"garbage", once, model.Garbage, time.Hour, 0, "", 1, false},
		{"filtered", hold{}, model.Filtered, time.Hour, 0, "", 0, false},
		{"too long", hold{}, model.Overflow, time.Hour, 0, "", 0, false},
	} {
		got, changes := c.before.after(c.class, c.after, noon, noon)
		until := time.Duration(0)
		if got.on(noon) {
			until = got.Until.Sub(noon)
		}
		if until != c.until || got.Reason != c.reason || got.Fails != c.fails || changes != c.changes {
			t.Errorf("%s: got %+v, %t", c.name, got, changes)
		}
		if changes && !got.At.Equal(noon) {
			t.Errorf("%s: found out at %s", c.name, got.At)
		}
	}
}

// Calls that fail side by side are one failure; an answer to a call that began before a hold does not end it.
func TestCallsSideBySide(t *testing.T) {
	h, _ := hold{}.after(model.Passing, 0, noon, noon.Add(time.Second))
	h, changes := h.after(model.Passing, 0, noon, noon.Add(2*time.Second))
	if changes || h.Fails != 1 {
		t.Errorf("two calls of one moment count as %d failures", h.Fails)
	}
	h, _ = h.after(model.Passing, 0, noon.Add(3*time.Second), noon.Add(4*time.Second))
	if !h.on(noon.Add(4 * time.Second)) {
		t.Errorf("no hold after the next failure: %+v", h)
	}
	if _, changes := h.answered(noon.Add(time.Second), noon.Add(5*time.Second)); changes {
		t.Error("an old answer ended the hold")
	}
	if got, changes := h.answered(noon.Add(30*time.Second), noon.Add(31*time.Second)); !changes || !got.good() {
		t.Errorf("an answer left %+v", got)
	}
	if _, changes := (hold{}).answered(noon, noon); changes {
		t.Error("every answer writes")
	}
}

func TestPick(t *testing.T) {
	free := standing{}
	was := standing{done: true}
	none := standing{absent: true}
	in := func(d time.Duration, r reason) standing { return standing{own: hold{Until: noon.Add(d), Reason: r}} }
	of := func(d time.Duration) standing { return standing{provider: hold{Until: noon.Add(d), Reason: denied}} }
	both := in(time.Second, asked)
	both.provider = of(time.Minute).provider
	for _, c := range []struct {
		name  string
		chain []standing
		next  int
		more  bool
	}{
		{"nobody", nil, -1, false},
		{"one", []standing{free}, 0, false},
		{"the first", []standing{free, free}, 0, true},
		{"the next", []standing{was, free, free}, 1, true},
		{"the last", []standing{was, was, free}, 2, false},
		{"all were", []standing{was, was}, -1, false},
		{"one is on hold", []standing{in(1, failing), free}, 1, false},
		{"a hold is over", []standing{in(0, failing), free}, 0, true},
		{"the others are on hold", []standing{free, in(1, failing), of(1)}, 0, false},
		{"a provider is on hold", []standing{of(time.Minute), free}, 1, false},
		{"absent", []standing{none, free}, 1, false},
		{"all absent", []standing{none, none}, -1, false},
		{"absent, and a hold", []standing{none, in(1, asked)}, -1, false},
		{"absent, and denied", []standing{none, of(1)}, 1, false},
		{"the rest is on hold", []standing{was, in(1, failing)}, -1, false},
		{"all on hold, the first to end", []standing{in(9, failing), in(5, missing), in(7, failing)}, 1, false},
		{"all on hold, not who asked for it", []standing{in(1, asked), in(9, failing), of(2)}, 1, false},
		{"all asked", []standing{in(1, asked), in(2, asked)}, -1, false},
		{"asked and denied", []standing{in(1, asked), of(2)}, -1, false},
		{"alone, failing", []standing{in(1, failing)}, 0, false},
		{"alone, missing", []standing{in(1, missing)}, 0, false},
		{"alone, denied", []standing{of(1)}, 0, false},
		{"alone, asked", []standing{in(1, asked)}, -1, false},
		{"alone, asked and denied", []standing{both}, -1, false},
	} {
		if next, more := pick(slices.Clone(c.chain), noon); next != c.next || more != c.more {
			t.Errorf("%s: got %d, %t, want %d, %t", c.name, next, more, c.next, c.more)
		}
	}
}
