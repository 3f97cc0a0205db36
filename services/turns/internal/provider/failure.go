package provider

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"syscall"

	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/turns/model"
)

// Unanswered is the error for a request that got no answer, when err ended it. When ctx has ended, that is the reason.
func (l *Link) Unanswered(ctx context.Context, err error) error {
	var s *status
	var op *url.Error
	switch {
	case ctx.Err() != nil:
		return l.ended(ctx)
	case errors.As(err, &s):
		return l.refused(s)
	case errors.As(err, &op):
		return l.unreachable(op.Err)
	}
	detail := l.secret.Line(err.Error())
	return &model.Error{
		Class: model.Invalid, Cause: turnv1.ModelRefused,
		Text: Sentence("The request to the model could not be made: ", detail, ""), Detail: detail,
	}
}

// Broken is the error for an answer that did not come to its end, when err ended it.
func (l *Link) Broken(ctx context.Context, err error) error {
	var known *model.Error
	switch {
	case ctx.Err() != nil:
		return l.ended(ctx)
	case errors.As(err, &known):
		return known
	case errors.Is(err, errTooLarge):
		return Garbage(fmt.Sprintf("The model's answer was longer than the %d bytes that are allowed, so it was dropped. Ask for less at once.",
			l.cfg.MaxAnswer), errTooLarge.Error())
	}
	return Garbage("The model's answer broke off. Please try again.", l.secret.Line(err.Error()))
}

func (l *Link) ended(ctx context.Context) error {
	return fmt.Errorf("call %s: %w", l.Name(), context.Cause(ctx))
}

// Unfinished is the error for a body that ended in good order, but too early. begun says whether anything of an answer
// had come: where nothing had, the body may be an error or a web page.
func (l *Link) Unfinished(body *Events, protocol string, begun bool) error {
	if begun || len(body.other) == 0 {
		return Garbage("The model's answer broke off. Please try again.", "the stream ended before the model said that it was finished")
	}
	if raw := Reported(body.other); raw != nil {
		return l.Reported(raw, false)
	}
	return Garbage("What answers at the model's address does not speak the "+protocol+" protocol. Check the base URL.",
		"instead of an event stream came: "+l.secret.Line(string(body.other)))
}

// Reported is the part of a body or an event that says that there was an error; nil when it does not. A body may be cut.
func Reported(raw []byte) []byte {
	var e struct {
		Error json.RawMessage `json:"error"`
	}
	if json.Unmarshal(raw, &e) != nil || len(e.Error) == 0 || string(e.Error) == "null" {
		return nil
	}
	return raw
}

// Reported is the error for one that came with status 200: as the body, or as an event of the stream. begun says whether
// anything of an answer had come before; then it is just a broken answer, otherwise it is what its status would have been.
func (l *Link) Reported(raw []byte, begun bool) error {
	said := l.secret.read(raw)
	const detail = "an error with HTTP 200"
	if begun {
		return Garbage(Sentence("The provider broke off in the middle of the answer: ", said.text, " Please try again."), detail)
	}
	if said.code == 0 {
		said.code = 500 // it may pass
	}
	e := l.refused(&status{code: said.code, said: said})
	e.Detail = strings.TrimSuffix(detail+": "+said.text, ": ")
	if e.Class == model.Passing || e.Class == model.Invalid {
		e.Text = Sentence("The provider reports an error: ", said.text, "")
	}
	return e
}

// Garbage is the error for what is no answer.
func Garbage(text, detail string) *model.Error {
	return &model.Error{Class: model.Garbage, Cause: turnv1.ModelGarbage, Text: text, Detail: detail}
}

// Unreadable is the error for an event that is not what the protocol says.
func (l *Link) Unreadable(err error) *model.Error {
	return Garbage("The model's answer could not be read. Please try again.", l.secret.Line("an event of the stream cannot be read: "+err.Error()))
}

// unreachable is about a request that got no answer at all.
func (l *Link) unreachable(err error) *model.Error {
	e := &model.Error{Class: model.Passing, Cause: turnv1.ModelUnavailable, Detail: l.secret.Line(err.Error())}
	var dns *net.DNSError
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		e.Text = fmt.Sprintf("Nothing answers at %s (connection refused). Is the model's server running?", l.cfg.BaseURL)
	case errors.As(err, &dns):
		e.Text = fmt.Sprintf("The model's server %s was not found by name. Check the base URL and the network.", dns.Name)
	default:
		e.Text = fmt.Sprintf("The model at %s could not be reached. Check the base URL and the network.", l.cfg.BaseURL)
	}
	return e
}
