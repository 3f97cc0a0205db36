package provider

import (
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/turns/model"
)

const (
	maxFailBody = 64 << 10
	maxAfter    = 24 * time.Hour // a longer Retry-After is not believed
)

// status is an answer other than 200.
type status struct {
	code     int
	said     report
	after    time.Duration // Retry-After
	location string        // host that a redirect points to
}

func (s *status) Error() string {
	return strings.TrimRight("HTTP "+strconv.Itoa(s.code)+" "+http.StatusText(s.code)+": "+s.said.text, ": ")
}

func (l *Link) status(resp *http.Response) *status {
	defer resp.Body.Close()
	s := &status{code: resp.StatusCode, after: retryAfter(resp.Header)}
	// What has come is read even if the connection broke after it: a server that does not understand says so and hangs up.
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxFailBody))
	s.said = l.secret.read(body)
	if to, err := resp.Location(); err == nil {
		s.location = l.secret.Line(to.Host)
	}
	return s
}

// retryAfter reads how long to wait: milliseconds (OpenAI), seconds, or a date.
func retryAfter(h http.Header) time.Duration {
	var d time.Duration
	after := h.Get("Retry-After")
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil {
		d = times(ms, time.Millisecond)
	} else if s, err := strconv.ParseFloat(after, 64); err == nil {
		d = times(s, time.Second)
	} else if at, err := http.ParseTime(after); err == nil {
		d = time.Until(at)
	}
	if d < 0 || d > maxAfter { // nobody means that
		return 0
	}
	return d
}

// times is n units; 0 for a number that is none, or more than maxAfter.
func times(n float64, unit time.Duration) time.Duration {
	if !(n > 0) || n > float64(maxAfter/unit) {
		return 0
	}
	return time.Duration(n * float64(unit))
}

// class reads a status together with what was said: providers say the same thing with different numbers.
func (s *status) class() model.Class {
	switch c := s.code; {
	case s.said.speaks(unpaid), s.said.speaks(unknown), c == http.StatusUnauthorized, c == http.StatusPaymentRequired:
		return model.Denied
	case c >= 400 && c < 500 && s.said.speaks(declined):
		return model.Filtered
	case c == http.StatusForbidden:
		return model.Denied
	case c == http.StatusNotFound:
		return model.Missing
	case c == http.StatusRequestTimeout, c == http.StatusTooManyRequests:
		return model.Passing
	case c == http.StatusRequestEntityTooLarge, c >= 400 && s.said.speaks(tooLong) && !s.said.speaks(limited):
		return model.Overflow
	case c >= 500:
		return model.Passing
	case c >= 300:
		return model.Invalid
	}
	return model.Garbage
}

// refused is the error for an answer other than 200.
func (l *Link) refused(s *status) *model.Error {
	e := &model.Error{Class: s.class(), Cause: turnv1.ModelRefused, Detail: s.Error(), RetryAfter: s.after}
	code := fmt.Sprintf("(HTTP %d)", s.code)
	said := s.said.text
	switch e.Class {
	case model.Denied:
		e.Text = Sentence("The provider does not accept the API key "+code+": ", said, " Check the key.")
		if s.code == http.StatusPaymentRequired || s.said.speaks(unpaid) {
			e.Text = Sentence("The provider's account has no credit "+code+": ", said, " Check its billing.")
		}
	case model.Filtered:
		e.Text = Sentence("The provider's content filter refused the request "+code+": ", said, "")
	case model.Missing:
		e.Text = Sentence(fmt.Sprintf("The provider does not know the model %q %s: ", l.cfg.Model, code), said,
			" Check the model's name, and whether the base URL should end in /v1.")
	case model.Overflow:
		e.Cause = turnv1.ContextOverflow
		e.Text = Sentence("The conversation is too long for the model "+code+": ", said, " Begin afresh with /new.")
	case model.Passing:
		e.Cause = turnv1.ModelUnavailable
		e.Text = Sentence("The model's server has a problem "+code+": ", said, wait(s.after))
		if s.code == http.StatusTooManyRequests {
			e.Text = Sentence("The provider takes no more requests for now "+code+": ", said, wait(s.after))
		}
	case model.Invalid:
		e.Text = Sentence("The provider refused the request "+code+": ", said, "")
		if s.code < http.StatusBadRequest {
			e.Text = fmt.Sprintf("The model's address redirects to %q %s. That is not followed, as it would carry the key elsewhere. "+
				"If it is right, set the base URL to it.", s.location, code)
		}
	default:
		e.Cause = turnv1.ModelGarbage
		e.Text = fmt.Sprintf("The model's server gave an answer without content %s. Check the base URL.", code)
	}
	return e
}

func wait(after time.Duration) string {
	if after <= 0 {
		return " Try again later."
	}
	return fmt.Sprintf(" Try again in %s.", max(after.Round(time.Second), time.Second))
}

// Sentence is before, what the provider said (if anything) and after.
func Sentence(before, middle, after string) string {
	if middle == "" {
		return strings.TrimSuffix(before, ": ") + "." + after
	}
	if !strings.ContainsAny(middle[len(middle)-1:], ".!?") {
		middle += "."
	}
	return before + middle + after
}
