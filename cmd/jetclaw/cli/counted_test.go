package cli

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// counter is a provider of two wires: OpenAI's has always too much to do, Anthropic's answers and keeps the books.
type counter struct {
	*httptest.Server
	mu                           sync.Mutex
	asked, calls, input, output  int // guarded by mu; asked: of the one that has too much to do
	perCall, fromCache, answered int // tokens
}

func newCounter(t *testing.T) *counter {
	t.Helper()
	c := &counter{perCall: 100, fromCache: 40, answered: 7}
	c.Server = httptest.NewServer(http.HandlerFunc(c.serve))
	t.Cleanup(c.Close)
	return c
}

func (c *counter) serve(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r.URL.Path != "/v1/messages" {
		c.asked++
		w.Header().Set("Retry-After", "300")
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	c.calls++
	c.input += c.perCall + c.calls
	c.output += c.answered
	w.Header().Set("Content-Type", "text/event-stream")
	for _, e := range []string{
		fmt.Sprintf(`{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","content":[],"model":"m",`+
			`"usage":{"input_tokens":%d,"cache_read_input_tokens":%d,"output_tokens":1}}}`, c.perCall+c.calls-c.fromCache, c.fromCache),
		`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"noted"}}`,
		`{"type":"content_block_stop","index":0}`,
		fmt.Sprintf(`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":%d}}`, c.answered),
		`{"type":"message_stop"}`,
	} {
		var head struct{ Type string }
		if err := json.Unmarshal([]byte(e), &head); err != nil {
			panic(err)
		}
		fmt.Fprintf(w, "event: %s\ndata: %s\n\n", head.Type, e)
	}
}

// TestUsageIsWhatTheProviderCounted: turns that a fallback has answered and a summary, in tokens and in money.
func TestUsageIsWhatTheProviderCounted(t *testing.T) {
	t.Parallel()
	c := newCounter(t)
	u := newUser(t, fmt.Sprintf(`models:
  default: busy/m
  fallbacks: [good/m]
  providers: {busy: {api: openai, base_url: "%s/v1"}, good: {api: anthropic, base_url: "%s"}}
  prices: {"good/*": {input: 3, output: 15, cache_read: 0.30}}
channels: {http: {listen: "off"}}
`, c.URL, c.URL))
	for _, say := range []string{"one", "two", "/compact", "three"} {
		u.run("chat", say).want(t, 0)
	}
	u.run("chat", "four").want(t, 0, "good/m has answered, as busy/m could not")
	var got struct {
		Total struct {
			Calls  int   `json:"calls"`
			Input  int   `json:"input_tokens"`
			Output int   `json:"output_tokens"`
			Cost   int64 `json:"cost_nano_usd"`
		} `json:"total"`
	}
	if err := json.Unmarshal([]byte(u.run("usage", "--by", "model", "--json").stdout), &got); err != nil {
		t.Fatal(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	cached := c.calls * c.fromCache
	cost := int64((c.input-cached)*3000 + cached*300 + c.output*15000)
	if g := got.Total; c.calls != 5 || g.Calls != c.calls || g.Input != c.input || g.Output != c.output || g.Cost != cost {
		t.Errorf("usage says %+v, the provider counted %d calls, %d in, %d out, and that costs %d", g, c.calls, c.input, c.output, cost)
	}
	if c.asked != 1 {
		t.Errorf("the busy model was asked %d times within the 300 s that it wanted to be left alone", c.asked)
	}
}
