package telegram

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/fake/faketelegram"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/services/internal/botapi"
)

const jpeg = "\xff\xd8\xff\xe0 a picture"

func TestFiles(t *testing.T) {
	s, h := fake(t, faketelegram.Options{}), newHouse()
	run(t, h, s.URL())
	say := func(text string, o faketelegram.Option) { s.Say("", faketelegram.Private(ann), ann, text, o) }
	say("photo", faketelegram.Photo(faketelegram.Attachment{Data: []byte(jpeg)}))
	say("document", faketelegram.Document(faketelegram.Attachment{Name: "../a\nreport.pdf", Mime: "Application/PDF; x=y", Data: []byte("%PDF-1.7")}))
	say("", faketelegram.Voice(faketelegram.Attachment{Mime: "audio/ogg", Data: []byte("OggS")}))
	say("", faketelegram.Sticker("😀"))
	say("too large", faketelegram.Video(faketelegram.Attachment{Name: "film.mp4", Mime: "video/mp4", Size: 21 << 20}))
	say("a lie", faketelegram.Document(faketelegram.Attachment{Name: "x.png", Mime: "image/png", Data: []byte("<html>")}))
	got := h.waitFor(t, 6)
	for i, want := range []messagev1.File{
		{Kind: messagev1.Photo, Type: "image/jpeg", Size: int64(len(jpeg)), Width: 1280, Height: 960},
		{Kind: messagev1.Document, Name: "a report.pdf", Type: "application/pdf", Size: 8},
		{Kind: messagev1.Voice, Type: "audio/ogg", Size: 4, Seconds: 3},
		{Kind: messagev1.Sticker, Name: "😀", Size: 7, Width: 512, Height: 512, Type: "text/plain"},
		{Kind: messagev1.Video, Name: "film.mp4", Type: "video/mp4", Size: 21 << 20, Width: 640, Height: 480, Seconds: 12, Missing: tooBig},
		{Kind: messagev1.Document, Name: "x.png", Type: "text/html", Size: 6},
	} {
		if len(got[i].Files) != 1 {
			t.Fatalf("%q has %d files", got[i].Text, len(got[i].Files))
		}
		f := got[i].Files[0]
		if (f.Digest == "") != (want.Missing != "") {
			t.Errorf("%q: digest %q", got[i].Text, f.Digest)
		}
		f.Digest = ""
		if f != want {
			t.Errorf("%q: %+v, want %+v", got[i].Text, f, want)
		}
	}
	if got[3].Text != "" { // its line is that of the file
		t.Errorf("sticker: %q", got[3].Text)
	}
	for _, c := range s.Calls() {
		if c.Method == "getFile" && c.Status == 400 {
			t.Error("a file that is known to be too large is asked for")
		}
	}
}

// What cannot be fetched is missing from the message, not the message from the journal.
func TestFilesThatFail(t *testing.T) {
	for _, tc := range []struct {
		name    string
		faults  []faketelegram.Fault
		missing string // "": it is there
		keep    func() error
	}{
		{"twice", []faketelegram.Fault{{Method: "getFile", Status: 502, Times: 2}}, "", nil},
		{"each time", []faketelegram.Fault{{Method: "getFile", HTML: true, Times: 3}}, "it could not be fetched: ", nil},
		{"cut", []faketelegram.Fault{{Method: "file", Close: true, Times: -1}}, "it could not be fetched: ", nil},
		{"cut once", []faketelegram.Fault{{Method: "file", Close: true}}, "", nil},
		{"for good", []faketelegram.Fault{{Method: "getFile", Status: 400, Description: "Bad Request: wrong file_id"}}, "wrong file_id", nil},
		{"too big", []faketelegram.Fault{{Method: "getFile", Status: 400, Description: "Bad Request: file is too big"}}, tooBig, nil},
		{"no room", nil, "it could not be kept: there is no room for it", func() error { return fault.New(fault.Full, "full") }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			s, h := fake(t, faketelegram.Options{}), newHouse()
			h.keep = tc.keep
			for _, f := range tc.faults {
				s.Fail(f)
			}
			run(t, h, s.URL())
			s.Say("", faketelegram.Private(ann), ann, "look", faketelegram.Photo(faketelegram.Attachment{Data: []byte(jpeg)}))
			f := h.waitFor(t, 1)[0].Files[0]
			if tc.missing == "" && (f.Missing != "" || f.Digest == "") || !strings.Contains(f.Missing, tc.missing) || strings.Contains(f.Missing, canary) {
				t.Errorf("%+v", f)
			}
			confirmed(t, s)
		})
	}
}

// A slow file holds up its own chat, and no other; nobody's files are fetched who is not let in.
func TestSlowFile(t *testing.T) {
	s, h := fake(t, faketelegram.Options{}), newHouse()
	s.Fail(faketelegram.Fault{Method: "file", Delay: time.Hour})
	run(t, h, s.URL(), func(c *Config) { c.Pace.Fetch = 400 * time.Millisecond })
	s.Say("", faketelegram.Private(ann), ann, "look", faketelegram.Photo(faketelegram.Attachment{Data: []byte(jpeg)}))
	s.Say("", faketelegram.Private(ann), ann, "behind it")
	s.Say("", faketelegram.Supergroup(-100777, "unlisted"), bob, "x", faketelegram.Photo(faketelegram.Attachment{Data: []byte(jpeg)}))
	for i := range 5 {
		s.Say("", faketelegram.Private(bob), bob, fmt.Sprint(i))
	}
	got := h.waitFor(t, 7)
	for _, r := range got[:5] {
		if r.Session == annSession {
			t.Errorf("%q did not wait for the file before it, or others did", r.Text)
		}
	}
	if f := got[5].Files; got[6].Text != "behind it" || len(f) != 1 || !strings.HasPrefix(f[0].Missing, "it could not be fetched: ") {
		t.Errorf("%+v", got[5:])
	}
	confirmed(t, s)
	files := 0
	for _, c := range s.Calls() {
		if c.Method == "getFile" {
			files++
		}
	}
	if files != 1 {
		t.Errorf("%d files were asked for", files)
	}
}

func TestSizeOf(t *testing.T) {
	size := func(w, h int) botapi.PhotoSize { return botapi.PhotoSize{Width: w, Height: h} }
	for _, tc := range []struct {
		sizes []botapi.PhotoSize
		want  botapi.PhotoSize
	}{
		{[]botapi.PhotoSize{size(90, 67), size(320, 240), size(1280, 960), size(2560, 1920)}, size(1280, 960)},
		{[]botapi.PhotoSize{size(2560, 1920), size(1280, 960), size(90, 67)}, size(1280, 960)},
		{[]botapi.PhotoSize{size(3000, 10), size(1700, 1700), size(2000, 1)}, size(1700, 1700)},
		{[]botapi.PhotoSize{size(100, 1600), size(100, 1601)}, size(100, 1600)},
		{[]botapi.PhotoSize{size(0, 0)}, size(0, 0)},
	} {
		if got := sizeOf(tc.sizes); got != tc.want {
			t.Errorf("%v: %v", tc.sizes, got)
		}
	}
}

func TestNamesAndTypes(t *testing.T) {
	for in, want := range map[string]string{
		"a.pdf": "a.pdf", "../../etc/passwd": "passwd", `C:\x\y.doc`: "y.doc", "a\nb.txt": "a b.txt", "gpj.\u202eexe": "gpj.exe",
		"": "", "a/": "", strings.Repeat("é", 200): strings.Repeat("é", 98) + "…",
	} {
		if got := fileName(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
	for in, want := range map[string]string{
		"Text/Plain; charset=utf-8": "text/plain", "": "", "nonsense": "", "a/b c": "", "text/" + strings.Repeat("x", 200): "", "image/png\n": "image/png",
	} {
		if got := mediaType(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

// A person who sends more slow files than a poll holds does not keep others waiting for all of them.
func TestFilesDoNotHoldUpOthers(t *testing.T) {
	s, h := fake(t, faketelegram.Options{}), newHouse()
	const files, delay = 140, 50 * time.Millisecond
	s.Fail(faketelegram.Fault{Method: "file", Delay: delay, Times: files})
	for i := range files {
		s.Say("", faketelegram.Private(ann), ann, fmt.Sprint(i), faketelegram.Document(faketelegram.Attachment{Data: []byte("slow")}))
	}
	s.Say("", faketelegram.Private(bob), bob, "hello")
	run(t, h, s.URL(), func(c *Config) { c.Pace.Fetch = 6 * delay })
	got := h.waitFor(t, files+1)
	confirmed(t, s)
	before, fetched := true, 0
	for _, r := range got {
		switch {
		case string(r.Text) == "hello":
			before = false
		case before && r.Files[0].Digest != "":
			fetched++
		}
	}
	if fetched > 12 {
		t.Errorf("%d files were waited for before another chat's message was taken in", fetched)
	}
	s.Say("", faketelegram.Private(ann), ann, "one more", faketelegram.Document(faketelegram.Attachment{Data: []byte("slow")}))
	if last := h.waitFor(t, files+2)[files+1].Files; len(last) != 1 || last[0].Digest == "" {
		t.Errorf("when nobody waits all is fetched: %+v", last)
	}
}
