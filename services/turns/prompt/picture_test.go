package prompt_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/services/turns/prompt"
	"github.com/jetclaw/jetclaw/services/turns/turn"
)

func picture(digest string, size int64) messagev1.File {
	return messagev1.File{Kind: messagev1.Photo, Type: "image/jpeg", Size: size, Digest: digest}
}

// sent are the digests of a request's pictures, in the order in which the model gets them.
func sent(p prompt.Plan) string {
	var out []string
	for _, m := range p.Messages {
		for _, i := range m.Images {
			out = append(out, i.Digest)
			if !strings.Contains(m.Text, "["+i.Label+"]") {
				out = append(out, "without its line")
			}
		}
	}
	return strings.Join(out, " ")
}

// photos is a finished turn with one picture each.
func photos(digests ...string) []turn.Exchange {
	var past []turn.Exchange
	for _, d := range digests {
		x := chat("t"+d, "look", "nice")
		x.Entries[0].Beside = &turn.Beside{Files: []messagev1.File{picture(d, 1000)}}
		past = append(past, x)
	}
	return past
}

func TestWhichPicturesAreShown(t *testing.T) {
	now := func(files ...messagev1.File) *turn.Turn {
		return &turn.Turn{ID: "now", Entries: []turn.Entry{message("and this?", turn.Beside{Files: files})}}
	}
	nine := photos("1", "2", "3", "4", "5", "6", "7", "8", "9")
	for _, c := range []struct {
		name   string
		in     prompt.Input
		want   string
		tokens int
	}{
		{"the newest", prompt.Input{State: turn.State{Past: nine, Turn: now(picture("a", 1), picture("b", 1))}}, "4 5 6 7 8 9 a b", 8000},
		{"with the next message", prompt.Input{State: turn.State{Past: nine}}, "2 3 4 5 6 7 8 9", 8000},
		{"what is too large is passed over", prompt.Input{State: turn.State{Past: photos("1"), Turn: now(picture("a", 9<<20), picture("b", 1))}}, "1 b", 2000},
		{"all together", prompt.Input{State: turn.State{Past: photos("1"), Turn: now(picture("a", 5<<20), picture("b", 4<<20))}}, "1 b", 2000},
		{"the same one once", prompt.Input{State: turn.State{Past: photos("1", "2", "1"), Turn: now(picture("2", 1))}}, "1 2", 2000},
		{"a small window", prompt.Input{Window: 8000, Output: 1000, State: turn.State{Past: nine, Turn: now(picture("a", 1))}}, "8 9 a", 3000},
		{"a tiny one", prompt.Input{Window: 2000, State: turn.State{Past: nine, Turn: now(picture("a", 1))}}, "", 0},
		{"no pictures", prompt.Input{State: turn.State{Turn: now(
			messagev1.File{Kind: messagev1.Photo, Missing: "gone"}, messagev1.File{Kind: messagev1.Document, Type: "application/pdf", Digest: "p"},
			messagev1.File{Kind: messagev1.Sticker, Digest: "s"}, messagev1.File{Kind: messagev1.Photo, Type: "image/tiff", Digest: "t"},
		)}}, "", 0},
		{"pictures by their type", prompt.Input{State: turn.State{Turn: now(
			messagev1.File{Kind: messagev1.Document, Type: "image/PNG; x=y", Digest: "p"}, messagev1.File{Kind: messagev1.Sticker, Type: "image/webp", Digest: "s"},
			messagev1.File{Kind: messagev1.Photo, Digest: "t"},
		)}}, "p s t", 3000},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.in.Sees = true
			p := prompt.Build(c.in)
			checkPlan(t, p)
			i := slices.IndexFunc(p.Parts, func(part prompt.Part) bool { return part.Name == "pictures" })
			tokens := 0
			if i >= 0 {
				tokens = p.Parts[i].Tokens
			}
			if got := sent(p); got != c.want || tokens != c.tokens {
				t.Errorf("got %q for %d tokens, want %q for %d", got, tokens, c.want, c.tokens)
			}
			c.in.Sees = false
			if p := prompt.Build(c.in); sent(p) != "" {
				t.Errorf("a model that cannot see is sent %s", sent(p))
			}
		})
	}
}

// Pictures count: with them, less of the past fits; one of a turn that is left out is not sent, and does not count.
func TestPicturesTakeRoom(t *testing.T) {
	words := strings.Repeat("some words ", 150)
	in := prompt.Input{Window: 10_000, Output: 2000, Sees: true}
	for i := range 30 {
		in.State.Past = append(in.State.Past, chat(fmt.Sprint("t", i), words, words))
	}
	in.State.Turn = &turn.Turn{ID: "now", Entries: []turn.Entry{said(turn.User, "and now?")}}
	without := prompt.Build(in)
	for _, i := range []int{0, 28, 29} {
		in.State.Past[i].Entries[0].Beside = &turn.Beside{Files: []messagev1.File{picture(fmt.Sprint("p", i), 1000)}}
	}
	p := prompt.Build(in)
	checkPlan(t, p)
	if sent(p) != "p28 p29" || p.LeftOut <= without.LeftOut+1 || p.Tokens > 8000 {
		t.Errorf("sent %q, %d turns left out (without pictures %d), %d tokens of 8,000", sent(p), p.LeftOut, without.LeftOut, p.Tokens)
	}
	in.State.Turn.Overflows = 2 // a quarter of the budget: too little for a picture
	if p := prompt.Build(in); sent(p) != "p29" || p.Tokens > 2000 {
		t.Errorf("after overflows %q is sent, in %d tokens", sent(p), p.Tokens)
	}
}

// What is not shown stays as a line that says so.
func TestOlderPicturesStayAsLines(t *testing.T) {
	in := prompt.Input{Sees: true, State: turn.State{Past: photos("1", "2", "3", "4", "5", "6", "7", "8", "9")}}
	p := prompt.Build(in)
	var texts []string
	for _, m := range p.Messages {
		if m.Role == turn.User {
			texts = append(texts, m.Text)
		}
	}
	if texts[0] != "look\n[photo, 1 KB] (not shown any more)" || texts[1] != "look\n[photo, 1 KB]" {
		t.Errorf("got %q", texts)
	}
}
