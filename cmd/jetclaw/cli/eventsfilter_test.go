package cli

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

// TestGlob compares it with a regular expression of the same meaning.
func TestGlob(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		pattern := rapid.StringMatching(`[ab.*?]{0,8}`).Draw(t, "pattern")
		text := rapid.StringMatching(`[ab./]{0,12}`).Draw(t, "text")
		as := strings.NewReplacer(".", `\.`, "*", ".*", "?", ".").Replace(pattern)
		if want := regexp.MustCompile("^" + as + "$").MatchString(text); glob(pattern, text) != want {
			t.Fatalf("glob(%q, %q) is %v", pattern, text, !want)
		}
	})
}

func TestTypePatterns(t *testing.T) {
	t.Parallel()
	for pattern, want := range map[string]bool{
		"turn.completed": true, "turn.completed.v1": true, "turn.*": true, "*.completed": true, "turn.complete?": true, "*": true,
		"turn.completed.v2": false, "turn": false, "turn.": false, "completed": false, "Turn.*": false, "call.*": false, "": false,
	} {
		if anyType([]string{"x", pattern}, "turn.completed.v1") != want {
			t.Errorf("%q: %v", pattern, !want)
		}
	}
}

func TestMoments(t *testing.T) {
	t.Parallel()
	zone := time.FixedZone("there", 2*60*60)
	now := time.Date(2026, 9, 10, 12, 0, 0, 0, zone)
	for text, want := range map[string]moment{
		"0":                    {},
		"4711":                 {cursor: 4711},
		"10m":                  {at: now.Add(-10 * time.Minute)},
		"5d":                   {at: now.Add(-5 * 24 * time.Hour)},
		"0s":                   {at: now},
		"2026-09-01":           {at: time.Date(2026, 9, 1, 0, 0, 0, 0, zone), day: true},
		"2026-09-01 15:04":     {at: time.Date(2026, 9, 1, 15, 4, 0, 0, zone)},
		"2026-09-01T15:04":     {at: time.Date(2026, 9, 1, 15, 4, 0, 0, zone)},
		"2026-09-01 15:04:05":  {at: time.Date(2026, 9, 1, 15, 4, 5, 0, zone)},
		"2026-09-01T15:04:05Z": {at: time.Date(2026, 9, 1, 15, 4, 5, 0, time.UTC)},
		// As `events` shows it, and as its JSON has it.
		"2026-09-01 15:04:05.250":        {at: time.Date(2026, 9, 1, 15, 4, 5, 250e6, zone)},
		"2026-09-01T15:04:05.25+01:00":   {at: time.Date(2026, 9, 1, 14, 4, 5, 250e6, time.UTC)},
		"2026-09-01T15:04:05.000000001Z": {at: time.Date(2026, 9, 1, 15, 4, 5, 1, time.UTC)},
	} {
		got, err := parseMoment("since", text, now)
		if err != nil || got.cursor != want.cursor || got.day != want.day || !got.at.Equal(want.at) {
			t.Errorf("%q: %+v, %v, want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"", "yesterday", "-5m", "-1", "99999d", "2026-13-01", "2026-09-01 25:00", "9223372036854775808", "4711x"} {
		if got, err := parseMoment("until", text, now); err == nil || !strings.Contains(err.Error(), "--until") {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
}

func TestRefusedFilters(t *testing.T) {
	t.Parallel()
	for want, o := range map[string]eventsOptions{
		"--type is empty":        {types: []string{"turn.*", ""}},
		"--limit -1":             {limit: -1},
		"--last -1":              {last: -1},
		"--limit is for":         {limit: 1, last: 1},
		"--until ends":           {until: "5", follow: true},
		"--until 0":              {until: "0"},
		"--until x is neither":   {until: "x"},
		"nothing lies between":   {since: "5", until: "5"},
		"between --since 1h and": {since: "1h", until: "2h"},
		"--since 2026-09-02 and": {since: "2026-09-02", until: "2026-09-01"},
		"four tokens":            {session: "a.b"},
	} {
		if _, err := o.wanted(time.Now()); err == nil || exitCode(err) != exitUsage || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	for _, o := range []eventsOptions{
		{since: "4", until: "5"},
		{since: "2026-09-01", until: "2026-09-01"},
		{since: "5", until: "1h"},
		{since: "1h", until: "5"},
		{follow: true, limit: 3},
		{session: "*"},
		{session: "a.b?"},
	} {
		if _, err := o.wanted(time.Now()); err != nil {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

// TestWholeDay: a day is all of it, and an event without a time is never hidden by one.
func TestWholeDay(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 9, 10, 12, 0, 0, 0, time.UTC)
	w, err := eventsOptions{since: "2026-09-01", until: "2026-09-01"}.wanted(now)
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{
		"2026-08-31T23:59:59.999Z": false, "2026-09-01T00:00:00Z": true, "2026-09-01T23:59:59.999999999Z": true, "2026-09-02T00:00:00Z": false,
		"0001-01-01T00:00:00Z": true,
	} {
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			t.Fatal(err)
		}
		if got := w.match(envelope.Event{Time: at, Body: turnv1.Completed{}}); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}
