package standin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/jetclaw/jetclaw/loadtest/fake/fakemodel"
	"github.com/jetclaw/jetclaw/schemas/deliveryv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/noticev1"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

// turns is how many turns the stand-in lets pass before it has them summarised.
const turns = 4

// order is a command: a stop binds to what was there when it came.
type order struct {
	id      string
	control messagev1.Control
	turn    string
	waiting []string
}

func body(text string) envelope.Body {
	word, rest, _ := strings.Cut(text, " ")
	switch word {
	case "/stop", "/queue", "/model":
		return messagev1.Control{Verb: messagev1.Verb(word[1:]), Argument: rest}
	}
	return messagev1.Received{Text: text}
}

func (l *lane) foldCommand(e envelope.Event) {
	switch b := e.Body.(type) {
	case messagev1.Control:
		l.texts[e.ID], l.keys[e.Key] = "", e.ID
		o := order{id: e.ID, control: b, waiting: slices.Clone(l.inbox)}
		if l.claim != nil {
			o.turn = l.claim.Turn
		}
		l.orders = append(l.orders, o)
	case turnv1.SessionConfigured:
		switch b.Setting {
		case turnv1.QueueSetting:
			l.queue = b.Value
		case turnv1.ModelSetting:
			l.chosen = strings.TrimPrefix(b.Value, "fake/")
		}
		l.obeyed(e, b.By, b.Text)
	case noticev1.Posted:
		l.obeyed(e, b.Answers[0], b.Text)
	case turnv1.Cancelled:
		for _, id := range b.Answers {
			l.replies[id], l.dropped[id] = b.Text, true
		}
		l.inbox = slices.DeleteFunc(l.inbox, func(id string) bool { return slices.Contains(b.Answers, id) })
		if b.Turn != "" {
			l.claim, l.call = nil, nil
			l.ended = append(l.ended, b.Turn)
		}
		l.obeyed(e, b.By, b.Text)
	case turnv1.CompactionStarted:
		l.compact = &b
	case turnv1.SessionCompacted:
		l.compact, l.ended = nil, nil
	default:
		l.foldCall(e)
	}
}

func (l *lane) obeyed(e envelope.Event, id, text string) {
	l.replies[id] = text
	l.orders = slices.DeleteFunc(l.orders, func(o order) bool { return o.id == id })
	l.show = append(l.show, deliveryv1.Ref{Delivery: e.ID})
	l.text[e.ID] = text
}

func (l *lane) obey(o order) error {
	var b envelope.Body
	switch o.control.Verb {
	case messagev1.Queue:
		b = turnv1.SessionConfigured{By: o.id, Setting: turnv1.QueueSetting, Value: o.control.Argument, Text: "Queue."}
	case messagev1.Model:
		b = turnv1.SessionConfigured{By: o.id, Setting: turnv1.ModelSetting, Value: o.control.Argument, Text: "Model."}
	default:
		b = l.stop(o)
	}
	_, err := l.append("", b)
	return err
}

func (l *lane) stop(o order) envelope.Body {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := turnv1.Cancelled{By: o.id, Reason: turnv1.Stopped, Text: "Stopped."}
	if l.claim != nil && l.claim.Turn == o.turn {
		c.Turn, c.Answers = o.turn, slices.Clone(l.claim.Messages)
	}
	for _, id := range o.waiting {
		running := l.claim != nil && slices.Contains(l.claim.Messages, id)
		if slices.Contains(l.inbox, id) && !running {
			c.Answers = append(c.Answers, id)
		}
	}
	if len(c.Answers) == 0 {
		return noticev1.Posted{Service: "turns", Text: "There is nothing to stop.", Answers: []string{o.id}}
	}
	return c
}

func (l *lane) summarise(running *turnv1.CompactionStarted, ended []string) error {
	c := turnv1.CompactionStarted{Attempt: 1}
	if running != nil {
		c = *running
		c.Attempt++
	} else {
		c.Through = ended[len(ended)-1]
		c.Compaction = c.Through + "/c"
	}
	if _, err := l.append("", c); err != nil {
		return err
	}
	got, err := l.ask("echo", map[string]any{"role": "system", "content": "You write the record with which an assistant goes on."})
	if err != nil {
		return err
	}
	_, err = l.append("", turnv1.SessionCompacted{Compaction: c.Compaction, Attempt: c.Attempt, Through: c.Through, Summary: got.Content})
	return err
}

type answer struct {
	Content string `json:"content"`
	Calls   []struct {
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

func (l *lane) ask(model string, messages ...any) (answer, error) {
	req, err := json.Marshal(map[string]any{"model": model, "messages": messages})
	if err != nil {
		return answer{}, err
	}
	res, err := send(l.d.model+"/chat/completions", "application/json", bytes.NewReader(req))
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK {
		return answer{}, fmt.Errorf("status %d", res.StatusCode)
	}
	var a struct {
		Choices []struct {
			Message answer `json:"message"`
		} `json:"choices"`
	}
	if err := json.NewDecoder(res.Body).Decode(&a); err != nil {
		return answer{}, err
	}
	return a.Choices[0].Message, nil
}

// answer makes the turn's next model call.
func (l *lane) answer(c turnv1.Claim) error {
	var conversation []any
	l.mu.Lock()
	model := l.chosen
	for _, id := range c.Messages {
		conversation = append(conversation, map[string]any{"role": "user", "content": l.texts[id]})
	}
	l.mu.Unlock()
	for range c.Round - 1 { // what the calls were does not matter to the fake model
		conversation = append(conversation, map[string]any{"role": "assistant", "tool_calls": []any{map[string]any{}}})
	}
	out := turnv1.Outcome{Turn: c.Turn, Round: c.Round, Attempt: c.Attempt, Model: "fake/echo"}
	if model == "" {
		model = "echo"
	}
	got, err := l.ask(model, conversation...)
	if err != nil {
		out.Model, out.Tried = "fake/second", []turnv1.Try{{Model: "fake/" + model, Cause: turnv1.ModelUnavailable}}
		if got, err = l.ask("second", conversation...); err != nil {
			return err
		}
	}
	if len(got.Calls) == 0 {
		done := turnv1.Completed{Outcome: out, Answers: c.Messages, Text: got.Content}
		if _, err = l.append("", done); err == nil && l.d.bug == "twice" {
			_, err = l.append("", done)
		}
		return err
	}
	f := got.Calls[0].Function
	call := turnv1.Call{ID: fmt.Sprintf("c%d", c.Round), Tool: f.Name, Arguments: json.RawMessage(f.Arguments)}
	if f.Name == fakemodel.UnknownTool {
		call.Refusal = "there is no such tool"
	}
	_, err = l.append("", turnv1.Stepped{Outcome: out, Calls: []turnv1.Call{call}})
	return err
}

// goOn claims the round after the calls.
func (l *lane) goOn(c turnv1.Claim) error {
	c.Round, c.Attempt = c.Round+1, 1
	l.mu.Lock()
	if l.queue == "steer" {
		for _, id := range l.inbox {
			if !slices.Contains(c.Messages, id) {
				c.Messages = append(slices.Clone(c.Messages), id)
			}
		}
	}
	l.mu.Unlock()
	if _, err := l.append("", turnv1.Continued{Claim: c}); err != nil {
		return err
	}
	return l.answer(c)
}
