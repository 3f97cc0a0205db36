package thread

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/jetclaw/jetclaw/schemas/messagev1"
)

func TestAdmit(t *testing.T) {
	from := messagev1.Sender{ID: "local", Name: "Ann"}
	text := func(s string) messagev1.Event { return messagev1.Received{From: from, Text: s} }
	control := func(v messagev1.Verb) messagev1.Event { return messagev1.Control{From: from, Verb: v} }
	argued := func(v messagev1.Verb, arg string) messagev1.Event {
		return messagev1.Control{From: from, Verb: v, Argument: arg}
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
		{"models are a word", Inbound{Text: "/models"}, text("/models")},
		{"an unknown command is text", Inbound{Text: "/help"}, text("/help")},
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
			if got != tc.want {
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
	l := Limits{MaxBytes: 40}
	rapid.Check(t, func(t *rapid.T) {
		in := Inbound{
			From:  messagev1.Sender{ID: "local", Name: string(rapid.SliceOf(rapid.Byte()).Draw(t, "name"))},
			Text:  rapid.OneOf(rapid.String(), rapid.Map(rapid.String(), func(s string) string { return "/model " + s }), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) })).Draw(t, "text"),
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
		if again := Admit(in, l); again != got {
			t.Fatalf("admitted again: %#v, first %#v", again, got)
		}
	})
}
