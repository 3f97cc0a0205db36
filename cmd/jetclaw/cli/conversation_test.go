package cli

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/home"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/noticev1"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

// listener is a conversation that only hears of events; all that it shows is in one text.
func listener(t *testing.T) (*conversation, *strings.Builder) {
	t.Helper()
	h, err := home.Find(func(name string) (string, bool) { return t.TempDir(), name == home.EnvVar })
	if err != nil {
		t.Fatal(err)
	}
	var shown strings.Builder
	s := &shell{out: &shown, err: told{&shown}, rawErr: &shown, lookup: func(string) (string, bool) { return "", false }}
	c := &conversation{
		talk: &talk{shell: s, home: h, stream: stream{screen: s.newScreen(nil)}}, open: map[string]bool{}, mine: map[string]bool{},
		long: time.NewTimer(time.Hour),
	}
	t.Cleanup(func() { c.long.Stop() })
	return c, &shown
}

// TestCommandsAreAnswered: a command is open until what it led to is told, and all of that is news.
func TestCommandsAreAnswered(t *testing.T) {
	t.Parallel()
	asked := func(v messagev1.Verb) envelope.Body { return messagev1.Control{From: me, Verb: v} }
	said := messagev1.Received{From: me, Text: "x"}
	for name, c := range map[string]struct {
		ask    envelope.Body
		open   bool
		answer envelope.Body
		shown  string
	}{
		"status":     {asked(messagev1.Status), true, noticev1.Posted{Text: "All is well.", Answers: []string{"m"}}, "All is well."},
		"model":      {asked(messagev1.Model), true, turnv1.SessionConfigured{By: "m", Text: "The model is a/b."}, "The model is a/b."},
		"queue":      {asked(messagev1.Queue), true, turnv1.SessionConfigured{By: "m", Text: "It is collect."}, "It is collect."},
		"compact":    {asked(messagev1.Compact), true, turnv1.SessionCompacted{By: "m", Text: "7 turns are one."}, "7 turns are one."},
		"no summary": {asked(messagev1.Compact), true, turnv1.CompactionFailed{By: "m", Text: "It failed."}, "It failed."},
		"stop":       {asked(messagev1.Stop), false, turnv1.Cancelled{By: "m", Turn: "x/t"}, "Stopped."},
		"new":        {asked(messagev1.New), true, turnv1.SessionReset{By: "m"}, "A new beginning."},
		"dropped":    {said, true, turnv1.Cancelled{Answers: []string{"m"}, Reason: turnv1.QueueFull, Text: "Too \x1bmany."}, "Too many."},
	} {
		l, shown := listener(t)
		l.mine["m"] = true
		l.happened(envelope.Event{ID: "m", Cursor: 1, Body: c.ask})
		if l.open["m"] != c.open {
			t.Errorf("%s: open is %t", name, l.open["m"])
		}
		l.happened(envelope.Event{ID: "n", Cursor: 2, Body: c.answer})
		if len(l.open) > 0 || shown.String() != c.shown+"\n" {
			t.Errorf("%s: %v open, shown %q", name, l.open, shown)
		}
		if at, _ := l.seen(); at != 2 {
			t.Errorf("%s: seen up to %d", name, at)
		}
	}
}

// TestWhatComesByItselfIsNoNews: nobody has asked for it, and nothing that a person sees has changed.
func TestWhatComesByItselfIsNoNews(t *testing.T) {
	t.Parallel()
	l, shown := listener(t)
	l.happened(envelope.Event{ID: "m", Cursor: 1, Body: messagev1.Received{From: me, Text: "x"}})
	*shown = strings.Builder{}
	for _, body := range []envelope.Body{
		turnv1.CompactionStarted{}, turnv1.SessionCompacted{Text: "x"}, turnv1.CompactionFailed{Text: "x"}, turnv1.Overflowed{},
	} {
		l.happened(envelope.Event{ID: "n", Cursor: 2, Body: body})
	}
	if shown.String() != "" || len(l.open) != 1 {
		t.Errorf("%v open, shown %q", l.open, shown)
	}
	l.happened(envelope.Event{ID: "d", Cursor: 3, Body: turnv1.SessionDeleted{By: "retention"}})
	if len(l.open) > 0 {
		t.Errorf("%v is open in a deleted session", l.open)
	}
}

// TestHelpKnowsEveryCommand that the gate takes.
func TestHelpKnowsEveryCommand(t *testing.T) {
	t.Parallel()
	for _, v := range []messagev1.Verb{
		messagev1.Stop, messagev1.New, messagev1.Compact, messagev1.Model, messagev1.Queue, messagev1.Status, messagev1.Approve,
		messagev1.Deny,
	} {
		line := func(s string) bool { return strings.HasPrefix(s, "/"+string(v)+" ") }
		if !slices.ContainsFunc(strings.Split(conversationHelp, "\n"), line) {
			t.Errorf("no line about %s", v)
		}
		if v != messagev1.Stop && !sessionCommands["/"+string(v)] {
			t.Errorf("%s cannot be typed", v)
		}
	}
}

func TestSummariesOfTurns(t *testing.T) {
	t.Parallel()
	for want, body := range map[string]envelope.Body{
		"a/b: too long":                          turnv1.Overflowed{Outcome: turnv1.Outcome{Model: "a/b"}, Detail: "too\nlong"},
		"stopped, 2 messages":                    turnv1.Cancelled{Answers: []string{"a", "b"}},
		"queue_full, 1 message: Full.":           turnv1.Cancelled{Answers: []string{"a"}, Reason: turnv1.QueueFull, Text: "Full."},
		"model: a/b":                             turnv1.SessionConfigured{Setting: turnv1.ModelSetting, Value: "a/b"},
		"queue: the agent's own":                 turnv1.SessionConfigured{Setting: turnv1.QueueSetting},
		"through x/t, attempt 2, by w":           turnv1.CompactionStarted{Through: "x/t", Attempt: 2, Worker: "w"},
		"model_garbage: No.":                     turnv1.CompactionFailed{Cause: turnv1.ModelGarbage, Text: "No."},
		"3 turns in one: all of it":              turnv1.SessionCompacted{Turns: 3, Summary: "all of it"},
		"by retention, 12 events, kept in a.zst": turnv1.SessionDeleted{By: "retention", Events: 12, Archive: "a.zst"},
		"by cli":                                 turnv1.SessionDeleted{By: "cli"},
		"local: model a/b":                       messagev1.Control{From: me, Verb: messagev1.Model, Argument: "a/b"},
		"local: stop":                            messagev1.Control{From: me, Verb: messagev1.Stop},
	} {
		if got := summary(body); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
