package openai

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"

	api "github.com/sashabaranov/go-openai"

	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/turns/model"
)

// errRequest is a request that was never sent.
var errRequest = errors.New("request")

// failed turns what went wrong into what a person is told. When ctx has ended, that is the reason.
func (c *Client) failed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("call %s: %w", c.Name(), context.Cause(ctx))
	}
	return c.classify(err)
}

func (c *Client) classify(err error) *model.Error {
	var status *statusError
	var inStream *api.APIError
	switch {
	case errors.As(err, &status):
		return c.refused(status)
	case errors.As(err, &inStream):
		return &model.Error{
			Cause:  turnv1.ModelGarbage,
			Text:   sentence("The provider broke off in the middle of the answer: ", c.scrub().line(inStream.Message), " Please try again."),
			Detail: errProvider.Error(),
		}
	case errors.Is(err, errProvider), errors.Is(err, errChunk):
		return &model.Error{Cause: turnv1.ModelGarbage, Text: "The model's answer could not be read. Please try again.", Detail: c.scrub().line(err.Error())}
	case errors.Is(err, errTooLarge):
		return &model.Error{
			Cause:  turnv1.ModelGarbage,
			Text:   fmt.Sprintf("The model's answer was longer than the %d bytes that are allowed, so it was dropped. Ask for less at once.", c.cfg.MaxAnswer),
			Detail: errTooLarge.Error(),
		}
	}
	var op *url.Error
	switch detail := c.scrub().line(err.Error()); {
	case errors.As(err, &op):
		return c.unreachable(op.Err)
	case errors.Is(err, errRequest):
		return &model.Error{Cause: turnv1.ModelRefused, Text: sentence("The request to the model could not be made: ", detail, ""), Detail: detail}
	default: // the connection broke while the answer came
		return &model.Error{Cause: turnv1.ModelGarbage, Text: "The model's answer broke off. Please try again.", Detail: detail}
	}
}

// unreachable is about a request that got no answer at all.
func (c *Client) unreachable(err error) *model.Error {
	e := &model.Error{Cause: turnv1.ModelUnavailable, Detail: c.scrub().line(err.Error())}
	var dns *net.DNSError
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		e.Text = fmt.Sprintf("Nothing answers at %s (connection refused). Is the model's server running?", c.cfg.BaseURL)
	case errors.As(err, &dns):
		e.Text = fmt.Sprintf("The model's server %s was not found by name. Check the base URL and the network.", dns.Name)
	default:
		e.Text = fmt.Sprintf("The model at %s could not be reached. Check the base URL and the network.", c.cfg.BaseURL)
	}
	return e
}

// refused is about an answer other than 200.
func (c *Client) refused(s *statusError) *model.Error {
	e := &model.Error{Cause: turnv1.ModelRefused, Detail: s.Error()}
	code := fmt.Sprintf("(HTTP %d)", s.code)
	switch {
	case s.code >= 300 && s.code < 400:
		e.Text = fmt.Sprintf("The model's address redirects to %q %s. That is not followed, as it would carry the key elsewhere. "+
			"If it is right, set the base URL to it.", s.location, code)
	case s.code == http.StatusUnauthorized, s.code == http.StatusForbidden:
		e.Text = sentence("The provider does not accept the API key "+code+": ", s.said, " Check the key.")
	case s.code == http.StatusNotFound:
		e.Text = sentence(fmt.Sprintf("The provider does not know the model %q %s: ", c.cfg.Model, code), s.said,
			" Check the model's name, and whether the base URL should end in /v1.")
	case s.code == http.StatusRequestEntityTooLarge, strings.Contains(s.said, "context length"), strings.Contains(s.said, "context window"):
		e.Text = sentence("The conversation is too long for the model "+code+": ", s.said, " Begin afresh with /new.")
	case s.code == http.StatusTooManyRequests:
		e.Cause = turnv1.ModelUnavailable
		wait := " Try again later."
		if s.after > 0 {
			wait = fmt.Sprintf(" Try again in %s.", s.after.Round(time.Second))
		}
		e.Text = sentence("The provider takes no more requests for now "+code+": ", s.said, wait)
	case s.passing():
		e.Cause = turnv1.ModelUnavailable
		e.Text = sentence("The model's server has a problem "+code+": ", s.said, " Try again later.")
	case s.code >= http.StatusBadRequest:
		e.Text = sentence("The provider refused the request "+code+": ", s.said, "")
	default:
		e.Cause = turnv1.ModelGarbage
		e.Text = fmt.Sprintf("The model's server gave an answer without content %s. Check the base URL.", code)
	}
	return e
}

// sentence is before, what the provider said (if anything) and after.
func sentence(before, middle, after string) string {
	if middle == "" {
		return strings.TrimSuffix(before, ": ") + "." + after
	}
	if !strings.ContainsAny(middle[len(middle)-1:], ".!?") {
		middle += "."
	}
	return before + middle + after
}
