package price_test

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/turns/price"
)

const list = `{"sources": ["x"], "models": [
	{"vendor": "openai", "model": "gpt-4o", "as_of": "2026-01-02", "context": 128000, "input": 2.5, "output": 10, "cache_read": 1.25},
	{"vendor": "openai", "model": "gpt-4o-2024-05-13", "as_of": "2026-01-02", "context": 128000, "input": 5, "output": 15},
	{"vendor": "openai", "model": "gpt-4o-mini", "as_of": "2026-01-02", "input": 0.15, "output": 0.6, "cache_read": 0.075},
	{"vendor": "openai", "model": "long", "as_of": "2026-01-02", "input": 1, "output": 2, "above": {"tokens": 1000, "input": 2, "output": 3}},
	{"vendor": "openai", "model": "vague", "as_of": "2026-01-02", "input": 1, "output": 2, "above": {"tokens": 1000}},
	{"vendor": "openai", "model": "ft:*", "as_of": "2026-01-02", "input": 7, "output": 7},
	{"vendor": "anthropic", "model": "claude-sonnet-4-5", "as_of": "2026-01-02", "context": 200000,
		"input": 3, "output": 15, "cache_read": 0.3, "cache_write": 3.75}
]}`

func table(t testing.TB) price.Table {
	t.Helper()
	tab, err := price.Parse([]byte(list))
	if err != nil {
		t.Fatal(err)
	}
	return tab
}

func TestOf(t *testing.T) {
	tab := table(t)
	for _, c := range []struct {
		ref, vendor string
		input       int64 // -1: unknown
	}{
		{"openai/gpt-4o", "openai", 2_500_000},
		{"mine/gpt-4o", "openai", 2_500_000},
		{"openai/gpt-4o-2024-08-06", "openai", 2_500_000},
		{"openai/gpt-4o-2024-05-13", "openai", 5_000_000},
		{"openai/gpt-4o-latest", "openai", 2_500_000},
		{"openai/gpt-4o-mini", "openai", 150_000},
		{"openai/gpt-4o-mini-2024-07-18", "openai", 150_000},
		{"openai/gpt-4o-audio-preview", "openai", -1},
		{"openai/gpt-4o-2024-08-06-x", "openai", -1},
		{"openai/gpt-4o-2024-08-0x", "openai", -1},
		{"openai/gpt-4", "openai", -1},
		{"openai/xgpt-4o", "openai", -1},
		{"openai/ft:gpt-4o:acme::x", "openai", 7_000_000},
		{"claude/claude-sonnet-4-5-20250929", "anthropic", 3_000_000},
		{"claude/claude-sonnet-4-5@20250929", "anthropic", 3_000_000},
		{"claude/claude-sonnet-4-5-2", "anthropic", -1},
		{"claude/claude-sonnet-4", "anthropic", -1},
		{"claude/gpt-4o", "anthropic", -1},
		{"local/gpt-4o", "", -1}, // somebody else's server may call its model as it likes
		{"offline/echo", price.Offline, 0},
	} {
		got, ok := tab.Of(c.ref, c.vendor)
		if ok != (c.input >= 0) || ok && got.Input != c.input {
			t.Errorf("%s of %q: got %+v, %t, want %d", c.ref, c.vendor, got, ok, c.input)
		}
	}
}

func TestUsersWin(t *testing.T) {
	free, dear := price.Price{}, price.Price{Input: 9, Output: 9}
	tab := table(t).With([]price.UserPrice{
		{Model: "local/*", Price: &free},
		{Model: "*/gpt-4o", Price: &price.Price{Input: 1}},
		{Model: "openai/gpt-4o", Price: &dear},
		{Model: "openai/gpt-4o-mini", Window: 5},
		{Model: "*a*c*e", Price: &price.Price{Input: 4}, Window: 7},
	})
	for _, c := range []struct {
		ref    string
		input  int64
		window int
	}{
		{"openai/gpt-4o", 9, 128000},
		{"openai/gpt-4o-2024-08-06", 9, 128000},
		{"other/gpt-4o", 1, 128000},
		{"openai/gpt-4o-mini", 150_000, 5},
		{"local/anything/at-all", 0, 0},
		{"x/aabcdde", 4, 7},
	} {
		p, ok := tab.Of(c.ref, "openai")
		if w := tab.Window(c.ref, "openai"); !ok || p.Input != c.input || w != c.window {
			t.Errorf("%s: got %d, %t, window %d, want %d and %d", c.ref, p.Input, ok, w, c.input, c.window)
		}
	}
	if u := tab.Charge("local/m", "", turnv1.Usage{Input: 5}); !u.Priced || u.Cost != 0 {
		t.Errorf("what the user says is free is not: %+v", u)
	}
	tiny := price.Table{}.With([]price.UserPrice{{Model: "*", Price: &price.Price{Input: 1}}})
	if u := tiny.Charge("a/m", "", turnv1.Usage{Input: 1}); u.Cost != 1 {
		t.Errorf("a part of a billionth is %d", u.Cost)
	}
	again := tab.With([]price.UserPrice{{Model: "openai/gpt-4o", Price: &free}})
	if p, _ := again.Of("openai/gpt-4o", ""); p != free {
		t.Errorf("later entries do not win: %+v", p)
	}
	if _, ok := table(t).Of("openai/gpt-4o", ""); ok {
		t.Error("With changed the table that it was called on")
	}
}

func TestCharge(t *testing.T) {
	tab := table(t)
	for _, c := range []struct {
		name, ref, vendor string
		usage             turnv1.Usage
		cost              int64 // -1: not priced
	}{
		{"input and output", "openai/gpt-4o", "openai", turnv1.Usage{Input: 1000, Output: 10}, 2_600_000},
		{"from the cache", "openai/gpt-4o", "openai", turnv1.Usage{Input: 1000, CacheRead: 800}, 1_500_000},
		{"into the cache", "c/claude-sonnet-4-5", "anthropic", turnv1.Usage{Input: 1000, CacheRead: 200, CacheWrite: 300, Output: 1}, 2_700_000},
		{"no rate for writing", "openai/gpt-4o", "openai", turnv1.Usage{Input: 1000, CacheWrite: 1000}, 2_500_000},
		{"rounded up", "openai/gpt-4o-mini", "openai", turnv1.Usage{Input: 1, CacheRead: 1}, 75},
		{"more cached than there is", "openai/gpt-4o", "openai", turnv1.Usage{Input: 10, CacheRead: 99, CacheWrite: 99}, 12_500},
		{"negative", "openai/gpt-4o", "openai", turnv1.Usage{Input: -5, Output: 1, CacheRead: -9, CacheWrite: -9}, 10_000},
		{"short", "openai/long", "openai", turnv1.Usage{Input: 1000, Output: 1}, 1_002_000},
		{"long", "openai/long", "openai", turnv1.Usage{Input: 1001, Output: 1}, 2_005_000},
		{"short of vague", "openai/vague", "openai", turnv1.Usage{Input: 1000}, 1_000_000},
		{"long of vague", "openai/vague", "openai", turnv1.Usage{Input: 1001}, -1},
		{"nothing reported", "openai/gpt-4o", "openai", turnv1.Usage{}, -1},
		{"unknown", "openai/x", "openai", turnv1.Usage{Input: 1, Cost: 7, Priced: true}, -1},
		{"offline", "offline/echo", price.Offline, turnv1.Usage{Input: 5, Output: 5}, 0},
		{"offline, nothing reported", "offline/echo", price.Offline, turnv1.Usage{}, 0},
	} {
		got := tab.Charge(c.ref, c.vendor, c.usage)
		want := c.usage
		want.Cost, want.Priced = max(c.cost, 0), c.cost >= 0
		if got != want {
			t.Errorf("%s: got %+v, want %+v", c.name, got, want)
		}
	}
}

// Whatever a provider reports, a cost is not negative and more tokens do not cost less.
func TestChargeHolds(t *testing.T) {
	tokens := rapid.OneOf(rapid.IntRange(-10, 1000), rapid.Int())
	rapid.Check(t, func(t *rapid.T) {
		p := price.Price{
			Input: rapid.Int64().Draw(t, "in"), Output: rapid.Int64().Draw(t, "out"),
			CacheRead: rapid.Int64().Draw(t, "read"), CacheWrite: rapid.Int64().Draw(t, "write"),
		}
		tab := price.Table{}.With([]price.UserPrice{{Model: "m", Price: &p}})
		u := turnv1.Usage{
			Input: tokens.Draw(t, "input"), Output: tokens.Draw(t, "output"),
			CacheRead: tokens.Draw(t, "cached"), CacheWrite: tokens.Draw(t, "written"),
		}
		a := tab.Charge("m", "", u)
		if u.Output < math.MaxInt {
			u.Output++
		}
		b := tab.Charge("m", "", u)
		if a.Cost < 0 || a.Priced && b.Cost < a.Cost {
			t.Fatalf("%+v, one token more: %+v", a, b)
		}
	})
}

func TestOfMillion(t *testing.T) {
	read := int64(1001)
	got := price.OfMillion(2_500_000_000, 1, &read, nil)
	if want := (price.Price{Input: 2_500_000, Output: 1, CacheRead: 2, CacheWrite: 2_500_000}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := price.OfMillion(0, -1, nil, nil); got != (price.Price{}) {
		t.Errorf("nothing is %+v", got)
	}
	if got := price.OfMillion(math.MaxInt64, 1000, nil, nil); got.Input != math.MaxInt64/1000+1 || got.Output != 1 {
		t.Errorf("got %+v", got)
	}
}

func TestParseRefuses(t *testing.T) {
	line := func(s string) string {
		return `{"models": [{"vendor": "v", "model": "m", "as_of": "2026-01-02", ` + s + `}]}`
	}
	for text, says := range map[string]string{
		"":                                     "EOF",
		"[]":                                   "cannot unmarshal",
		`{"models": []} x`:                     "after the end",
		`{"modles": []}`:                       "unknown field",
		`{"models": [{"model": "m"}]}`:         "vendor and model",
		line(`"output": 1`):                    "input: is missing",
		line(`"input": 1`):                     "output: is missing",
		line(`"input": -1, "output": 1`):       `"-1" is not an amount`,
		line(`"input": 1e3, "output": 1`):      `"1e3" is not an amount`,
		line(`"input": 0.0000001, "output":1`): "is not an amount",
		line(`"input": 123456789, "output":1`): "is not an amount",
		line(`"input": 1, "output": 1, "context": -1`):                                                                              "context is -1",
		line(`"input": 1, "output": 1, "above": {"tokens": 0}`):                                                                     "above: tokens is 0",
		line(`"input": 1, "output": 1, "above": {"tokens": 9, "input": 1}`):                                                         "above: output: is missing",
		`{"models": [{"vendor": "v", "model": "m", "input": 1, "output": 1}]}`:                                                      "as_of",
		`{"models": [` + strings.Repeat(`{"vendor": "v", "model": "m", "as_of": "2026-01-02", "input": 1, "output": 1},`, 2) + `]}`: "invalid character",
		strings.Replace(list, `"gpt-4o-mini"`, `"gpt-4o"`, 1):                                                                       "openai/gpt-4o is there twice",
	} {
		if _, err := price.Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: got %v, want %q", text, err, says)
		}
	}
}
