package cli

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

func TestUsageOfModels(t *testing.T) {
	t.Parallel()
	u := newUser(t, offlineYAML)
	cents := func(n int64) turnv1.Usage {
		return turnv1.Usage{Input: 100, Output: 20, Cost: n * 10_000_000, Priced: true}
	}
	u.lived(
		past{"a", day(t, "2026-01-01"), "hi", "claude/big", cents(12)},
		past{"b", day(t, "2026-01-01"), "hi", "local/odd", turnv1.Usage{Input: 7, Output: 3}},
		past{"work.http.x.c", day(t, "2026-01-02"), "hi", "claude/big", cents(50)},
		past{"a", day(t, "2026-01-03"), "hi", "claude/big", cents(1)},
		past{"a", time.Now().UTC(), "hi", "local/odd", turnv1.Usage{Input: 1}},
	)
	today := time.Now().UTC().Format(time.DateOnly)
	for args, want := range map[string]string{
		"": `the last 7 days  calls  tokens in  tokens out  cost
` + today + `           1          1           0  unknown

model            calls  tokens in  tokens out  cost
claude/big           3        300          60  $0.63
local/odd            2          8           3  unknown

total                5        308          63  $0.63 + 11 tokens of unknown price
`,
		"--by agent": `agent  calls  tokens in  tokens out  cost
main       4        208          43  $0.13 + 11 tokens of unknown price
work       1        100          20  $0.50

total      5        308          63  $0.63 + 11 tokens of unknown price
`,
		"--by session --since 2026-01-02": `session                 calls  tokens in  tokens out  cost
main.terminal.local.a       2        101          20  $0.01 + 1 tokens of unknown price
work.http.x.c               1        100          20  $0.50

total since 2026-01-02      3        201          40  $0.51 + 1 tokens of unknown price
`,
		"--by day --session b": `day         calls  tokens in  tokens out  cost
2026-01-01      1          7           3  unknown

total           1          7           3  unknown
`,
		"--since 1d --by model --session work.http.x.c": `       calls  tokens in  tokens out  cost
total since DAY      0          0           0  -
`,
	} {
		r := u.run(append([]string{"usage"}, strings.Fields(args)...)...)
		r.want(t, 0)
		got := r.stdout
		if strings.Contains(args, "1d") {
			yesterday := time.Now().UTC().AddDate(0, 0, -1).Format(time.DateOnly)
			got, want = strings.Join(strings.Fields(strings.ReplaceAll(got, yesterday, "DAY")), " "), strings.Join(strings.Fields(want), " ")
		}
		if got != want {
			t.Errorf("usage %s:\n%s\nwant\n%s", args, got, want)
		}
		if note := strings.Contains(r.stderr, `"local/odd": {input`); note != strings.Contains(want, "unknown") {
			t.Errorf("usage %s says %s", args, r.stderr)
		}
	}
	var got accounts
	r := u.run("usage", "--by", "model", "--json")
	if err := json.Unmarshal([]byte(r.stdout), &got); err != nil {
		t.Fatal(err)
	}
	if got.By != "model" || len(got.Rows) != 2 || got.Total.Calls != 5 || *got.Total.Cost != 630_000_000 || got.Total.Unpriced != 11 {
		t.Errorf("%+v", got)
	}
	if odd := got.Rows[1]; odd.Model != "local/odd" || odd.Cost != nil || odd.Unpriced != 11 || !strings.Contains(r.stdout, `"cost_nano_usd":null`) {
		t.Errorf("%+v", odd)
	}
	u.run("usage", "--json").want(t, 0)
}

func TestUsageThatCannotBe(t *testing.T) {
	t.Parallel()
	u := newUser(t, offlineYAML)
	for line, want := range map[string]string{
		"usage --by mdoel":                      `did you mean "model"?`,
		"usage --since never":                   "neither a day (2026-09-01) nor a duration",
		"usage --session x.y":                   "--session",
		"usage more":                            `does not take "more"`,
		"context":                               "takes one session",
		"context a b":                           "takes one session",
		"context x.y":                           "SESSION",
		"sessions prnue":                        `did you mean "prune"?`,
		"sessions prune":                        "there is no terminal to ask at",
		"sessions prune --dry-run":              "try --dormant 180d or --max-bytes 2GiB",
		"sessions prune --yes --dormant 5m":     "--dormant 5m: must be at least 1d",
		"sessions prune --yes --max-bytes lots": "--max-bytes lots: a size is written as",
		"sessions prune --yes --dormant 0":      "nothing says which sessions are to go",
		"sessions prune --yes --dormant 1d\"}{": "--dormant",
	} {
		u.run(strings.Fields(line)...).want(t, 2, want)
	}
	u.lived(past{"work.http.x.name", day(t, "2026-01-01"), "hi", "offline/echo", turnv1.Usage{}})
	for _, line := range []string{"usage --session name", "context name"} {
		u.run(strings.Fields(line)...).want(t, 1, "there is no session main.terminal.local.name", "did you mean work.http.x.name?")
	}
	for _, c := range []string{"usage", "context", "sessions", "sessions prune"} {
		r := u.run(append(strings.Fields(c), "--help")...)
		if r.code != 0 || !strings.Contains(r.stdout, "Examples:") {
			t.Errorf("jetclaw %s --help: %+v", c, r)
		}
	}
}
