package openai

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/turns/internal/provider"
	"github.com/jetclaw/jetclaw/services/turns/model"
)

// finishError is a finish reason of OpenRouter: the provider behind it gave up.
const finishError = "error"

// maxCalls is how many calls of an answer are put together. Far fewer are allowed, and told so elsewhere.
const maxCalls = 1024

// assembly puts an answer together from chunks.
type assembly struct {
	link    *provider.Link
	shown   provider.Filter // of the text
	text    strings.Builder
	calls   []*fragment
	finish  string // "" until the model says that it is finished
	late    bool   // it went on after that: only the end of the stream tells whether this is all
	usage   turnv1.Usage
	choices int
}

// fragment is a tool call as far as it has come.
type fragment struct {
	index    int
	id, tool string
	args     strings.Builder
}

func (a *assembly) add(raw []byte, onDelta func(string)) error {
	if provider.Reported(raw) != nil {
		return a.link.Reported(raw, a.text.Len() > 0 || len(a.calls) > 0)
	}
	var c chunk
	if err := json.Unmarshal(raw, &c); err != nil {
		return a.link.Unreadable(err)
	}
	if c.Usage.known {
		a.usage = c.Usage.Usage
	}
	for _, choice := range c.Choices {
		if choice.Index != 0 {
			continue // one was asked for
		}
		a.choices++
		if d := choice.Delta; a.finish != "" && (d.Content+d.Refusal != "" || len(d.ToolCalls) > 0) {
			a.late = true
		}
		a.say(a.shown.Pass(string(choice.Delta.Content+choice.Delta.Refusal)), onDelta)
		for _, p := range choice.Delta.ToolCalls {
			if a.call(p); len(a.calls) > maxCalls { // each piece looks for its call among all
				return provider.Garbage("The model asked for far too many tool calls at once. Try a smaller task.",
					"more than "+strconv.Itoa(maxCalls)+" tool calls")
			}
		}
		switch choice.Finish {
		case "", "null":
		case finishError:
			return provider.Garbage("The provider broke off in the middle of the answer. Please try again.", "finish reason error")
		default:
			a.finish = string(choice.Finish)
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
func (a *assembly) call(p piece) {
	var f *fragment
	for _, known := range a.calls {
		if p.Index == nil || known.index == *p.Index {
			f = known // the last one
		}
	}
	if f == nil || p.ID != "" && f.id != "" && string(p.ID) != f.id {
		f = &fragment{index: len(a.calls)}
		if p.Index != nil {
			f.index = *p.Index
		}
		a.calls = append(a.calls, f)
	}
	if f.id == "" {
		f.id = string(p.ID)
	}
	if f.tool == "" {
		f.tool = string(p.Function.Name)
	}
	f.args.WriteString(string(p.Function.Arguments))
}

// answer is the whole answer, or why there is none.
func (a *assembly) answer() (model.Answer, error) {
	if a.finish == "content_filter" {
		return model.Answer{}, &model.Error{
			Class: model.Filtered, Cause: turnv1.ModelRefused,
			Text: "The provider's content filter stopped the answer.", Detail: "finish reason content_filter",
		}
	}
	secret := a.link.Secret()
	out := model.Answer{Text: a.text.String(), Usage: a.usage, Cut: a.finish == "length"}
	for _, f := range a.calls {
		out.Calls = append(out.Calls, model.RawCall{ID: secret.Raw(f.id), Tool: secret.Raw(f.tool), Arguments: secret.Raw(f.args.String())})
	}
	switch {
	case len(out.Calls) > 0 || strings.TrimSpace(out.Text) != "":
		return out, nil
	case out.Cut:
		return model.Answer{}, provider.Garbage(
			"The model reached its length limit before it said anything. Ask for less, or raise the limit of the model's server.",
			"no text, finish reason length")
	case a.choices == 0:
		return model.Answer{}, provider.Garbage("The model sent an answer without content. Please try again.", "no choices in the stream")
	}
	return model.Answer{}, provider.Garbage("The model's answer was empty. Please try again.",
		"no text and no tool calls, finish reason "+secret.Line(a.finish))
}
