package turns_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/jetclaw/jetclaw/services/turns"
)

var (
	plainID   = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	wholePair = regexp.MustCompile(`(?i)\\ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}`)
	halfPair  = regexp.MustCompile(`(?i)(?:^|[^\\])(?:\\\\)*\\ud[89a-f]`)
)

// half says whether JSON holds an escaped surrogate without its other half.
func half(data []byte) bool { return halfPair.Match(wholePair.ReplaceAll(data, []byte("pair"))) }

// refuse plays the part of a provider that checks a request before it answers: an error says what is wrong with it.
func refuse(api turns.API, header http.Header, body []byte) error {
	switch {
	case !utf8.Valid(body):
		return errors.New("the body is not UTF-8")
	case half(body):
		return errors.New("the body holds half of a surrogate pair")
	case !strings.HasPrefix(header.Get("Content-Type"), "application/json"):
		return fmt.Errorf("the content type is %q", header.Get("Content-Type"))
	case api == turns.Anthropic:
		return refuseAnthropic(header, body)
	}
	return refuseOpenAI(header, body)
}

func object(raw json.RawMessage) bool {
	var fields map[string]json.RawMessage
	return json.Unmarshal(raw, &fields) == nil && fields != nil
}

type openAIMessage struct {
	Role       string  `json:"role"`
	Content    *string `json:"content"`
	ToolCallID string  `json:"tool_call_id"`
	ToolCalls  []struct {
		ID       string `json:"id"`
		Type     string `json:"type"`
		Function struct {
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		} `json:"function"`
	} `json:"tool_calls"`
}

func refuseOpenAI(header http.Header, body []byte) error {
	var r struct {
		Model    string            `json:"model"`
		Stream   bool              `json:"stream"`
		Messages []openAIMessage   `json:"messages"`
		Tools    []json.RawMessage `json:"tools"`
	}
	if err := json.Unmarshal(body, &r); err != nil {
		return fmt.Errorf("the body: %w", err)
	}
	if !strings.HasPrefix(header.Get("Authorization"), "Bearer sk-") || r.Model == "" || !r.Stream || len(r.Messages) == 0 {
		return fmt.Errorf("key, model, stream or messages are missing: %.200s", body)
	}
	open := map[string]bool{} // calls that have no result yet
	used := map[string]bool{}
	for i, m := range r.Messages {
		if len(open) > 0 && m.Role != "tool" {
			return fmt.Errorf("message %d: %d calls have no result", i, len(open))
		}
		if err := m.check(i, open, used); err != nil {
			return fmt.Errorf("message %d: %w", i, err)
		}
	}
	if last := r.Messages[len(r.Messages)-1].Role; len(open) > 0 || last != "user" && last != "tool" {
		return fmt.Errorf("it ends with %q and %d open calls", last, len(open))
	}
	return nil
}

func (m openAIMessage) check(i int, open, used map[string]bool) error {
	said := m.Content != nil && strings.TrimSpace(*m.Content) != ""
	switch {
	case m.Role == "system" && i > 0:
		return errors.New("a system message in the middle")
	case m.Role != "assistant" && (!said || m.ToolCalls != nil):
		return fmt.Errorf("a %q message without content, or with calls", m.Role)
	case m.Role == "assistant" && !said && len(m.ToolCalls) == 0:
		return errors.New("the assistant says nothing")
	case m.Role == "assistant" && m.Content != nil && *m.Content != "" && !said:
		return errors.New("the assistant says a blank")
	case m.Role == "tool" && !open[m.ToolCallID]:
		return fmt.Errorf("a result of %q, which is not open", m.ToolCallID)
	case m.Role != "tool" && m.ToolCallID != "":
		return errors.New("a result that is none")
	case m.Role != "system" && m.Role != "user" && m.Role != "assistant" && m.Role != "tool":
		return fmt.Errorf("there is no role %q", m.Role)
	}
	delete(open, m.ToolCallID)
	for _, c := range m.ToolCalls {
		if !plainID.MatchString(c.ID) || used[c.ID] || c.Type != "function" || !plainID.MatchString(c.Function.Name) {
			return fmt.Errorf("the call %.200q of %.200q", c.ID, c.Function.Name)
		}
		if args := []byte(c.Function.Arguments); !object(args) || half(args) {
			return fmt.Errorf("the arguments %.200q", c.Function.Arguments)
		}
		open[c.ID], used[c.ID] = true, true
	}
	return nil
}

type anthropicBlock struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	Content   json.RawMessage `json:"content"`
}

func refuseAnthropic(header http.Header, body []byte) error {
	var r struct {
		Model     string           `json:"model"`
		Stream    bool             `json:"stream"`
		MaxTokens int              `json:"max_tokens"`
		System    []anthropicBlock `json:"system"`
		Messages  []struct {
			Role    string           `json:"role"`
			Content []anthropicBlock `json:"content"`
		} `json:"messages"`
	}
	if err := json.Unmarshal(body, &r); err != nil {
		return fmt.Errorf("the body: %w", err)
	}
	if header.Get("X-Api-Key") == "" || header.Get("Anthropic-Version") == "" || r.Model == "" || !r.Stream || r.MaxTokens < 1 || len(r.Messages) == 0 {
		return fmt.Errorf("key, version, model, stream, max_tokens or messages are missing: %.200s", body)
	}
	for _, b := range r.System {
		if b.Type != "text" || strings.TrimSpace(b.Text) == "" {
			return errors.New("an empty system block")
		}
	}
	used := map[string]bool{}
	var open []string
	for i, m := range r.Messages {
		if m.Role != []string{"user", "assistant"}[i%2] || len(m.Content) == 0 {
			return fmt.Errorf("message %d is by %q and has %d blocks", i, m.Role, len(m.Content))
		}
		var err error
		if open, err = blocks(m.Role, m.Content, open, used); err != nil {
			return fmt.Errorf("message %d: %w", i, err)
		}
	}
	if len(open) > 0 || len(r.Messages)%2 == 0 {
		return fmt.Errorf("it ends with the assistant, or with %d open calls", len(open))
	}
	return nil
}

// blocks checks those of one message. open are the calls of the message before; those of this one are returned.
func blocks(role string, list []anthropicBlock, open []string, used map[string]bool) ([]string, error) {
	results := 0
	var calls []string
	for i, b := range list {
		switch {
		case b.Type == "text" && strings.TrimSpace(b.Text) != "":
		case b.Type == "tool_use" && role == "assistant":
			if !plainID.MatchString(b.ID) || used[b.ID] || !plainID.MatchString(b.Name) || !object(b.Input) {
				return nil, fmt.Errorf("the call %.200q of %.200q with %.200s", b.ID, b.Name, b.Input)
			}
			used[b.ID] = true
			calls = append(calls, b.ID)
		case b.Type == "tool_result" && role == "user" && i == results && results < len(open) && b.ToolUseID == open[results]:
			if bytes.Contains(b.Content, []byte(`"text":""`)) {
				return nil, errors.New("an empty result")
			}
			results++
		default:
			return nil, fmt.Errorf("block %d, %q of %q, has no place here", i, b.Type, role)
		}
	}
	if results != len(open) {
		return nil, fmt.Errorf("%d results of %d calls", results, len(open))
	}
	return calls, nil
}

// TestRequestsOutOfOrderAreFound: the rules that the tests of misbehaviour go by can be broken.
func TestRequestsOutOfOrderAreFound(t *testing.T) {
	const user, hello = `{"role":"user","content":"hi"}`, `{"role":"user","content":[{"type":"text","text":"hi"}]}`
	call := func(id, args string) string {
		return `{"role":"assistant","tool_calls":[{"id":"` + id + `","type":"function","function":{"name":"look","arguments":` + quoted(args) + `}}]}`
	}
	result := func(id string) string { return `{"role":"tool","content":"x","tool_call_id":"` + id + `"}` }
	use := func(id, input string) string {
		return `{"role":"assistant","content":[{"type":"tool_use","id":"` + id + `","name":"look","input":` + input + `}]}`
	}
	used := func(id string) string {
		return `{"role":"user","content":[{"type":"tool_result","tool_use_id":"` + id + `"}]}`
	}
	good := map[turns.API][]string{
		turns.OpenAI:    {user, user + "," + call("c1", "{}") + "," + result("c1")},
		turns.Anthropic: {hello, hello + "," + use("c1", "{}") + "," + used("c1")},
	}
	bad := map[turns.API][]string{
		turns.OpenAI: {
			``, result("c1"), user + "," + call("c1", "{}"), user + "," + call("c1", "{}") + "," + user, user + "," + call("c1", "[]") + "," + result("c1"),
			user + "," + call("c 1", "{}") + "," + result("c 1"), user + "," + call("c1", "{}") + "," + result("c1") + "," + result("c1"),
			user + "," + call("c1", "{}") + "," + result("c1") + "," + call("c1", "{}") + "," + result("c1"), `{"role":"user","content":" "}`,
			user + `,{"role":"assistant","content":""},` + user, user + `,{"role":"system","content":"x"}`, `{"role":"user","content":"\ud83d"}`, "{\"role\":\"user\",\"content\":\"\xff\"}",
			user + `,{"role":"assistant","content":"x"}`, `{"role":"bishop","content":"x"}`,
		},
		turns.Anthropic: {
			``, hello + "," + hello, used("c1"), hello + "," + use("c1", "{}"), hello + "," + use("c1", "{}") + "," + hello, hello + "," + use("c1", "[]") + "," + used("c1"),
			hello + "," + use("c1", "{}") + "," + used("c2"), hello + "," + use("c 1", "{}") + "," + used("c 1"), `{"role":"user","content":[]}`,
			`{"role":"user","content":[{"type":"text","text":" "}]}`, `{"role":"assistant","content":[{"type":"text","text":"x"}]}`,
			hello + "," + use("c1", "{}") + "," + used("c1") + "," + use("c1", "{}") + "," + used("c1"), `{"role":"user","content":[{"type":"text","text":"\\\ud83d"}]}`,
		},
	}
	header := http.Header{
		"Content-Type": {"application/json"}, "Authorization": {"Bearer sk-x"}, "X-Api-Key": {"sk-x"}, "Anthropic-Version": {"1"},
	}
	body := func(messages string) []byte {
		return []byte(`{"model":"m","stream":true,"max_tokens":5,"messages":[` + messages + `]}`)
	}
	for api, list := range good {
		for _, messages := range list {
			if err := refuse(api, header, body(messages)); err != nil {
				t.Errorf("%s refuses %s: %v", api, messages, err)
			}
		}
		for _, messages := range bad[api] {
			if refuse(api, header, body(messages)) == nil {
				t.Errorf("%s takes %s", api, messages)
			}
		}
		if refuse(api, http.Header{"Content-Type": {"application/json"}}, body(list[0])) == nil {
			t.Errorf("%s takes a request without a key", api)
		}
	}
}
