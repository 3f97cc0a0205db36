package anthropic_test

import (
	"encoding/json"
	"io"
	"net/http"
	"testing"

	"github.com/jetclaw/jetclaw/services/turns/internal/provider/providertest"
	"github.com/jetclaw/jetclaw/services/turns/model"
	"github.com/jetclaw/jetclaw/services/turns/turn"
)

// TestPictures: they are blocks before the text of their message, behind the results of the calls before.
func TestPictures(t *testing.T) {
	var got struct{ Messages json.RawMessage }
	m := providertest.New(newModel).Serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if err := json.Unmarshal(body, &got); err != nil {
			t.Errorf("%s: %v", body, err)
		}
		_, _ = io.WriteString(w, event(start)+block(0, "hi")+end("end_turn"))
	})
	if _, err := providertest.Generate(t.Context(), t, m, model.Request{Messages: []model.Message{
		{Role: turn.User, Text: "look"},
		{Role: turn.Assistant, Calls: []turn.Call{{ID: "c1", Tool: "now", Arguments: `{}`}}},
		{Role: turn.Tool, Call: "c1", Name: "now", Text: "noon"},
		{Role: turn.User, Text: "and this?", Images: []model.Image{{Type: "image/png", Data: []byte("\x89PNG\xff\xfe"), Digest: "d", Label: "photo"}}},
		{Role: turn.User, Images: []model.Image{{Type: "image/gif", Data: []byte("GIF89a")}}},
	}}); err != nil {
		t.Fatal(err)
	}
	want := `[{"content":[{"text":"look","type":"text"}],"role":"user"},` +
		`{"content":[{"id":"c1","input":{},"name":"now","type":"tool_use"}],"role":"assistant"},` +
		`{"content":[{"tool_use_id":"c1","content":[{"text":"noon","type":"text"}],"type":"tool_result"},` +
		`{"source":{"data":"iVBOR//+","media_type":"image/png","type":"base64"},"type":"image"},{"text":"and this?","type":"text"},` +
		`{"source":{"data":"R0lGODlh","media_type":"image/gif","type":"base64"},"type":"image"}],"role":"user"}]`
	if string(got.Messages) != want {
		t.Errorf("sent\n%s\nwant\n%s", got.Messages, want)
	}
}
