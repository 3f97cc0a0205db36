package provider

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
)

// report is what a provider says about a failure.
type report struct {
	text string // a short line, without the key
	full string // lower case, for the look-up of words: codes, types and the whole message
	code int    // an HTTP status that is named in it, or that its type stands for; 0 when there is none
}

// read finds the message in the body of an error: {"error": {"message": …}}, {"error": "…"}, {"message": …},
// {"detail": …}, the first of a list of such, or a text. A web page is not repeated.
func (s Secret) read(body []byte) report {
	body = bytes.TrimSpace(body)
	var list []json.RawMessage // Gemini's wraps errors in one
	if json.Unmarshal(body, &list) == nil && len(list) > 0 {
		body = list[0]
	}
	var e struct {
		Error   json.RawMessage `json:"error"`
		Message json.RawMessage `json:"message"`
		Detail  json.RawMessage `json:"detail"`
	}
	if json.Unmarshal(body, &e) != nil {
		if bytes.HasPrefix(body, []byte("<")) {
			return report{}
		}
		return s.report(string(body))
	}
	for _, raw := range []json.RawMessage{e.Error, e.Message, e.Detail} {
		var text string
		var object struct {
			Message string          `json:"message"`
			Type    json.RawMessage `json:"type"`
			Code    json.RawMessage `json:"code"`
		}
		if len(raw) == 0 {
			continue
		}
		if json.Unmarshal(raw, &text) == nil && text != "" {
			return s.report(text)
		}
		if err := json.Unmarshal(raw, &object); err != nil || object.Message == "" && object.Type == nil && object.Code == nil {
			continue
		}
		return s.report(object.Message, string(object.Code), string(object.Type))
	}
	return report{}
}

func (s Secret) report(text string, marks ...string) report {
	r := report{text: s.Line(text), full: strings.ToLower(text)}
	for _, mark := range marks {
		mark = strings.ToLower(strings.Trim(s.Blot(mark), `"`)) // the key is not found in small letters
		r.full += "\n" + mark
		if n, err := strconv.Atoi(mark); err == nil && n >= 400 && n <= 599 && r.code == 0 {
			r.code = n
		}
		if n, known := marked[mark]; known && r.code == 0 {
			r.code = n
		}
		if r.text == "" && mark != "null" {
			r.text = s.Line(mark)
		}
	}
	return r
}

// marked are the types and codes of errors that come without an HTTP status of their own, as in the middle of a stream.
var marked = map[string]int{
	"invalid_request_error": http.StatusBadRequest,
	"authentication_error":  http.StatusUnauthorized,
	"invalid_api_key":       http.StatusUnauthorized,
	"billing_error":         http.StatusPaymentRequired,
	"insufficient_quota":    http.StatusPaymentRequired,
	"permission_error":      http.StatusForbidden,
	"not_found_error":       http.StatusNotFound,
	"model_not_found":       http.StatusNotFound,
	"request_too_large":     http.StatusRequestEntityTooLarge,
	"rate_limit_error":      http.StatusTooManyRequests,
	"rate_limit_exceeded":   http.StatusTooManyRequests,
	"api_error":             http.StatusInternalServerError,
	"server_error":          http.StatusInternalServerError,
	"timeout_error":         http.StatusGatewayTimeout,
	"overloaded_error":      529, // Anthropic's own
}

// tooLong are words with which servers say that a request does not fit: OpenAI, Anthropic, Gemini, Mistral, Groq, xAI,
// vLLM, llama.cpp, LM Studio, Ollama and what passes their errors on.
var tooLong = []string{
	"context_length_exceeded", "context length", "context window", "context limit", "exceed_context_size", "available context size",
	"context size has been exceeded", "maximum context", "model_context_window_exceeded", "prompt is too long", "prompt too long",
	"input is too long", "too many tokens", "too many input tokens", "input token count", "input tokens exceed", "maximum prompt length",
	"prompt token count", "model token limit", "reduce the length of the messages", "maximum number of tokens allowed",
}

// limited are words of limits over time. They take the meaning of those above.
var limited = []string{"per min", "per day", "per hour", "rate limit", "rate_limit", "quota"}

// declined are words of content filters.
var declined = []string{
	"content_filter", "content filter", "content_policy", "content management policy", "was flagged", "responsibleaipolicy",
}

// unpaid are words of accounts without credit, unknown of keys, where the status says something else.
var (
	unpaid  = []string{"insufficient_quota", "credit balance is too low", "billing_not_active"}
	unknown = []string{"api key not valid", "invalid_api_key", "api_key_invalid"}
)

func (r report) speaks(words []string) bool {
	for _, w := range words {
		if strings.Contains(r.full, w) {
			return true
		}
	}
	return false
}
