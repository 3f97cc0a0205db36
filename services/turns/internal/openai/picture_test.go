package openai_test

import (
	"encoding/json"
	"io"
	"net/http"
	"testing"

	"github.com/jetclaw/jetclaw/services/turns/internal/provider/providertest"
	"github.com/jetclaw/jetclaw/services/turns/model"
	"github.com/jetclaw/jetclaw/services/turns/turn"
)

// TestPictures: a message with pictures is sent in parts, one without as the text that it always was.
func TestPictures(t *testing.T) {
	var got struct{ Messages json.RawMessage }
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if err := json.Unmarshal(body, &got); err != nil {
			t.Errorf("%s: %v", body, err)
		}
		send(w, text("ok"), finish("stop"), "[DONE]")
	})
	if _, err := providertest.Generate(t.Context(), t, c, model.Request{Messages: []model.Message{
		{Role: turn.User, Text: "hi"},
		{Role: turn.User, Text: "what are these?", Images: []model.Image{
			{Type: "image/png", Data: []byte("\x89PNG\xff\xfe"), Digest: "d", Label: "photo"}, {Type: "image/webp", Data: []byte("RIFF")},
		}},
		{Role: turn.User, Images: []model.Image{{Type: "image/gif", Data: []byte("GIF89a")}}},
	}}); err != nil {
		t.Fatal(err)
	}
	want := `[{"role":"user","content":"hi"},` +
		`{"role":"user","content":[{"type":"text","text":"what are these?"},` +
		`{"type":"image_url","image_url":{"url":"data:image/png;base64,iVBOR//+"}},{"type":"image_url","image_url":{"url":"data:image/webp;base64,UklGRg=="}}]},` +
		`{"role":"user","content":[{"type":"image_url","image_url":{"url":"data:image/gif;base64,R0lGODlh"}}]}]`
	if string(got.Messages) != want {
		t.Errorf("sent\n%s\nwant\n%s", got.Messages, want)
	}
}
