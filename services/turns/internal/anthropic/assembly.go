package anthropic

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	api "github.com/anthropics/anthropic-sdk-go/v2"

	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/turns/internal/provider"
	"github.com/jetclaw/jetclaw/services/turns/model"
)

// assembly puts an answer together from events.
type assembly struct {
	link    *provider.Link
	shown   provider.Filter // of the text
	text    strings.Builder
	calls   []*block
	usage   usage
	reason  api.StopReason
	why     string // a refusal's explanation
	started bool   // a message has begun
	stopped bool   // and is whole
}

// block is a tool call as far as it has come.
type block struct {
	index    int64
	id, tool string
	input    string // as it stood at the block's start; it counts when no pieces come
	args     strings.Builder
}

// errTwice is a message within a message: a stream into which somebody has put another.
var errTwice = errors.New("another message begins before the first has ended")

func (a *assembly) add(ev api.MessageStreamEventUnion, onDelta func(string)) error {
	raw := []byte(ev.RawJSON())
	if provider.Reported(raw) != nil || ev.Type == "error" {
		return a.link.Reported(raw, a.text.Len() > 0 || len(a.calls) > 0)
	}
	if len(raw) == 0 || raw[0] != '{' {
		return a.link.Unreadable(errors.New("it is no JSON object"))
	}
	switch ev.Type {
	case "message_start":
		if a.started {
			return a.link.Unreadable(errTwice)
		}
		a.started = true
		a.usage.add(ev.Message.Usage.RawJSON())
	case "content_block_start":
		a.begin(ev)
		if ev.ContentBlock.Type == "text" {
			a.say(a.shown.Pass(ev.ContentBlock.Text), onDelta)
		}
	case "content_block_delta":
		switch ev.Delta.Type {
		case "text_delta":
			a.say(a.shown.Pass(ev.Delta.Text), onDelta)
		case "input_json_delta":
			if b := a.block(ev.Index); b != nil {
				b.args.WriteString(ev.Delta.PartialJSON)
			}
		}
	case "message_delta":
		a.usage.add(ev.Usage.RawJSON())
		if ev.Delta.StopReason != "" {
			a.reason, a.why = ev.Delta.StopReason, ev.Delta.StopDetails.Explanation
		}
	case "message_stop":
		a.stopped = true
	}
	return nil
}

func (a *assembly) say(text string, onDelta func(string)) {
	if text != "" {
		a.text.WriteString(text)
		onDelta(text)
	}
}

func (a *assembly) begin(ev api.MessageStreamEventUnion) {
	if ev.ContentBlock.Type != "tool_use" {
		return
	}
	b := &block{index: ev.Index, id: ev.ContentBlock.ID, tool: ev.ContentBlock.Name}
	var object map[string]json.RawMessage
	if in := ev.ContentBlock.JSON.Input.Raw(); json.Unmarshal([]byte(in), &object) == nil && len(object) > 0 {
		b.input = in
	}
	a.calls = append(a.calls, b)
}

// block is the call with an index, the last of them: there are servers that give each the same.
func (a *assembly) block(index int64) *block {
	for _, b := range slices.Backward(a.calls) {
		if b.index == index {
			return b
		}
	}
	return nil
}

// answer is the whole answer, or why there is none.
func (a *assembly) answer() (model.Answer, error) {
	secret := a.link.Secret()
	said := strings.TrimSpace(a.text.String()) != "" || len(a.calls) > 0
	switch a.reason { //nolint:exhaustive // the others end an answer, and so does a new one
	case api.StopReasonRefusal:
		return model.Answer{}, &model.Error{
			Class: model.Filtered, Cause: turnv1.ModelRefused,
			Text: provider.Sentence("The model declines to answer: ", secret.Line(a.why), ""), Detail: "stop reason refusal",
		}
	case api.StopReasonPauseTurn:
		return model.Answer{}, provider.Garbage("The model paused in the middle of its answer, which is not supported. Please try again.",
			"stop reason pause_turn")
	case api.StopReasonModelContextWindowExceeded:
		if !said {
			return model.Answer{}, &model.Error{
				Class: model.Overflow, Cause: turnv1.ContextOverflow,
				Text: "The conversation is too long for the model. Begin afresh with /new.", Detail: "stop reason model_context_window_exceeded",
			}
		}
	}
	out := model.Answer{
		Text: a.text.String(), Usage: a.usage.total(),
		Cut: a.reason == api.StopReasonMaxTokens || a.reason == api.StopReasonModelContextWindowExceeded,
	}
	for _, b := range a.calls {
		args := b.args.String()
		if args == "" {
			args = b.input
		}
		out.Calls = append(out.Calls, model.RawCall{ID: secret.Raw(b.id), Tool: secret.Raw(b.tool), Arguments: secret.JSON(args)})
	}
	switch {
	case said:
		return out, nil
	case out.Cut:
		return model.Answer{}, provider.Garbage("The model reached its length limit before it said anything. Ask for less, or raise the limit.",
			"no text, stop reason max_tokens")
	case !a.started:
		return model.Answer{}, provider.Garbage("The model sent an answer without content. Please try again.", "a message_stop without a message")
	}
	return model.Answer{}, provider.Garbage("The model's answer was empty. Please try again.",
		"no text and no tool calls, stop reason "+secret.Line(string(a.reason)))
}
