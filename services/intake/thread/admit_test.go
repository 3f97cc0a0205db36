package thread

import (
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
)

func TestAdmit(t *testing.T) {
	from := messagev1.Sender{ID: "local", Name: "Ann"}
	text := func(s string) messagev1.Event { return messagev1.Received{From: from, Text: s} }
	control := func(v messagev1.Verb) messagev1.Event { return messagev1.Control{From: from, Verb: v} }
	argued := func(v messagev1.Verb, arg string) messagev1.Event {
		return messagev1.Control{From: from, Verb: v, Argument: arg}
	}
	decision := func(id string, d callv1.Decision, reason string) messagev1.Event {
		return messagev1.Decision{From: from, Approval: id, Decision: d, Reason: reason}
	}
	refused := func(r messagev1.Reason, n int) messagev1.Event {
		return messagev1.Refused{From: from, Reason: r, Bytes: n}
	}
	for _, tc := range []struct {
		name string
		in   Inbound
		want messagev1.Event // the detail of a refusal is checked to be there, not for its words
	}{
		{"text", Inbound{Text: "hello"}, text("hello")},
		{"white space around it stays", Inbound{Text: "  a\n\tb \n"}, text("  a\n\tb \n")},
		{"at the limit", Inbound{Text: strings.Repeat("x", 64)}, text(strings.Repeat("x", 64))},
		{"over the limit", Inbound{Text: strings.Repeat("x", 65)}, refused(messagev1.TooLarge, 65)},
		{"nothing", Inbound{}, refused(messagev1.Empty, 0)},
		{"only white space", Inbound{Text: " \n\t\u00a0\u2003"}, refused(messagev1.Empty, 8)},
		{"only control characters", Inbound{Text: "\x1b\x07"}, refused(messagev1.Empty, 2)},
		{"not UTF-8", Inbound{Text: "a\xff"}, refused(messagev1.NotUTF8, 2)},
		{"half a character", Inbound{Text: "\xe2\x82"}, refused(messagev1.NotUTF8, 2)},
		{"a replacement character is one", Inbound{Text: "\uFFFD"}, text("\uFFFD")},
		{"NUL", Inbound{Text: "a\x00b"}, refused(messagev1.NotUTF8, 3)},
		{"line ends", Inbound{Text: "a\r\nb\rc"}, text("a\nb\nc")},
		{"an escape sequence loses its teeth", Inbound{Text: "\x1b[31mred\x7f\u009b"}, text("[31mred")},
		{"stop", Inbound{Text: "/stop"}, control(messagev1.Stop)},
		{"stop with white space", Inbound{Text: "\n /stop \n"}, control(messagev1.Stop)},
		{"stop and more", Inbound{Text: "/stop it now"}, control(messagev1.Stop)},
		{"a word that begins so", Inbound{Text: "/stopwatch"}, text("/stopwatch")},
		{"not the first word", Inbound{Text: "say /stop"}, text("say /stop")},
		{"another case", Inbound{Text: "/Stop"}, text("/Stop")},
		{"new", Inbound{Text: "/new"}, control(messagev1.New)},
		{"reset", Inbound{Text: "/reset"}, control(messagev1.New)},
		{"new with the past kept", Inbound{Text: "/new  keep\n"}, argued(messagev1.New, "keep")},
		{"reset with the past kept", Inbound{Text: "/reset keep"}, argued(messagev1.New, "keep")},
		{"new would lose the text", Inbound{Text: "/new hello"}, refused(messagev1.Denied, 10)},
		{"keep is one word", Inbound{Text: "/new keep it"}, refused(messagev1.Denied, 12)},
		{"compact", Inbound{Text: "/compact"}, control(messagev1.Compact)},
		{"compact would lose the text", Inbound{Text: "/compact all"}, refused(messagev1.Denied, 12)},
		{"which model", Inbound{Text: "/model"}, control(messagev1.Model)},
		{"a model", Inbound{Text: "\t/model   local/qwen3 \n"}, argued(messagev1.Model, "local/qwen3")},
		{"a model of many words", Inbound{Text: "/model a b\tc"}, argued(messagev1.Model, "a b\tc")},
		{"a model on the next line", Inbound{Text: "/model\r\nx"}, argued(messagev1.Model, "x")},
		{"an argument of two lines", Inbound{Text: "/model a\nb"}, refused(messagev1.Denied, 10)},
		{"an argument of two lines in Unicode", Inbound{Text: "/model a\u2028b"}, refused(messagev1.Denied, 12)},
		{"queue", Inbound{Text: "/queue"}, control(messagev1.Queue)},
		{"a queue mode", Inbound{Text: "/queue steer"}, argued(messagev1.Queue, "steer")},
		{"status", Inbound{Text: "/status"}, control(messagev1.Status)},
		{"status would lose the text", Inbound{Text: "/status of it"}, refused(messagev1.Denied, 13)},
		{"approve", Inbound{Text: "/approve"}, decision("", callv1.AllowOnce, "")},
		{"approve one", Inbound{Text: "/approve abcdefgh234"}, decision("abcdefgh234", callv1.AllowOnce, "")},
		{"approve one in capitals", Inbound{Text: "/approve ABCDEFGH234 \n"}, decision("abcdefgh234", callv1.AllowOnce, "")},
		{"approve always", Inbound{Text: "/approve always"}, decision("", callv1.AllowAlways, "")},
		{"approve one always", Inbound{Text: "/approve abcdefgh234  Always"}, decision("abcdefgh234", callv1.AllowAlways, "")},
		{"always comes last", Inbound{Text: "/approve always abcdefgh234"}, refused(messagev1.Denied, 27)},
		{"approve two", Inbound{Text: "/approve abcdefgh234 abcdefgh235"}, refused(messagev1.Denied, 32)},
		{"no id: another letter first", Inbound{Text: "/approve bbcdefgh234"}, refused(messagev1.Denied, 20)},
		{"no id: too short", Inbound{Text: "/approve abcdefgh23"}, refused(messagev1.Denied, 19)},
		{"no id: too long", Inbound{Text: "/approve abcdefgh2345"}, refused(messagev1.Denied, 21)},
		{"no id: a digit of others", Inbound{Text: "/approve abcdefgh231"}, refused(messagev1.Denied, 20)},
		{"no id: a letter that folds to k", Inbound{Text: "/approve a\u212Abcdefg2"}, refused(messagev1.Denied, 20)},
		{"a yes with a condition is none", Inbound{Text: "/approve abcdefgh234 but not the last"}, refused(messagev1.Denied, 37)},
		{"not always", Inbound{Text: "/approve not always"}, refused(messagev1.Denied, 19)},
		{"approve in two lines", Inbound{Text: "/approve abcdefgh234\nalways"}, refused(messagev1.Denied, 27)},
		{"approved is a word", Inbound{Text: "/approved"}, text("/approved")},
		{"approve in another case", Inbound{Text: "/Approve"}, text("/Approve")},
		{"approve is not the first word", Inbound{Text: "please /approve"}, text("please /approve")},
		{"deny", Inbound{Text: "/deny"}, decision("", callv1.Deny, "")},
		{"deny one", Inbound{Text: "/deny Abcdefgh234"}, decision("abcdefgh234", callv1.Deny, "")},
		{"deny one for a reason", Inbound{Text: "/deny abcdefgh234  not before noon "}, decision("abcdefgh234", callv1.Deny, "not before noon")},
		{"deny for a reason", Inbound{Text: "/deny always ask me first"}, decision("", callv1.Deny, "always ask me first")},
		{"a reason of two lines", Inbound{Text: "/deny abcdefgh234 a\nb"}, refused(messagev1.Denied, 21)},
		{"a reason on the next line", Inbound{Text: "/deny abcdefgh234\nb"}, decision("abcdefgh234", callv1.Deny, "b")},
		{
			"the longest reason",
			Inbound{Verb: messagev1.Deny, Argument: "abcdefgh234 " + strings.Repeat("x", 500)},
			decision("abcdefgh234", callv1.Deny, strings.Repeat("x", 500)),
		},
		{"a longer reason", Inbound{Verb: messagev1.Deny, Argument: "abcdefgh234 " + strings.Repeat("x", 501)}, refused(messagev1.Denied, 513)},
		{"a reason that is not UTF-8", Inbound{Verb: messagev1.Deny, Argument: "\xff"}, refused(messagev1.Denied, 1)},
		{"a reason with an escape sequence", Inbound{Verb: messagev1.Deny, Argument: "\x1b[31m"}, refused(messagev1.Denied, 5)},
		{"approve as a verb", Inbound{Verb: messagev1.Approve, Argument: " abcdefgh234 always "}, decision("abcdefgh234", callv1.AllowAlways, "")},
		{"approve as a verb, in two lines", Inbound{Verb: messagev1.Approve, Argument: "abcdefgh234\nalways"}, refused(messagev1.Denied, 18)},
		{"an edit decides nothing", Inbound{Text: "/approve", Edits: "m1"}, messagev1.Edited{Message: "m1", From: from, Text: "/approve"}},
		{"models are a word", Inbound{Text: "/models"}, text("/models")},
		{"an unknown command is text", Inbound{Text: "/hello"}, text("/hello")},
		{"help", Inbound{Text: "/help"}, messagev1.Control{From: from, Verb: messagev1.Help}},
		{"what Telegram begins with", Inbound{Text: "/start deep-link"}, messagev1.Control{From: from, Verb: messagev1.Help}},
		{"a forwarded command is text", Inbound{Text: "/stop", Forwarded: "Eve"}, messagev1.Received{From: from, Text: "/stop", Forwarded: "Eve"}},
		{
			"a picture without a text",
			Inbound{Files: []messagev1.File{{Kind: messagev1.Photo}}},
			messagev1.Received{From: from, Files: []messagev1.File{{Kind: messagev1.Photo}}},
		},
		{"who is not let in", Inbound{Text: "/stop", Refusal: "no", Tell: true}, messagev1.Refused{From: from, Reason: messagev1.Denied, Bytes: 5, Tell: true}},
		{
			"a reaction",
			Inbound{Reaction: &messagev1.Reacted{Native: "7", Emoji: []string{"👍"}}},
			messagev1.Reacted{From: from, Native: "7", Emoji: []string{"👍"}},
		},
		{
			"a quote",
			Inbound{Text: "yes", Native: "8", Group: true, Quote: &messagev1.Quote{Native: "7", From: "A\nnn", Text: "a\x00?"}},
			messagev1.Received{From: from, Text: "yes", Native: "8", Group: true, Quote: &messagev1.Quote{Native: "7", From: "A nn", Text: "a?"}},
		},
		{"a verb", Inbound{Verb: messagev1.Stop, Text: "ignored"}, control(messagev1.Stop)},
		{"a verb and its argument", Inbound{Verb: messagev1.Model, Argument: " x "}, argued(messagev1.Model, "x")},
		{"the longest argument", Inbound{Verb: messagev1.Queue, Argument: strings.Repeat("x", 200)}, argued(messagev1.Queue, strings.Repeat("x", 200))},
		{"a longer argument", Inbound{Verb: messagev1.Queue, Argument: strings.Repeat("x", 201)}, refused(messagev1.Denied, 201)},
		{"an argument that is not UTF-8", Inbound{Verb: messagev1.Model, Argument: "\xff"}, refused(messagev1.Denied, 1)},
		{"an argument with an escape sequence", Inbound{Verb: messagev1.Model, Argument: "\x1b[31m"}, refused(messagev1.Denied, 5)},
		{"a stop takes no argument", Inbound{Verb: messagev1.Stop, Argument: "a\nb"}, control(messagev1.Stop)},
		{"keep as an argument", Inbound{Verb: messagev1.New, Argument: "keep"}, argued(messagev1.New, "keep")},
		{"another argument of new", Inbound{Verb: messagev1.New, Argument: "x"}, refused(messagev1.Denied, 1)},
		{"an argument of status", Inbound{Verb: messagev1.Status, Argument: "x"}, refused(messagev1.Denied, 1)},
		{"an unknown verb", Inbound{Verb: "dance"}, refused(messagev1.Denied, 0)},
		{"an edit", Inbound{Text: "b", Edits: "m1"}, messagev1.Edited{Message: "m1", From: from, Text: "b"}},
		{"an edit is no command", Inbound{Text: "/stop", Edits: "m1"}, messagev1.Edited{Message: "m1", From: from, Text: "/stop"}},
		{"an empty edit", Inbound{Edits: "m1"}, refused(messagev1.Empty, 0)},
	} {
		t.Run(tc.name, func(t *testing.T) {
			tc.in.From = from
			got := Admit(tc.in, Limits{MaxBytes: 64})
			if r, ok := got.(messagev1.Refused); ok {
				if r.Detail == "" {
					t.Error("a refusal without a detail")
				}
				r.Detail = ""
				got = r
			}
			if !reflect.DeepEqual(got, tc.want) {
				t.Errorf("got %#v, want %#v", got, tc.want)
			}
		})
	}
}

func TestSenderNames(t *testing.T) {
	for in, want := range map[string]string{
		"Ann":                          "Ann",
		"\x20Ann\n\tLee\x20":           "Ann Lee",
		"A\x1b[1mnn\x00":               "A[1mnn",
		"\xff":                         "\uFFFD",
		strings.Repeat("ä", 100):       strings.Repeat("ä", 64),
		"x" + strings.Repeat("ä", 100): "x" + strings.Repeat("ä", 63),
	} {
		got := Admit(Inbound{From: messagev1.Sender{ID: "local", Name: in}, Text: "a"}, DefaultLimits()).(messagev1.Received).From.Name
		if got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
}

// TestAdmitAlways checks for any bytes that what is admitted is text, and that admitting it again changes nothing.
func TestAdmitAlways(t *testing.T) {
	l := Limits{MaxBytes: 60}
	rapid.Check(t, func(t *rapid.T) {
		in := Inbound{
			From:  messagev1.Sender{ID: "local", Name: string(rapid.SliceOf(rapid.Byte()).Draw(t, "name"))},
			Text:  rapid.OneOf(rapid.String(), rapid.Map(rapid.String(), func(s string) string { return "/model " + s }), rapid.Map(rapid.String(), func(s string) string { return "/deny " + s }), rapid.Map(rapid.SliceOfN(rapid.SampledFrom([]string{"abcdefgh234", "always", "x", " ", "\n"}), 0, 6), func(s []string) string { return "/approve " + strings.Join(s, " ") }), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) })).Draw(t, "text"),
			Edits: rapid.SampledFrom([]string{"", "m1"}).Draw(t, "edits"),
		}
		got := Admit(in, l)
		text := ""
		switch b := got.(type) {
		case messagev1.Received:
			text = b.Text
			in.From = b.From
		case messagev1.Edited:
			text = b.Text
			in.From = b.From
		case messagev1.Control:
			if len(b.Argument) > maxArgument || !utf8.ValidString(b.Argument) || strings.ContainsAny(b.Argument, "\n\x00\x1b") {
				t.Fatalf("command %+v", b)
			}
			return
		case messagev1.Decision:
			if b.Approval != "" && ApprovalID(b.Approval) != b.Approval || !b.Decision.Valid() || b.Decision.Allows() && b.Reason != "" ||
				len(b.Reason) > maxReason || !utf8.ValidString(b.Reason) || strings.ContainsAny(b.Reason, "\n\x00\x1b") {
				t.Fatalf("decision %+v", b)
			}
			if b.Decision.Allows() { // nothing is read into it
				rest := strings.Replace(strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(in.Text), "/approve")), b.Approval, "", 1)
				if rest = strings.TrimSpace(rest); (rest == "always") != (b.Decision == callv1.AllowAlways) || rest != "" && rest != "always" {
					t.Fatalf("%q becomes %+v", in.Text, b)
				}
			}
			return
		case messagev1.Refused:
			if b.Detail == "" || b.Reason == "" || b.Bytes != len(in.Text) {
				t.Fatalf("refusal %+v", b)
			}
			return
		}
		if strings.TrimSpace(text) == "" || !utf8.ValidString(text) || len(text) > l.MaxBytes || strings.ContainsFunc(text, dropped) {
			t.Fatalf("admitted %q", text)
		}
		in.Text = text
		if again := Admit(in, l); !reflect.DeepEqual(again, got) {
			t.Fatalf("admitted again: %#v, first %#v", again, got)
		}
	})
}
