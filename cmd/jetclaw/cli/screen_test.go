package cli

import (
	"regexp"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/jetclaw/jetclaw/cmd/jetclaw/cli/markdown"
	"github.com/jetclaw/jetclaw/services/turns"
)

var control = regexp.MustCompile(`^\x1b\[([?0-9;]*)([A-Za-z])`)

// screenOf is what stands on a terminal after it was sent something. All characters are one column wide; lines that have
// scrolled away are there still. A sequence that it does not know shows.
func screenOf(sent string, columns int) string {
	rows, x, y := [][]rune{{}}, 0, 0
	put := func(r rune) {
		if x == columns {
			x, y = 0, y+1
		}
		for len(rows) <= y {
			rows = append(rows, nil)
		}
		for len(rows[y]) <= x {
			rows[y] = append(rows[y], ' ')
		}
		rows[y][x] = r
		x++
	}
	for sent != "" {
		if m := control.FindStringSubmatch(sent); m != nil {
			n, err := strconv.Atoi(m[1])
			if err != nil {
				n = 1
			}
			known := true
			switch m[2] {
			case "m", "h", "l":
			case "K":
				rows[y] = rows[y][:min(x, len(rows[y]))]
			case "A":
				y = max(0, y-n)
			case "C":
				x = min(columns-1, x+n)
			case "D":
				x = max(0, x-n)
			default:
				known = false
			}
			if known {
				sent = sent[len(m[0]):]
				continue
			}
		}
		r := []rune(sent)[0]
		sent = sent[len(string(r)):]
		switch r {
		case '\r':
			x = 0
		case '\n':
			y++
			for len(rows) <= y {
				rows = append(rows, nil)
			}
		default:
			put(r)
		}
	}
	var b strings.Builder
	for _, row := range rows {
		b.WriteString(strings.TrimRight(string(row), " ") + "\n")
	}
	return strings.TrimRight(b.String(), "\n")
}

// cooked is what a terminal makes of line breaks.
type cooked struct{ strings.Builder }

func (c *cooked) Write(p []byte) (int, error) {
	return len(p), must(c.WriteString(strings.ReplaceAll(string(p), "\n", "\r\n")))
}

func must(_ int, err error) error { return err }

// TestWhatStaysOnTheScreen: the whole answer, rendered, once, however it comes, and whatever comes between.
func TestWhatStaysOnTheScreen(t *testing.T) {
	t.Parallel()
	part := rapid.SampledFrom([]string{
		"a", "word ", "more words ", "\n", "\n\n", "- ", "  ", "1. ", "**", "`", "```go\n", "```\n", "# ", "> ", "| a | b |\n|---|---|\n", "[x](y) ",
		"\x1b[2J", "&#27;[A", "é",
	})
	rapid.Check(t, func(t *rapid.T) {
		answer := []rune(strings.Join(rapid.SliceOfN(part, 1, 60).Draw(t, "answer"), ""))
		columns := rapid.IntRange(20, 70).Draw(t, "columns")
		colour := rapid.Bool().Draw(t, "colour")
		var out cooked
		s := stream{live: true, screen: &richScreen{
			out: &out, columns: func() int { return columns }, colour: colour, ticker: &lineTicker{out: &out},
		}}
		s.begin("t")
		for n, rest := 1, answer; len(rest) > 0; n++ {
			k := rapid.IntRange(1, min(9, len(rest))).Draw(t, "length")
			switch rapid.IntRange(0, 20).Draw(t, "what") {
			case 0: // lost
			case 1:
				s.end()
				if _, err := out.Write([]byte("note\n")); err != nil {
					t.Fatal(err)
				}
				fallthrough
			default:
				s.delta(turns.Delta{Type: turns.DeltaType, Turn: "t", Round: 1, Attempt: 1, N: n, Text: string(rest[:k])})
			}
			rest = rest[k:]
		}
		s.finish(string(answer))
		var whole cooked
		rendered := markdown.New(markdown.Options{Width: columns - 1, Colour: colour, Clean: forTerminal}).All(forTerminal(string(answer)))
		if _, err := whole.Write([]byte(rendered)); err != nil {
			t.Fatal(err)
		}
		got := strings.ReplaceAll(screenOf(out.String(), columns)+"\n", "note\n", "")
		if want := screenOf(whole.String(), columns); strings.TrimRight(got, "\n") != want {
			t.Fatalf("%q\nshows\n%s\nwant\n%s\nsent %q", string(answer), got, want, out.String())
		}
	})
}

// TestAnotherAttempt keeps what a failed one said apart from the answer.
func TestAnotherAttempt(t *testing.T) {
	t.Parallel()
	var out cooked
	s := stream{live: true, screen: &richScreen{out: &out, columns: func() int { return 40 }, ticker: &lineTicker{out: &out}}}
	d := turns.Delta{Type: turns.DeltaType, Turn: "t", Round: 1, Attempt: 1, N: 1, Text: "half an ans"}
	s.begin("t")
	s.delta(d)
	d.Attempt, d.Text = 2, "another"
	s.delta(d)
	if !s.showing() {
		t.Error("nothing is shown")
	}
	s.finish("something else")
	if got := screenOf(out.String(), 40); got != "half an ans\nsomething else" {
		t.Errorf("%s", got)
	}
	s.begin("u")
	d.Turn = "u"
	s.delta(d)
	s.ended("t")
	if !s.showing() {
		t.Error("the end of another turn has ended it")
	}
	s.ended("u")
	if got := screenOf(out.String(), 40); got != "half an ans\nsomething else\nanother" {
		t.Errorf("%s", got)
	}
}

// TestRawAnswers are not touched, but for what drives terminals.
func TestRawAnswers(t *testing.T) {
	t.Parallel()
	for _, live := range []bool{false, true} {
		var out strings.Builder
		s := stream{live: live, screen: &rawScreen{out: &out}}
		s.begin("t")
		s.delta(turns.Delta{Type: turns.DeltaType, Turn: "t", Round: 1, Attempt: 1, N: 1, Text: "**a"})
		s.finish("**a** &amp; `b`\x1b")
		want := "**a** &amp; `b`\x1b\n"
		if live {
			want = "**a** &amp; `b`\n"
		}
		if out.String() != want {
			t.Errorf("%q", out.String())
		}
	}
}
