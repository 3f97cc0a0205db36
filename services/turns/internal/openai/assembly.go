package openai

import (
	"encoding/json"
	"errors"
	"strings"

	api "github.com/sashabaranov/go-openai"

	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/turns/model"
)

// assembly puts an answer together from chunks.
type assembly struct {
	secret  scrub
	shown   filter // of the text
	text    strings.Builder
	calls   []*fragment
	finish  api.FinishReason // "" until the model says that it is finished
	usage   turnv1.Usage
	choices int
}

// fragment is a tool call as far as it has come.
type fragment struct {
	index    int
	id, tool string
	args     strings.Builder
}

// chunk is one event of the stream. An error may come in any of them.
type chunk struct {
	api.ChatCompletionStreamResponse
	Error json.RawMessage `json:"error"`
}

// errChunk is an event that is not a chunk; errProvider is one that says that the provider gave up.
var (
	errChunk    = errors.New("an event of the stream cannot be read")
	errProvider = errors.New("the provider reports an error within the stream")
)

func (a *assembly) add(raw []byte, onDelta func(string)) error {
	if len(raw) == 0 { // the client found an error object that it cannot read itself
		return errProvider
	}
	var c chunk
	if err := json.Unmarshal(raw, &c); err != nil {
		return errors.Join(errChunk, err)
	}
	if len(c.Error) > 0 && string(c.Error) != "null" {
		return &api.APIError{Message: a.secret.said(raw)}
	}
	if c.Usage != nil {
		a.usage = turnv1.Usage{Input: c.Usage.PromptTokens, Output: c.Usage.CompletionTokens}
	}
	for _, choice := range c.Choices {
		if choice.Index != 0 {
			continue // one was asked for
		}
		a.choices++
		a.say(a.shown.pass(choice.Delta.Content+choice.Delta.Refusal), onDelta)
		for _, call := range choice.Delta.ToolCalls {
			a.call(call)
		}
		if choice.FinishReason != "" && choice.FinishReason != api.FinishReasonNull {
			a.finish = choice.FinishReason
		}
	}
	return nil
}

func (a *assembly) say(text string, onDelta func(string)) {
	if text != "" {
		a.text.WriteString(text)
		onDelta(text)
	}
}

// call adds a piece to the call that it belongs to: by its index; an id that differs begins another call even so, as
// there are servers that give each call index 0, or none.
func (a *assembly) call(piece api.ToolCall) {
	var f *fragment
	for _, known := range a.calls {
		if piece.Index == nil || known.index == *piece.Index {
			f = known // the last one
		}
	}
	if f == nil || piece.ID != "" && f.id != "" && piece.ID != f.id {
		f = &fragment{index: len(a.calls)}
		if piece.Index != nil {
			f.index = *piece.Index
		}
		a.calls = append(a.calls, f)
	}
	if f.id == "" {
		f.id = piece.ID
	}
	if f.tool == "" {
		f.tool = piece.Function.Name
	}
	f.args.WriteString(piece.Function.Arguments)
}

// answer is the whole answer, or why there is none.
func (a *assembly) answer(body *events) (model.Answer, error) {
	garbage := func(text, detail string) (model.Answer, error) {
		return model.Answer{}, &model.Error{Cause: turnv1.ModelGarbage, Text: text, Detail: detail}
	}
	if a.finish == "" && !body.done {
		if said := a.secret.reported(body.other); said != "" && a.choices == 0 {
			return model.Answer{}, &model.Error{
				Cause: turnv1.ModelRefused, Text: sentence("The provider reports an error: ", said, ""), Detail: "an error with HTTP 200",
			}
		}
		if len(body.other) > 0 && a.choices == 0 {
			return garbage("What answers at the model's address does not speak the OpenAI protocol. Check the base URL.",
				"instead of an event stream came: "+a.secret.line(string(body.other)))
		}
		return garbage("The model's answer broke off. Please try again.", "the stream ended without a finish reason")
	}
	if a.finish == api.FinishReasonContentFilter {
		return model.Answer{}, &model.Error{
			Cause: turnv1.ModelRefused, Text: "The provider's content filter stopped the answer.", Detail: "finish reason content_filter",
		}
	}
	out := model.Answer{Text: a.text.String(), Usage: a.usage, Cut: a.finish == api.FinishReasonLength}
	for _, f := range a.calls {
		out.Calls = append(out.Calls, model.RawCall{ID: a.secret.blot(f.id), Tool: a.secret.blot(f.tool), Arguments: a.secret.blot(f.args.String())})
	}
	if len(out.Calls) > 0 || strings.TrimSpace(out.Text) != "" {
		return out, nil
	}
	switch {
	case out.Cut:
		return garbage("The model reached its length limit before it said anything. Ask for less, or raise the limit of the model's server.",
			"no text, finish reason length")
	case a.choices == 0:
		return garbage("The model sent an answer without content. Please try again.", "no choices in the stream")
	}
	return garbage("The model's answer was empty. Please try again.", "no text and no tool calls, finish reason "+string(a.finish))
}
