package turns

import (
	"errors"
	"path"
	"slices"
	"testing"

	"github.com/jetclaw/jetclaw/services/turns/model"
)

func TestWhichModelsSee(t *testing.T) {
	for name, want := range map[string]bool{
		"gpt-4o-mini": true, "gpt-4o": true, "gpt-4.1-nano": true, "GPT-5.2": true, "gpt-5-mini": true, "o3": true, "o3-mini": false, "o4-mini": true,
		"o1": true, "o1-mini": false, "gpt-4": false, "gpt-3.5-turbo": false, "gpt-oss:20b": false, "gpt-4o-audio-preview": false,
		"claude-sonnet-5-5": true, "claude-2.1": false, "eu.anthropic.claude-sonnet-4-v1:0": true, "anthropic/claude-opus-4": true,
		"gemini-2.5-flash": true, "google/gemini-3-pro": true, "gemma3:12b": true, "gemma3:1b": false, "google/gemma-3-27b-it:free": true, "gemma2:9b": false,
		"qwen2.5vl:7b": true, "qwen/qwen2.5-vl-72b-instruct": true, "qwen3-vl": true, "qwen3": false, "llava:13b": true, "pixtral-12b": true,
		"mistral-small3.2": true, "mistral-small-3.1-24b": true, "mistral-small-24b": false, "mistral-small-2402": false, "llama3.2-vision": true,
		"llama3.2": false, "meta-llama/llama-4-scout": true, "deepseek-vl-7b": true, "deepseek-chat": false, "fake-1": false,
	} {
		for choice, want := range map[Vision]bool{"": want, VisionAuto: want, VisionOn: true, VisionOff: false} {
			c, err := NewCatalog(CatalogConfig{Providers: map[string]Provider{"p": {API: OpenAI, BaseURL: "http://model.test/v1", Vision: choice}}})
			if err != nil {
				t.Fatal(err)
			}
			m, err := c.Model("p/" + name)
			if err != nil {
				t.Fatal(err)
			}
			if got := sees(m); got != want {
				t.Errorf("%s with %q: %t", name, choice, got)
			}
		}
	}
	for _, pattern := range slices.Concat(blindModels, seeingModels) {
		if _, err := path.Match(pattern, "x"); err != nil {
			t.Errorf("%s: %v", pattern, err)
		}
	}
	if sees(NewOffline()) {
		t.Error("the offline model sees")
	}
	if _, err := NewCatalog(CatalogConfig{Providers: map[string]Provider{"p": {API: OpenAI, BaseURL: "http://model.test/v1", Vision: "yes"}}}); err == nil {
		t.Error("a vision that there is not")
	}
}

// Refusals as real servers word them.
func TestAboutPictures(t *testing.T) {
	for said, want := range map[string]bool{
		`HTTP 400 Bad Request: Invalid content type. image_url is only supported by certain models.`:                          true,
		`HTTP 400 Bad Request: messages.0.content.1.image.source.base64: image exceeds 5 MB maximum`:                          true,
		`HTTP 400 Bad Request: Could not process image`:                                                                       true,
		`HTTP 400 Bad Request: messages[1].content must be a string`:                                                          true,
		`HTTP 400 Bad Request: this model does not support multimodal requests`:                                               true,
		`HTTP 500 Internal Server Error: image input is not supported - hint: if this is unexpected, you may need the mmproj`: true,
		`HTTP 422 Unprocessable Entity: unknown variant ` + "`image_url`" + `, expected ` + "`text`":                          true,
		`HTTP 400 Bad Request: tools.0.input_schema: too many properties`:                                                     false,
		`HTTP 503 Service Unavailable: overloaded`:                                                                            false,
	} {
		if got := aboutPictures(&model.Error{Class: model.Invalid, Detail: said}); got != want {
			t.Errorf("%s: %t", said, got)
		}
	}
	for class, want := range map[model.Class]bool{
		model.Invalid: true, model.Missing: true, model.Passing: true, model.Denied: false, model.Overflow: false, model.Filtered: false, model.Garbage: false,
	} {
		if got := aboutPictures(&model.Error{Class: class, Detail: "no image"}); got != want {
			t.Errorf("%s: %t", class, got)
		}
	}
	if aboutPictures(errors.New("image")) {
		t.Error("an error of no provider")
	}
}
