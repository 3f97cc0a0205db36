package provider_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/turns/internal/provider"
	"github.com/jetclaw/jetclaw/services/turns/model"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// ask sends one request over a link and returns the failure.
func ask(t *testing.T, l *provider.Link, base string) *model.Error {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := l.Call(false, func(b []byte) []byte { return b }).Do(req)
	if err == nil {
		resp.Body.Close()
		t.Fatal("an answer")
	}
	var e *model.Error
	if err := l.Unanswered(t.Context(), err); !errors.As(err, &e) {
		t.Fatalf("got %v", err)
	}
	return e
}

func link(t *testing.T, cfg provider.Config) *provider.Link {
	t.Helper()
	cfg.Model, cfg.Delay = "m", 1
	l, err := provider.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.CloseIdle)
	return l
}

// TestWords are failures as real servers word them.
func TestWords(t *testing.T) {
	const (
		overflow = model.Overflow
		passing  = model.Passing
	)
	for _, c := range []struct {
		name   string
		status int
		body   string
		class  model.Class
	}{
		{"OpenAI", 400, `{"error":{"message":"This model's maximum context length is 4097 tokens. However, your messages resulted in 13393 tokens. Please reduce the length of the messages.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`, overflow},
		{"OpenAI's code alone", 400, `{"error":{"message":"no","type":"invalid_request_error","code":"context_length_exceeded"}}`, overflow},
		{"OpenAI, newer", 400, `{"error":{"message":"Your input exceeds the context window of this model. Please adjust your input and try again."}}`, overflow},
		{"OpenAI's limit a minute", 429, `{"error":{"message":"Request too large for gpt-4o in organization org-1 on tokens per min (TPM): Limit 30000, Requested 40000. The input or output tokens must be reduced.","type":"tokens","code":"rate_limit_exceeded"}}`, passing},
		{"a limit a minute with words of the other", 429, `{"error":{"message":"too many tokens per minute for this context window"}}`, passing},
		{"a limit a minute as 400", 400, `{"error":{"message":"too many tokens per minute"}}`, model.Invalid},
		{"OpenAI without credit", 429, `{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","type":"insufficient_quota","code":"insufficient_quota"}}`, model.Denied},
		{"Anthropic", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 213462 tokens > 200000 maximum"}}`, overflow},
		{"Anthropic's sum", 400, "{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000\"}}", overflow},
		{"Anthropic's bytes", 413, `{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}`, overflow},
		{"Anthropic without credit", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to access the Anthropic API."}}`, model.Denied},
		{"Anthropic's filter", 400, `{"type":"error","error":{"type":"invalid_request_error","message":"Output blocked by content filtering policy"}}`, model.Filtered},
		{"Anthropic overloaded", 529, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`, passing},
		{"Azure's filter", 400, `{"error":{"message":"The response was filtered due to the prompt triggering Azure OpenAI's content management policy.","code":"content_filter","status":400}}`, model.Filtered},
		{"llama.cpp", 400, `{"error":{"code":400,"message":"request (9010 tokens) exceeds the available context size (4096 tokens), try increasing it","type":"exceed_context_size_error","n_prompt_tokens":9010,"n_ctx":4096}}`, overflow},
		{"llama.cpp, while it answers", 500, `{"error":{"code":500,"message":"Context size has been exceeded.","type":"server_error"}}`, overflow},
		{"llama.cpp loads", 503, `{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}`, passing},
		{"Ollama", 400, `{"error":"the input length exceeds the context length"}`, overflow},
		{"Ollama's model", 404, `{"error":{"message":"model \"m\" not found, try pulling it first","type":"api_error","param":null,"code":null}}`, model.Missing},
		{"vLLM", 400, `{"object":"error","message":"This model's maximum context length is 8192 tokens. However, you requested 9000 tokens","type":"BadRequestError","param":null,"code":400}`, overflow},
		{"LM Studio", 400, `{"error":"Trying to keep the first 9000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens"}`, overflow},
		{"OpenRouter", 400, `{"error":{"message":"This endpoint's maximum context length is 131072 tokens. However, you requested about 200000 tokens","code":400}}`, overflow},
		{"OpenRouter without credit", 402, `{"error":{"message":"This request requires more credits, or fewer max_tokens.","code":402}}`, model.Denied},
		{"OpenRouter's moderation", 403, `{"error":{"message":"Your input was flagged","code":403,"metadata":{"reasons":["x"]}}}`, model.Filtered},
		{"Mistral", 400, `{"object":"error","message":"Prompt contains 65673 tokens and 0 draft tokens, too large for model with 32768 maximum context length","type":"invalid_request_prompt","code":3051}`, overflow},
		{"Groq", 400, `{"error":{"message":"Please reduce the length of the messages or completion.","type":"invalid_request_error","param":"messages","code":"context_length_exceeded"}}`, overflow},
		{"Groq's limit a minute, smaller than the request", 413, `{"error":{"message":"Request too large for model on tokens per minute (TPM): Limit 6000, Requested 7000","type":"tokens","code":"rate_limit_exceeded"}}`, overflow},
		{"Gemini", 400, `[{"error":{"code":400,"message":"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).","status":"INVALID_ARGUMENT"}}]`, overflow},
		{"Gemini's quota", 429, `[{"error":{"code":429,"message":"You exceeded your current quota","status":"RESOURCE_EXHAUSTED"}}]`, passing},
		{"Gemini's key", 400, `[{"error":{"code":400,"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}]`, model.Denied},
		{"xAI", 400, `{"code":"Client specified an invalid argument","error":"This model's maximum prompt length is 131072 but the request contains 537812 tokens."}`, overflow},
		{"Moonshot", 400, `{"error":{"message":"Invalid request: Your request exceeded model token limit: 8192","type":"invalid_request_error"}}`, overflow},
		{"a proxy", 502, "<html><h1>502 Bad Gateway: context length</h1></html>", passing},
		{"another 400", 400, `{"error":{"message":"tools.0.input_schema: too many properties"}}`, model.Invalid},
	} {
		t.Run(c.name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.body)
			}))
			defer server.Close()
			e := ask(t, link(t, provider.Config{BaseURL: server.URL}), server.URL)
			if e.Class != c.class || (e.Cause == turnv1.ContextOverflow) != (c.class == overflow) {
				t.Errorf("class %s, cause %s, want %s: %s", e.Class, e.Cause, c.class, e)
			}
		})
	}
}

// TestNotSent: what was not sent goes out again, what may have been does not.
func TestNotSent(t *testing.T) {
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", errors.New("no route to host"))}
	for name, c := range map[string]struct {
		err   error
		tries int64
	}{
		"no route":            {refused, 3},
		"no such name":        {&net.DNSError{Err: "no such host", Name: "a.test", IsNotFound: true}, 3},
		"no way to the proxy": {&net.OpError{Op: "proxyconnect", Err: refused}, 3},
		"reset":               {&net.OpError{Op: "read", Net: "tcp", Err: errors.New("connection reset by peer")}, 1},
		"anything else":       {errors.New("x"), 1},
	} {
		t.Run(name, func(t *testing.T) {
			var tries atomic.Int64
			const base = "http://model.test"
			l := link(t, provider.Config{BaseURL: base, Dial: func(context.Context, string, string) (net.Conn, error) {
				tries.Add(1)
				return nil, c.err
			}})
			if e := ask(t, l, base); e.Class != model.Passing || e.Cause != turnv1.ModelUnavailable {
				t.Errorf("got %+v", e)
			}
			if tries.Load() != c.tries {
				t.Errorf("%d tries, want %d", tries.Load(), c.tries)
			}
		})
	}
}

func TestTokens(t *testing.T) {
	for raw, want := range map[string]int{
		`7`: 7, `7.9`: 7, `"7"`: 7, `1e3`: 1000, `0`: 0, `-7`: 0, `1e300`: 0, `1e999`: 0, `"NaN"`: 0, `"Inf"`: 0, `null`: 0, `{}`: 0, `[7]`: 0, ``: 0, `true`: 0,
	} {
		if got := provider.Tokens([]byte(raw)); got != want {
			t.Errorf("%s: got %d, want %d", raw, got, want)
		}
	}
}

func TestSecret(t *testing.T) {
	s := provider.Secret("sk-12345")
	if got := s.Line("a sk-12345\n\x1b[2J b\xff" + strings.Repeat("é", 300)); !strings.HasPrefix(got, "a [key] [2J b\uFFFDéé") || len(got) > 310 || !strings.HasSuffix(got, "é…") {
		t.Errorf("got %q", got)
	}
	for _, short := range []provider.Secret{"", "x", "abc"} { // a placeholder
		if got := short.Raw("x abc"); got != "x abc" {
			t.Errorf("%q made %q", short, got)
		}
	}
}

// FuzzFilter: however a text is cut, what is shown is the same, and holds no key.
func FuzzFilter(f *testing.F) {
	f.Add("it is sk-12345, sk-sk-12345 and sk-1", 7, 3)
	f.Add("sk-12sk-12345345", 1, 1)
	f.Fuzz(func(t *testing.T, text string, first, then int) {
		s := provider.Secret("sk-12345")
		text = strings.ToValidUTF8(text, "")
		if first < 0 || then < 0 || first > len(text) || then > len(text)-first {
			return
		}
		whole := s.Filter()
		want := whole.Pass(text) + whole.Rest()
		pieces := s.Filter()
		got := ""
		for _, p := range []string{text[:first], text[first : first+then], text[first+then:]} {
			if strings.ToValidUTF8(p, "") != p {
				return // events cut between characters
			}
			got += pieces.Pass(p)
		}
		got += pieces.Rest()
		if got != want || strings.Contains(got, "sk-12345") {
			t.Errorf("in pieces %q, whole %q", got, want)
		}
	})
}
