package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/secret"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/services/builtin/internal/document"
	"github.com/jetclaw/jetclaw/services/builtin/internal/tool"
)

// send keeps a file of the conversation, as its channel does.
func (h *house) send(data string) string {
	h.t.Helper()
	digest, err := h.gate.PutFile(h.t.Context(), somebody, []byte(data))
	if err != nil {
		h.t.Fatal(err)
	}
	return digest
}

func (h *house) attached(file string, from int) callv1.Completed {
	h.t.Helper()
	return h.run(callv1.Dispatched{Request: h.request(readAttachment, fmt.Sprintf(`{"file":%q,"from":%d}`, file, from))})
}

// TestADocumentIsRead: what people send can be read page by page, by its content, in its own conversation only, and without
// secrets. The executor reads it with its own permissions.
func TestADocumentIsRead(t *testing.T) {
	h := newHouse(t)
	if got := h.attached(h.send("hello "+canary+" bye"), 0); got.Outcome != callv1.OK || !got.Untrusted || got.Private ||
		got.Content != "hello "+secret.Removed+" bye" {
		t.Errorf("%+v", got)
	}
	if got := h.attached(strings.ToUpper(h.send("\xff\xfeh\x00i\x00")), 0); got.Outcome != callv1.OK || got.Content != "hi" {
		t.Errorf("%+v", got)
	}
	if got := h.attached(h.send(""), 0); got.Outcome != callv1.OK || got.Content != "[the file is empty]" {
		t.Errorf("%+v", got)
	}
	for name, c := range map[string]struct {
		data, want string
	}{
		"a PDF":     {"%PDF-1.7\n" + strings.Repeat("\x00", 120_000), "no text (application/pdf, 120 KB): it cannot be read here"},
		"a picture": {"\x89PNG\r\n\x1a\n\x00", "a picture (image/png, 9 bytes) and no text"},
		"Latin-1":   {"\xe9lan", "(4 bytes) is a text in an encoding that cannot be read here: ask for it in UTF-8"},
		"a program": {"\x7fELF\x00", "no text (application/octet-stream, 5 bytes)"},
	} {
		if got := h.attached(h.send(c.data), 0); got.Outcome != callv1.Error || !strings.Contains(got.Content, c.want) {
			t.Errorf("%s: %+v", name, got)
		}
	}
	own := h.send("hello")
	elsewhere, err := h.gate.PutFile(t.Context(), session.ID("main.http.test.other"), []byte("of another conversation"))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		file string
		from int
		want string
	}{
		"of another conversation": {elsewhere, 0, "has no file"},
		"a way there":             {"../main.http.test.other/" + elsewhere, 0, "is not the id of a file"},
		"a name":                  {"notes.txt", 0, "is not the id of a file"},
		"a part of an id":         {own[:62], 0, "is not the id of a file"},
		"nothing there":           {strings.Repeat("0", 64), 0, "has no file"},
		"beyond the end":          {own, 6, "the text of the file has 5 bytes: there is no byte 6"},
		"before the beginning":    {own, -1, "there is no byte -1"},
	} {
		if got := h.attached(c.file, c.from); got.Outcome != callv1.Refused || !strings.Contains(got.Content, c.want) {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// A long document comes in pages that are, one after the other, the text; each says how to read on, the last that it is the
// last.
func TestALongDocumentIsReadOn(t *testing.T) {
	h := newHouse(t)
	var long strings.Builder
	for i := range 9000 {
		fmt.Fprintf(&long, "line %d é\n", i)
	}
	file := h.send(long.String())
	var read strings.Builder
	for pages := 1; read.Len() < long.Len(); pages++ {
		from := read.Len()
		got := h.attached(file, from)
		page, note, _ := strings.Cut(got.Content, "\n[bytes ")
		read.WriteString(page)
		want := fmt.Sprintf(`%d to %d of %d; for more call read_attachment {"file":%q,"from":%d}]`, from, read.Len(), long.Len(), file, read.Len())
		if read.Len() == long.Len() {
			want = fmt.Sprintf("%d to %d: this is the end]", from, read.Len())
		}
		if got.Outcome != callv1.OK || !got.Untrusted || page == "" || note != want {
			t.Fatalf("page %d: %q, %+v", pages, note, got)
		}
	}
	if read.String() != long.String() {
		t.Errorf("%d bytes were read of %d", read.Len(), long.Len())
	}
}

// store is a place where the one file is, or is not to be had.
type store struct {
	data []byte
	err  error
}

func (s store) GetFile(context.Context, session.ID, string) ([]byte, error) { return s.data, s.err }

// reads is what the tool says to a call.
func reads(t *testing.T, s store, from int) (tool.Result, error) {
	t.Helper()
	args := fmt.Sprintf(`{"file":"%064d","from":%d}`, 0, from)
	return attachmentTool(s, secret.Compile([]string{canary})).Run(t.Context(), tool.Call{Session: somebody, Arguments: json.RawMessage(args)})
}

// Wherever a page begins or ends, no part of a secret is in it.
func TestPagesDivideNoSecret(t *testing.T) {
	text := strings.Repeat("x", pageBytes-len(canary)/2-1) + " " + canary + " end"
	first := strings.Index(text, canary) - 20
	for from := range len(text) - first + 1 {
		if from > 0 { // the first page ends in the secret, the others begin about it
			from += first - 1
		}
		got, err := reads(t, store{data: []byte(text)}, from)
		if err != nil && !tool.IsRefusal(err) {
			t.Fatal(err)
		}
		for i := 0; i+4 <= len(canary); i++ {
			if strings.Contains(got.Text, canary[i:i+4]) {
				t.Fatalf("from %d: it has %q", from, canary[i:i+4])
			}
		}
	}
}

// Of what is very long the beginning can be read, and the last page says that more is there.
func TestAVeryLongDocument(t *testing.T) {
	text := strings.Repeat(strings.Repeat("a", 1023)+"\n", document.MaxText>>10+10)
	got, err := reads(t, store{data: []byte(text)}, document.MaxText-10)
	want := strings.Repeat("a", 9) + fmt.Sprintf("\n\n[bytes %d to %d; 10240 bytes more of the file cannot be read here: ask for the part that matters]", document.MaxText-10, document.MaxText)
	if err != nil || got.Text != want || got.Cut != 10240 {
		t.Errorf("%+v, %v", got, err)
	}
}

// A store that does not answer says nothing of the file: the model may try again.
func TestTheStoreIsDown(t *testing.T) {
	if _, err := reads(t, store{err: errors.New("nats: timeout")}, 0); err == nil || tool.IsRefusal(err) || err.Error() != "the file cannot be read now; try again" {
		t.Error(err)
	}
}

func TestSchemaOfReadAttachment(t *testing.T) {
	var s jsonschema.Schema
	if err := json.Unmarshal(attachmentTool(nil, secret.Known{}).Schema, &s); err != nil {
		t.Fatal(err)
	}
	r, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	for args, good := range map[string]bool{
		`{"file":"x"}`: true, `{"file":"x","from":3}`: true, `{}`: false, `{"file":1}`: false, `{"file":"x","from":-1}`: false, `{"file":"x","session":"y"}`: false,
	} {
		var v any
		if err := json.Unmarshal([]byte(args), &v); err != nil {
			t.Fatal(err)
		}
		if err := r.Validate(v); (err == nil) != good {
			t.Errorf("%s: %v", args, err)
		}
	}
}
