package launch

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestTail(t *testing.T) {
	redact := func(s string) string { return strings.ReplaceAll(s, "BEGIN\nkey\nEND", "[key]") }
	cases := map[string]struct{ in, want string }{
		"nothing":             {"", ""},
		"lines":               {"a\r\n\n  \nb\tc\n", "a\nb\tc"},
		"progress":            {"10%\r20%\rdone\n", "10%\n20%\ndone"},
		"open line":           {"a\nPassword: ", "a\nPassword:"},
		"commands":            {"\x1b[2Ja\x1b]0;title\x07b\x00\u202e\x7f\n", "ab"},
		"no text":             {"a\xff\xfeb\n", "a\uFFFDb"},
		"a secret of lines":   {"BEGIN\nkey\nEND\n", "[key]"},
		"a secret in bits":    {"BEGIN\nk\x00e\x1b[0my\nEND\n", "[key]"},
		"a secret at the cut": {strings.Repeat("x", rawLine-8) + "BEGIN\nkey", strings.Repeat("x", shownLine) + "…\nkey"},
		"many":                {strings.Repeat("old\n", 10) + strings.Repeat("new\n", tailLines), strings.TrimSpace(strings.Repeat("new\n", tailLines))},
		"much":                {strings.Repeat(strings.Repeat("x", 6<<10)+"\n", 9), strings.TrimSpace(strings.Repeat(strings.Repeat("x", shownLine)+"…\n", 2))},
	}
	for name, c := range cases {
		for _, size := range []int{1, 7, 1 << 20} {
			tail := tail{redact: redact, log: slog.New(slog.DiscardHandler)}
			for rest := []byte(c.in); len(rest) > 0; {
				n := min(size, len(rest))
				if wrote, err := tail.Write(rest[:n]); wrote != n || err != nil {
					t.Fatal(wrote, err)
				}
				rest = rest[n:]
			}
			if got := tail.text(); got != c.want {
				t.Errorf("%s in writes of %d: %q, want %q", name, size, got, c.want)
			}
		}
	}
}

func TestTailLogsSome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		tail := tail{log: slog.New(slog.NewTextHandler(&log, nil))}
		for range 3 * logLines {
			fmt.Fprintln(&tail, "one")
		}
		if got := strings.Count(log.String(), "text=one"); got != logLines {
			t.Errorf("%d lines are logged", got)
		}
		time.Sleep(logPeriod) // of the bubble's clock
		fmt.Fprint(&tail, "last")
		tail.end()
		if got := log.String(); !strings.Contains(got, "text=last") || !strings.Contains(got, fmt.Sprintf("lines=%d", 2*logLines)) {
			t.Error(got)
		}
	})
}
