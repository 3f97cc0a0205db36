package turn_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/noticev1"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/turns/turn"
)

func tell(text string) noticev1.Posted {
	return noticev1.Posted{Service: "outbox", Text: text, By: "mcp:x"}
}

// TestWhatIsTold: what programs have said, and nothing else, waits for the next claim, within bounds.
func TestWhatIsTold(t *testing.T) {
	for name, b := range map[string]envelope.Body{
		"jetclaw's own": noticev1.Posted{Service: "turns", Text: "ok"},
		"a question":    noticev1.Posted{Service: "outbox", Text: "May I?", By: "mcp:x", Permission: &noticev1.Permission{Request: "abcde"}},
		"not shown":     noticev1.Posted{Service: "outbox", Text: "ok", By: "mcp:x", Quiet: true},
		"nothing":       tell(" \n"),
	} {
		if s := fold(turn.State{}, b); len(s.Told) != 0 {
			t.Errorf("%s: %s", name, compact(s))
		}
	}
	if s := fold(turn.State{}, tell("x")); !s.Quiet() || s.Untold()[0].Text != "x" {
		t.Errorf("it has something to do: %s", compact(s))
	}
	s := fold(turn.State{}, tell(strings.Repeat("é", 5000)))
	if got, want := s.Told[0].Text, strings.Repeat("é", 4096)+"\n[cut: 1808 more bytes]"; got != want {
		t.Errorf("a long one ends with %q", got[len(got)-40:])
	}
	for n := range 40 {
		s = fold(s, tell(fmt.Sprint(n)))
	}
	if len(s.Told) != 32 || s.Told[0].Text != "8" || s.Told[31].Text != "39" {
		t.Errorf("the last ones are %s", compact(s.Told))
	}
	if s = fold(s, turnv1.SessionReset{}); len(s.Told) != 0 {
		t.Errorf("after a new beginning: %s", compact(s))
	}
}

// TestToldIsForeign: it is somebody else's text, counts for its size, and is a part of the turn that was shown it.
func TestToldIsForeign(t *testing.T) {
	end := turnv1.Completed{Outcome: of("m1", 1, 1), Answers: []string{"m1"}, Text: "ok"}
	s := fold(turn.State{}, tell("x"), said, started, end)
	plain := fold(turn.State{}, said, started, end)
	if len(s.Past) != 1 || len(s.Past[0].Entries) != 3 || !s.Past[0].Entries[0].Beside.Foreign() || s.Bytes <= plain.Bytes+len("mcp:x") {
		t.Errorf("%s", compact(s))
	}
}
