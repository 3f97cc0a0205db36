package turns_test

import (
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/turns"
)

// Beginnings of files: what they are says nothing but these.
const (
	png  = "\x89PNG\r\n\x1a\n and a picture"
	jpeg = "\xff\xd8\xff and a picture"
	page = "<html>a page</html>"
)

func encoded(data string) string { return base64.StdEncoding.EncodeToString([]byte(data)) }

// gallery is a model's server that notes what it is sent.
type gallery struct {
	mu     sync.Mutex
	bodies []string // guarded by mu
	answer func(w http.ResponseWriter, body string)
}

func (g *gallery) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	data, _ := io.ReadAll(r.Body)
	g.mu.Lock()
	g.bodies = append(g.bodies, string(data))
	g.mu.Unlock()
	g.answer(w, string(data))
}

func (g *gallery) asked() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.bodies)
}

// seeing starts the service with one model that is shown pictures, unless vision says otherwise.
func seeing(t *testing.T, api turns.API, vision turns.Vision, answer func(w http.ResponseWriter, body string)) (*house, *gallery) {
	t.Helper()
	g := &gallery{answer: answer}
	server := httptest.NewServer(g)
	t.Cleanup(server.Close)
	c, err := turns.NewCatalog(turns.CatalogConfig{
		Providers: map[string]turns.Provider{"local": {API: api, BaseURL: server.URL + "/v1", Vision: vision}}, Named: []string{"local/fake-1"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return startWith(t, turns.Config{Catalog: c}), g
}

// keep puts a file of the session into the object store.
func (h *house) keep(data string, kind messagev1.Kind, mediaType string) messagev1.File {
	h.t.Helper()
	digest, err := h.intake.PutFile(h.t.Context(), h.session, []byte(data))
	if err != nil {
		h.t.Fatal(err)
	}
	return messagev1.File{Kind: kind, Type: mediaType, Size: int64(len(data)), Digest: digest}
}

func speakOpenAI(w http.ResponseWriter, _ string) { speak(w, `{"content":"I see"}`) }

func speakAnthropic(w http.ResponseWriter, _ string) {
	for _, e := range []string{
		`{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","content":[],"usage":{"input_tokens":1,"output_tokens":1}}}`,
		`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"I see"}}`,
		`{"type":"content_block_stop","index":0}`,
		`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":2}}`,
		`{"type":"message_stop"}`,
	} {
		_, _ = io.WriteString(w, "data: "+e+"\n\n")
	}
}

// TestAModelIsShownPictures, over both protocols: what the bytes say counts, not what the sender has called them; what is no
// picture, or not there, is a line that says so, and fails nothing.
func TestAModelIsShownPictures(t *testing.T) {
	for _, c := range []struct {
		api    turns.API
		answer func(w http.ResponseWriter, body string)
		want   []string
	}{
		{turns.OpenAI, speakOpenAI, []string{`{"url":"data:image/png;base64,` + encoded(png) + `"}`, `{"url":"data:image/jpeg;base64,` + encoded(jpeg) + `"}`}},
		{turns.Anthropic, speakAnthropic, []string{
			`{"data":"` + encoded(png) + `","media_type":"image/png","type":"base64"}`, `{"data":"` + encoded(jpeg) + `","media_type":"image/jpeg","type":"base64"}`,
		}},
	} {
		t.Run(string(c.api), func(t *testing.T) {
			h, g := seeing(t, c.api, turns.VisionOn, c.answer)
			gone := messagev1.File{Kind: messagev1.Photo, Size: 7000, Digest: strings.Repeat("0", 64)}
			h.say(messagev1.Received{Text: "look", Files: []messagev1.File{
				h.keep(png, messagev1.Photo, "image/jpeg"), h.keep(jpeg, messagev1.Document, "image/jpeg"), h.keep(page, messagev1.Photo, "image/png"), gone,
			}}, "k1")
			if got := until[turnv1.Completed](h); got.Text != "I see" {
				t.Errorf("got %+v", got)
			}
			body := g.asked()[0]
			for _, want := range append(c.want,
				`look\n[photo, 22 bytes]`, `[not shown: photo, 19 bytes: it is not a picture that models read (JPEG, PNG, GIF, WebP)]`,
				`[not shown: photo, 7 KB: it could not be loaded]`,
			) {
				if strings.Count(body, want) != 1 {
					t.Errorf("the request lacks %s:\n%s", want, body)
				}
			}
			if strings.Contains(body, encoded(page)) {
				t.Errorf("the page is shown as a picture:\n%s", body)
			}
			// They are shown again with the next message: no bytes are kept in between.
			h.say(messagev1.Received{Text: "and?"}, "k2")
			until[turnv1.Completed](h)
			if body := g.asked()[1]; strings.Count(body, encoded(png)) != 1 {
				t.Errorf("the second request lacks the picture:\n%s", body)
			}
			got, err := bus.Ask[turns.Context](t.Context(), h.server.Connect(t, "cli"), "turns", "context", turns.ContextRequest{Session: string(h.session)})
			if err != nil {
				t.Fatal(err)
			}
			shown, err := json.Marshal(got)
			if err != nil || !strings.Contains(string(shown), `look\n[photo, 22 bytes]`) || !strings.Contains(string(shown), `"name":"pictures"`) || strings.Contains(string(shown), encoded(png)) {
				t.Errorf("the context is %s, %v", shown, err)
			}
		})
	}
}

// A model that cannot see is told what it was not shown. By its name, this one is none that can.
func TestAModelThatCannotSee(t *testing.T) {
	h, g := seeing(t, turns.OpenAI, turns.VisionAuto, speakOpenAI)
	h.say(messagev1.Received{Files: []messagev1.File{h.keep(png, messagev1.Photo, "image/png")}}, "k1")
	until[turnv1.Completed](h)
	if body := g.asked()[0]; !strings.Contains(body, `"content":"[photo, 22 bytes] (this model cannot see pictures)"`) || strings.Contains(body, encoded(png)) {
		t.Errorf("sent %s", body)
	}
}

// A provider that refuses pictures is asked once more without them.
func TestPicturesAreRefused(t *testing.T) {
	h, g := seeing(t, turns.OpenAI, turns.VisionOn, func(w http.ResponseWriter, body string) {
		if strings.Contains(body, "image_url") {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, `{"error":{"message":"image_url is only supported by certain models."}}`)
			return
		}
		speak(w, `{"content":"I am blind"}`)
	})
	h.say(messagev1.Received{Text: "look", Files: []messagev1.File{h.keep(png, messagev1.Photo, "image/png")}}, "k1")
	if got := until[turnv1.Completed](h); got.Text != "I am blind" {
		t.Errorf("got %+v", got)
	}
	if got := g.asked(); len(got) != 2 || !strings.Contains(got[1], `[photo, 22 bytes]\n[not shown: photo, 22 bytes: the model's provider does not take it]`) {
		t.Errorf("sent %q", got)
	}
}

// At most 8 MB are shown, newest first, whatever the sizes were said to be.
func TestPicturesAreBounded(t *testing.T) {
	h, g := seeing(t, turns.OpenAI, turns.VisionOn, speakOpenAI)
	var files []messagev1.File
	for _, first := range []string{"1", "2", "3"} {
		f := h.keep(png+first+strings.Repeat("x", 3<<20), messagev1.Photo, "image/png")
		f.Size = 0 // not known
		files = append(files, f)
	}
	h.say(messagev1.Received{Text: "look", Files: files}, "k1")
	until[turnv1.Completed](h)
	body := g.asked()[0]
	if n := strings.Count(body, "data:image/png"); n != 2 || strings.Contains(body, encoded(png+"1x")) ||
		!strings.Contains(body, `[not shown: photo: the pictures are too large together]`) {
		t.Errorf("%d pictures in %d bytes", n, len(body))
	}
}
