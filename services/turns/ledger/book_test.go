package ledger_test

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/turns/ledger"
)

var noon = time.Date(2026, 9, 18, 12, 0, 0, 0, time.UTC)

const (
	ann  session.ID = "main.terminal.local.ann"
	bob  session.ID = "main.telegram.mybot.7"
	work session.ID = "work.http.laptop.1"
)

// history numbers events from cursor 1 on.
func history(evs ...envelope.Event) []envelope.Event {
	for i := range evs {
		evs[i].Cursor = uint64(i + 1)
	}
	return evs
}

func at(s session.ID, t time.Time, body envelope.Body) envelope.Event {
	return envelope.Event{Session: s, Time: t, Body: body}
}

func outcome(model string, u turnv1.Usage) turnv1.Outcome {
	return turnv1.Outcome{Model: model, Usage: u}
}

func book(evs []envelope.Event) *ledger.Book {
	b := &ledger.Book{}
	for _, ev := range evs {
		b.Add(ev)
	}
	return b
}

func TestWhatCounts(t *testing.T) {
	priced := turnv1.Usage{Input: 10, Output: 2, Cost: 500, Priced: true}
	plain := turnv1.Usage{Input: 3, Output: 4}
	for _, c := range []struct {
		name string
		body envelope.Body
		want ledger.Row
	}{
		{"an answer", turnv1.Completed{Outcome: outcome("a/m", priced)}, ledger.Row{Calls: 1, Input: 10, Output: 2, Cost: 500}},
		{"calls of tools", turnv1.Stepped{Outcome: outcome("a/m", plain)}, ledger.Row{Calls: 1, Input: 3, Output: 4, Unpriced: 7}},
		{"a failure of a model", turnv1.Failed{Outcome: outcome("a/m", turnv1.Usage{})}, ledger.Row{Calls: 1}},
		{"a failure without a model", turnv1.Failed{Cause: turnv1.OverBudget}, ledger.Row{}},
		{"a failure without a model, but with tokens", turnv1.Failed{Outcome: outcome("", plain)}, ledger.Row{}},
		{"too long", turnv1.Overflowed{Outcome: outcome("a/m", plain)}, ledger.Row{Calls: 1, Input: 3, Output: 4, Unpriced: 7}},
		{"a summary", turnv1.SessionCompacted{Model: "a/m", Usage: priced}, ledger.Row{Calls: 1, Input: 10, Output: 2, Cost: 500}},
		{"no summary", turnv1.CompactionFailed{Model: "a/m", Usage: plain}, ledger.Row{Calls: 1, Input: 3, Output: 4, Unpriced: 7}},
		{"no summary, nobody was asked", turnv1.CompactionFailed{}, ledger.Row{}},
		{"an answer without a count", turnv1.Completed{Outcome: outcome("a/m", turnv1.Usage{})}, ledger.Row{Calls: 1, Silent: 1}},
		{"a free one without a count", turnv1.Completed{Outcome: outcome("a/m", turnv1.Usage{Priced: true})}, ledger.Row{Calls: 1}},
		{"a cost that was not priced", turnv1.Completed{Outcome: outcome("a/m", turnv1.Usage{Input: 1, Cost: 9})}, ledger.Row{Calls: 1, Input: 1, Unpriced: 1}},
		{"a message", messagev1.Received{Text: "hi"}, ledger.Row{}},
		{"a tombstone", turnv1.SessionDeleted{Spent: []turnv1.Spend{{Day: "2026-09-17", Model: "b/m", Calls: 2, Input: 5, Output: 6, Cost: 7, Unpriced: 8}}}, ledger.Row{Calls: 2, Input: 5, Output: 6, Cost: 7, Unpriced: 8}},
	} {
		if got := book(history(at(ann, noon, c.body))).Rows(ledger.Total); len(got) != 1 || got[0] != c.want {
			t.Errorf("%s: got %+v, want %+v", c.name, got, c.want)
		}
	}
}

func TestRows(t *testing.T) {
	one := func(cost int64) turnv1.Usage { return turnv1.Usage{Input: 1, Output: 1, Cost: cost, Priced: true} }
	b := book(history(
		at(bob, noon, turnv1.Completed{Outcome: outcome("b/m", one(1))}),
		at(ann, noon, turnv1.Completed{Outcome: outcome("a/m", one(10))}),
		at(work, noon.Add(12*time.Hour), turnv1.Completed{Outcome: outcome("a/m", one(100))}),
		at(ann, noon.Add(12*time.Hour).In(time.FixedZone("", -8*3600)), turnv1.Completed{Outcome: outcome("b/m", turnv1.Usage{Input: 5})}),
	))
	for _, c := range []struct {
		by   ledger.By
		want string
	}{
		{ledger.ByDay, "2026-09-18 11 0, 2026-09-19 100 5, "},
		{ledger.ByModel, "a/m 110 0, b/m 1 5, "},
		{ledger.BySession, "main main.telegram.mybot.7 1 0, main main.terminal.local.ann 10 5, work work.http.laptop.1 100 0, "},
		{ledger.ByAgent, "main 11 5, work 100 0, "},
		{ledger.Total, "111 5, "},
	} {
		got := ""
		for _, r := range b.Rows(c.by) {
			for _, name := range []string{r.Day, r.Agent, string(r.Session), r.Model} {
				if name != "" {
					got += name + " "
				}
			}
			got += fmt.Sprint(r.Cost, " ", r.Unpriced, ", ")
		}
		if got != c.want {
			t.Errorf("by %s: got %q, want %q", c.by, got, c.want)
		}
	}
	if r := b.Day("2026-09-19", ""); r.Cost != 100 || r.Calls != 2 {
		t.Errorf("the second day: %+v", r)
	}
	if r := b.Day("2026-09-19", "main"); r.Cost != 0 || r.Unpriced != 5 {
		t.Errorf("the second day of main: %+v", r)
	}
	if got := b.Unpriced("2026-09-19", ""); !reflect.DeepEqual(got, []string{"b/m"}) {
		t.Errorf("unpriced: %v", got)
	}
	if got := b.Unpriced("2026-09-19", "work"); len(got) != 0 {
		t.Errorf("unpriced of work: %v", got)
	}
	b.Forget("2026-09-19")
	if got := b.Rows(ledger.ByDay); len(got) != 1 || got[0].Day != "2026-09-19" {
		t.Errorf("after forgetting: %+v", got)
	}
}

// A book that saw the calls and one that only sees the tombstone agree.
func TestATombstoneIsTheWholeOfASession(t *testing.T) {
	calls := history(
		at(ann, noon, turnv1.Completed{Outcome: outcome("a/m", turnv1.Usage{Input: 1, Cost: 2, Priced: true})}),
		at(bob, noon, turnv1.Completed{Outcome: outcome("a/m", turnv1.Usage{Input: 3})}),
		at(ann, noon, turnv1.Stepped{Outcome: outcome("b/m", turnv1.Usage{Output: 4})}),
		at(ann, noon.Add(24*time.Hour), turnv1.Completed{Outcome: outcome("a/m", turnv1.Usage{Input: 5})}),
	)
	seen := book(calls)
	grave := at(ann, noon.Add(25*time.Hour), turnv1.SessionDeleted{Spent: seen.Spent(ann)})
	grave.Cursor = 5
	before := seen.Rows(ledger.ByDay)
	seen.Add(grave)
	if got := seen.Rows(ledger.ByDay); !reflect.DeepEqual(got, before) {
		t.Errorf("the tombstone changed %+v to %+v", before, got)
	}
	late := book([]envelope.Event{calls[1], grave})
	if got := late.Rows(ledger.ByModel); !reflect.DeepEqual(got, seen.Rows(ledger.ByModel)) {
		t.Errorf("who comes later has %+v, not %+v", got, seen.Rows(ledger.ByModel))
	}
	if got := late.Spent(ann); !reflect.DeepEqual(got, seen.Spent(ann)) || len(got) != 3 {
		t.Errorf("spent %+v", got)
	}
	silent := history(
		at(ann, noon, turnv1.Completed{Outcome: outcome("a/m", turnv1.Usage{})}),
		at(ann, noon, turnv1.SessionDeleted{Spent: []turnv1.Spend{{Day: ledger.Day(noon), Model: "a/m", Calls: 1, Silent: 1}}}),
	)
	if got := book(silent).Rows(ledger.Total); got[0].Silent != 1 {
		t.Errorf("an answer without a count was forgotten: %+v", got)
	}
	if got := book(append(silent[:1:1], envelope.Event{Session: ann, Cursor: 2, Body: turnv1.SessionDeleted{}})).Rows(ledger.Total); got[0].Calls != 1 {
		t.Errorf("an empty tombstone took the call away: %+v", got)
	}
}

func TestPricesThatAreKnownLater(t *testing.T) {
	b := &ledger.Book{Price: func(_ string, u turnv1.Usage) turnv1.Usage {
		u.Cost, u.Priced = 7, true
		return u
	}}
	for _, ev := range history(
		at(ann, noon, turnv1.Completed{Outcome: outcome("a/m", turnv1.Usage{Input: 5})}),
		at(ann, noon, turnv1.Completed{Outcome: outcome("a/m", turnv1.Usage{Input: 5, Cost: 100, Priced: true})}),
	) {
		b.Add(ev)
	}
	if got := b.Rows(ledger.Total)[0]; got.Cost != 107 || got.Unpriced != 0 {
		t.Errorf("got %+v", got)
	}
}

func anyHistory(t *rapid.T) []envelope.Event {
	usage := rapid.Custom(func(t *rapid.T) turnv1.Usage {
		return turnv1.Usage{
			Input: rapid.IntRange(0, 50).Draw(t, "in"), Output: rapid.IntRange(0, 50).Draw(t, "out"),
			Cost: rapid.Int64Range(0, 99).Draw(t, "cost"), Priced: rapid.Bool().Draw(t, "priced"),
		}
	})
	ev := rapid.Custom(func(t *rapid.T) envelope.Event {
		s := rapid.SampledFrom([]session.ID{ann, bob, work}).Draw(t, "session")
		o := outcome(rapid.SampledFrom([]string{"", "a/m", "b/m"}).Draw(t, "model"), usage.Draw(t, "usage"))
		spent := turnv1.Spend{
			Day: "2026-09-17", Model: o.Model, Calls: rapid.IntRange(1, 9).Draw(t, "calls"),
			Input: o.Usage.Input, Output: o.Usage.Output, Cost: o.Usage.Cost,
		}
		body := rapid.SampledFrom([]envelope.Body{
			turnv1.Completed{Outcome: o},
			turnv1.Stepped{Outcome: o},
			turnv1.Failed{Outcome: o},
			turnv1.Overflowed{Outcome: o},
			turnv1.SessionCompacted{Model: o.Model, Usage: o.Usage},
			turnv1.CompactionFailed{Model: o.Model, Usage: o.Usage},
			messagev1.Received{},
			turnv1.SessionDeleted{Spent: []turnv1.Spend{spent}},
			turnv1.SessionDeleted{},
		}).Draw(t, "body")
		return at(s, noon.Add(time.Duration(rapid.IntRange(-30, 30).Draw(t, "hours"))*time.Hour), body)
	})
	return history(rapid.SliceOfN(ev, 0, 30).Draw(t, "events")...)
}

// Whatever accounts are grouped by, the totals are the same; what is read twice, or in parts that overlap, counts once.
func TestBooksAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		evs := anyHistory(t)
		b := book(evs)
		total := b.Rows(ledger.Total)[0]
		for _, by := range ledger.Groupings() {
			sum := ledger.Row{}
			for _, r := range b.Rows(by) {
				sum.Calls += r.Calls
				sum.Input += r.Input
				sum.Output += r.Output
				sum.Cost += r.Cost
				sum.Unpriced += r.Unpriced
				sum.Silent += r.Silent
			}
			if sum != total {
				t.Fatalf("by %s: %+v, in all %+v", by, sum, total)
			}
		}
		for _, day := range b.Rows(ledger.ByDay) {
			if got := b.Day(day.Day, ""); got != day {
				t.Fatalf("the day is %+v, and %+v in the list", got, day)
			}
			if main, other := b.Day(day.Day, "main"), b.Day(day.Day, "work"); main.Calls+other.Calls != day.Calls || main.Cost+other.Cost != day.Cost {
				t.Fatalf("%+v and %+v are not %+v", main, other, day)
			}
		}
		cut := rapid.IntRange(0, len(evs)).Draw(t, "cut")
		again := book(evs[:cut])
		for _, ev := range evs[rapid.IntRange(0, cut).Draw(t, "from"):] {
			again.Add(ev)
		}
		for _, by := range append(ledger.Groupings(), ledger.Total) {
			if !reflect.DeepEqual(again.Rows(by), b.Rows(by)) {
				t.Fatalf("in parts, by %s: %+v, at once %+v", by, again.Rows(by), b.Rows(by))
			}
		}
	})
}

func TestMoney(t *testing.T) {
	for want, r := range map[string]ledger.Row{
		"$0.12":                               {Calls: 1, Input: 5, Cost: 120_000_000},
		"$0.00":                               {Calls: 1, Input: 5},
		"-":                                   {Calls: 1},
		"$1.00 + 5 tokens of unknown price":   {Calls: 2, Input: 5, Cost: 1_000_000_000, Unpriced: 5},
		"unknown":                             {Calls: 1, Input: 5, Unpriced: 5},
		"$0.12 + 300 tokens of unknown price": {Calls: 2, Input: 400, Cost: 120_000_000, Unpriced: 300},
		"$0.00 + 5 tokens of unknown price":   {Calls: 2, Input: 5, Output: 3, Unpriced: 5},
		"$0.12 + 2 answers without a count of tokens": {Calls: 3, Input: 5, Cost: 120_000_000, Silent: 2},
	} {
		if got := r.Money(); got != want {
			t.Errorf("%+v: got %s, want %s", r, got, want)
		}
	}
	silent := ledger.Row{Calls: 1, Silent: 1}
	if got := silent.Money(); got != "unknown" {
		t.Errorf("without a count: %s", got)
	}
}
