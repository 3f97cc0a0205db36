package openai

import (
	"encoding/json"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxSaid = 300 // bytes of a provider's message that are passed on
	minKey  = 4   // a shorter key is a placeholder; to blot it out would garble texts
)

// scrub is the key that must not show in any text that comes from outside; some providers repeat it.
type scrub string

func (c *Client) scrub() scrub { return scrub(c.cfg.APIKey) }

func (s scrub) blot(text string) string {
	if len(s) < minKey {
		return text
	}
	return strings.ReplaceAll(text, string(s), "[key]")
}

// said finds the message in the body of an error: {"error": {"message": …}}, {"error": "…"}, {"message": …},
// {"detail": …}, or a text. A web page is not repeated.
func (s scrub) said(body []byte) string {
	var e struct {
		Error   json.RawMessage `json:"error"`
		Message json.RawMessage `json:"message"`
		Detail  json.RawMessage `json:"detail"`
	}
	if json.Unmarshal(body, &e) != nil {
		if text := strings.TrimSpace(string(body)); !strings.HasPrefix(text, "<") {
			return s.line(text)
		}
		return ""
	}
	for _, raw := range []json.RawMessage{e.Error, e.Message, e.Detail} {
		var text string
		var object struct {
			Message string `json:"message"`
		}
		switch {
		case len(raw) == 0:
		case json.Unmarshal(raw, &text) == nil && text != "":
			return s.line(text)
		case json.Unmarshal(raw, &object) == nil && object.Message != "":
			return s.line(object.Message)
		}
	}
	return ""
}

// reported is the message of a body that is an error and nothing else; "" for any other body.
func (s scrub) reported(body []byte) string {
	var e struct {
		Error json.RawMessage `json:"error"`
	}
	if json.Unmarshal(body, &e) != nil || len(e.Error) == 0 {
		return ""
	}
	return s.said(body)
}

// line makes one short line of a foreign text.
func (s scrub) line(text string) string {
	text = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(s.blot(text), "�"), func(r rune) bool {
		return unicode.IsSpace(r) || unicode.IsControl(r)
	}), " ")
	if len(text) <= maxSaid {
		return text
	}
	n := maxSaid
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n] + "…"
}
