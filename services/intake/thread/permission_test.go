package thread

import (
	"fmt"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/noticev1"
)

func TestAnswerOf(t *testing.T) {
	for text, want := range map[string]string{
		"yes abcde":          "yes abcde",
		"  NO\tXyZmn \r\n":   "no xyzmn",
		"Yes  kkkkk":         "yes kkkkk",
		"yes":                "",
		"yesabcde":           "",
		"yes abcd":           "",
		"yes abcdef":         "",
		"yes label":          "", // l is no letter of an id
		"yes abc1e":          "",
		"yes abcde please":   "",
		"well, yes abcde":    "",
		"maybe abcde":        "",
		"yes abcde\nno fghi": "",
		"ye\u017f abcde":     "", // folds to an s
		"yes abcd\u212a":     "", // folds to a k
		"/approve abcde":     "",
	} {
		from := messagev1.Sender{ID: "telegram:1"}
		a, ok := AnswerOf(messagev1.Received{From: from, Text: text})
		got := ""
		if ok {
			got = map[bool]string{true: "yes ", false: "no "}[a.Allow] + a.Request
		}
		if got != want || ok && a.From != from {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	for name, b := range map[string]messagev1.Received{
		"forwarded":   {Text: "yes abcde", Forwarded: "News"},
		"with a file": {Text: "yes abcde", Files: []messagev1.File{{Kind: messagev1.Photo}}},
	} {
		if _, ok := AnswerOf(b); ok {
			t.Errorf("%s: it is taken for an answer", name)
		}
	}
	if _, ok := AnswerOf(messagev1.Received{Text: "yes abcde", Group: true, Quote: &messagev1.Quote{Own: true}}); !ok {
		t.Error("a reply in a group is an answer, too")
	}
}

// TestPermissions: a question is open until it is answered or expires, and only the last 16 are.
func TestPermissions(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	var s State
	ask := func(request string, expires time.Duration) {
		p := noticev1.Permission{Request: request, Tool: "Bash", Expires: now.Add(expires)}
		s = s.Apply(envelope.Event{ID: request, Time: now, Body: noticev1.Posted{Service: "outbox", Text: "May I?", By: "mcp:x", Permission: &p}})
	}
	waits := func(request string, after time.Duration, want bool) {
		t.Helper()
		if got := s.Waits(request, now.Add(after)) == request; got != want {
			t.Errorf("%s after %s: %t", request, after, got)
		}
	}
	waits("abcde", 0, false)
	ask("abcde", time.Minute)
	waits("abcde", time.Minute-1, true)
	waits("abcde", time.Minute, false)
	waits("fghij", 0, false)
	ask("abcde", time.Hour) // the same id again
	waits("abcde", time.Minute, true)
	before := s
	s = s.Apply(envelope.Event{ID: "m1", Cursor: 7, Body: messagev1.PermissionAnswer{Request: "abcde", Allow: true}})
	waits("abcde", 0, false)
	if it, ok := s.Find("m1"); !ok || it.Status != Done || it.Cursor != 7 {
		t.Errorf("the answer: %+v", it)
	}
	if before.Waits("abcde", now) == "" {
		t.Error("an older state was changed")
	}
	for n := range 17 {
		ask(fmt.Sprintf("aaaa%c", 'm'+n%13)+string(rune('a'+n)), time.Minute)
	}
	if len(s.permissions) != maxPermissions {
		t.Errorf("%d are open", len(s.permissions))
	}
	waits("aaaama", 0, false)
	waits("aaaanb", 0, true)
}
