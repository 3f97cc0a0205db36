package model_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/jetclaw/jetclaw/services/turns/model"
	"github.com/jetclaw/jetclaw/services/turns/turn"
)

// A request without pictures says what is not shown; the one that it was made of is as it was.
func TestWithoutImages(t *testing.T) {
	r := model.Request{Messages: []model.Message{
		{Role: turn.User, Text: "look", Images: []model.Image{{Label: "photo a", Data: []byte("a")}, {Label: "photo b", Data: []byte("b")}}},
		{Role: turn.User, Text: "hi"},
	}}
	got := r.WithoutImages("why not")
	if text := got.Messages[0].Text; text != "look\n[not shown: photo a: why not]\n[not shown: photo b: why not]" || got.HasImages() || got.Messages[1].Text != "hi" {
		t.Errorf("got %+v", got)
	}
	if !r.HasImages() || len(r.Messages[0].Images) != 2 || r.Messages[0].Images[0].Label != "photo a" || r.Messages[0].Text != "look" {
		t.Errorf("it is written to: %+v", r)
	}
	data, err := json.Marshal(r)
	if err != nil || strings.Contains(string(data), "YQ==") {
		t.Errorf("bytes leave it: %s, %v", data, err)
	}
}
