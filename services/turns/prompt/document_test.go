package prompt_test

import (
	"strings"
	"testing"

	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/toolv1"
	"github.com/jetclaw/jetclaw/services/turns/offer"
	"github.com/jetclaw/jetclaw/services/turns/prompt"
	"github.com/jetclaw/jetclaw/services/turns/turn"
)

const someDigest = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824"

// reading is what is shown where read_attachment is offered.
func reading() prompt.Input {
	tools, names := offer.Portable([]toolv1.Tool{{Name: "now"}, {Name: "read_attachment"}}, offer.OpenAI)
	return prompt.Input{Tools: tools, Names: names}
}

func withFiles(list ...messagev1.File) turn.Entry { return message("", turn.Beside{Files: list}) }

// A document that looks like text has the id by which it is read; of another one it is told that it cannot be.
func TestDocuments(t *testing.T) {
	const (
		readable = "; read_attachment " + someDigest + "]"
		closed   = "] (it cannot be opened here)"
		plain    = "]"
	)
	for _, c := range []struct {
		kind       messagev1.Kind
		name, mime string
		end        string
	}{
		{messagev1.Document, "notes.txt", "text/plain", readable},
		{messagev1.Document, "notes", "text/plain; charset=utf-8", readable},
		{messagev1.Document, "NOTES.MD", "application/octet-stream", readable},
		{messagev1.Document, "table.csv", "application/vnd.ms-excel", readable},
		{messagev1.Document, "data.json", "application/json", readable},
		{messagev1.Document, "data", "application/ld+json", readable},
		{messagev1.Document, "feed", "application/atom+xml", readable},
		{messagev1.Document, "drawing.svg", "image/svg+xml", readable},
		{messagev1.Document, "main.ts", "video/mp2t", readable},
		{messagev1.Document, "Makefile", "", readable},
		{messagev1.Document, ".env", "", readable},
		{messagev1.Document, "page.png", "text/html", readable},
		{"hologram", "x.yaml", "", readable},
		{messagev1.Document, "report.pdf", "application/pdf", closed},
		{messagev1.Document, "letter.docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document", closed},
		{messagev1.Document, "all.zip", "application/zip", closed},
		{messagev1.Document, "photo.heic", "image/heic", closed},
		{messagev1.Document, "txt", "", closed},
		{messagev1.Document, "", "", closed},
		{"hologram", "", "", closed},
		{messagev1.Voice, "", "audio/ogg", plain},
		{messagev1.Video, "film.mp4", "video/mp4", plain},
		{messagev1.Document, "photo.png", "image/png", "] (this model cannot see pictures)"},
	} {
		f := messagev1.File{Kind: c.kind, Name: c.name, Type: c.mime, Digest: someDigest}
		got := shownMessage(reading(), withFiles(f))
		if !strings.HasSuffix(got, c.end) || c.end != readable && strings.Contains(got, "read_attachment") || c.end != closed && strings.Contains(got, "opened") {
			t.Errorf("%s %s is shown as %q, want an end like %q", c.name, c.mime, got, c.end)
		}
		f.Digest, f.Missing = "", "too large"
		if got := shownMessage(reading(), withFiles(f)); !strings.HasSuffix(got, ", not there: too large]") {
			t.Errorf("%s is not there, and shown as %q", c.name, got)
		}
		checkPlan(t, asked(reading(), withFiles(f)))
	}
}

func TestALineOfADocument(t *testing.T) {
	notes := messagev1.File{Kind: messagev1.Document, Name: "notes.txt", Type: "text/plain", Size: 21, Digest: someDigest}
	const want = "[document notes.txt, text/plain, 21 bytes; read_attachment " + someDigest + "]"
	if got := shownMessage(reading(), withFiles(notes)); got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	// Where nothing reads it, nothing is promised.
	if got := shownMessage(prompt.Input{}, withFiles(notes)); got != "[document notes.txt, text/plain, 21 bytes] (it cannot be opened here)" {
		t.Errorf("without the tool: %q", got)
	}
	// People, and a summary, are told what was sent, without what only a call needs.
	if got := prompt.Said(withFiles(notes)); got != "[document notes.txt, text/plain, 21 bytes]" {
		t.Errorf("said: %q", got)
	}
	// A later turn can read it, too; and the room that ids take is counted.
	in := reading()
	in.State.Past = []turn.Exchange{{Turn: "t0", Entries: []turn.Entry{withFiles(notes)}}}
	p := prompt.Build(in)
	if !strings.HasSuffix(p.Messages[1].Text, want) {
		t.Errorf("later: %q", p.Messages[1].Text)
	}
	for _, part := range p.Parts {
		if part.Name == "turn t0" && part.Tokens < prompt.Tokens(want) {
			t.Errorf("it counts as %d tokens", part.Tokens)
		}
	}
}
