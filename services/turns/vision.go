package turns

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/jetclaw/jetclaw/services/turns/model"
)

// Vision says whether the models of a provider can be shown pictures.
type Vision string

// The choices; "" is VisionAuto.
const (
	VisionAuto Vision = "auto" // by the model's name
	VisionOn   Vision = "on"
	VisionOff  Vision = "off"
)

func (v Vision) validate() error {
	switch v {
	case "", VisionAuto, VisionOn, VisionOff:
		return nil
	}
	return fmt.Errorf("vision: %q, must be auto, on or off", string(v))
}

// Names of models, in small letters, without what stands before the last slash. blindModels come first: they are exceptions
// to the families in seeingModels. A model that is in neither is taken for one that cannot see: it would refuse the whole
// request, and `vision: on` is there.
var (
	blindModels = []string{
		"o3-mini*", "gpt-4o-audio*", "gpt-4o*-transcribe*", "gpt-4o*-tts*", "claude-2*", "claude-instant*",
		"gemma3:1b*", "gemma3:270m*", "gemma-3-1b*", "gemma-3-270m*",
	}
	seeingModels = []string{
		// OpenAI
		"gpt-4o*", "chatgpt-4o*", "gpt-4.1*", "gpt-4.5*", "gpt-4-turbo*", "gpt-5*", "o1", "o1-20*", "o1-pro*", "o3*", "o4*",
		// Anthropic, and as clouds call them ("eu.anthropic.claude-…")
		"claude-*", "*.claude-*",
		// Google
		"gemini-*", "gemma3*", "gemma-3*",
		// Mistral
		"pixtral*", "mistral-small3.[1-9]*", "mistral-small-3.[1-9]*", "mistral-medium-3*", "magistral-small-2509*",
		// others, most of them open
		"qwen*vl*", "qvq*", "llava*", "bakllava*", "llama4*", "llama-4*", "minicpm-v*", "moondream*", "internvl*", "grok-4*",
		"phi-4-multimodal*", "glm-4v*", "glm-4.[1-9]v*",
		"*vision*", "*-vl", "*-vl-*", "*-vl:*",
	}
)

// sees says whether m can be shown pictures.
func sees(m Model) bool {
	l, ok := m.(*listed)
	switch {
	case ok && l.vision == VisionOn:
		return true
	case ok && l.vision == VisionOff:
		return false
	}
	_, name, _ := strings.Cut(strings.ToLower(m.Name()), "/")
	name = name[strings.LastIndexByte(name, '/')+1:]
	is := func(pattern string) bool {
		ok, err := path.Match(pattern, name)
		return err == nil && ok
	}
	return !slices.ContainsFunc(blindModels, is) && slices.ContainsFunc(seeingModels, is)
}

// generate makes one model call. When the provider refuses it because of its pictures, it is made once more without them: a
// picture of an odd kind, or a model that cannot see after all, must not fail every turn of the session from then on.
func (l *listed) generate(ctx context.Context, r model.Request, onDelta func(string)) (model.Answer, error) {
	said := false
	a, err := l.Model.Generate(ctx, r, func(text string) {
		said = said || text != ""
		onDelta(text)
	})
	if err == nil || said || !r.HasImages() || !aboutPictures(err) {
		return a, err
	}
	return l.Model.Generate(ctx, r.WithoutImages(notTaken), onDelta)
}

// aboutPictures says whether a provider has refused a request for its pictures. There is no code for it: what they have in
// common are the words, and some of them even call it a fault of the server, or a model that is not there.
func aboutPictures(err error) bool {
	e, ok := errors.AsType[*model.Error](err)
	if !ok {
		return false
	}
	switch e.Class {
	case model.Invalid, model.Missing, model.Passing:
	case model.Denied, model.Overflow, model.Filtered, model.Garbage:
		return false
	}
	said := strings.ToLower(e.Detail)
	return slices.ContainsFunc([]string{
		"image", "picture", "vision", "multimodal", "multi-modal", "content must be a string", "content should be a string",
		"should be a valid string",
	}, func(word string) bool { return strings.Contains(said, word) })
}
