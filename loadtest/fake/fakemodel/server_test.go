package fakemodel_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	openai "github.com/sashabaranov/go-openai"

	"github.com/jetclaw/jetclaw/loadtest/fake/fakemodel"
)

func start(t *testing.T, o fakemodel.Options) (*fakemodel.Server, *openai.Client) {
	t.Helper()
	s, err := fakemodel.Start("127.0.0.1:0", o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	cfg := openai.DefaultConfig("")
	cfg.BaseURL = s.URL()
	return s, openai.NewClientWithConfig(cfg)
}

func ask(texts ...string) openai.ChatCompletionRequest {
	r := openai.ChatCompletionRequest{Model: "echo", StreamOptions: &openai.StreamOptions{IncludeUsage: true}}
	for i, text := range texts {
		role := "user"
		if i%2 == 1 {
			role = "assistant"
		}
		r.Messages = append(r.Messages, openai.ChatCompletionMessage{Role: role, Content: text})
	}
	return r
}

// read takes a stream to its end: the text, the tokens, and io.EOF or what went wrong.
func read(ctx context.Context, c *openai.Client, r openai.ChatCompletionRequest) (string, int, error) {
	st, err := c.CreateChatCompletionStream(ctx, r)
	if err != nil {
		return "", 0, err
	}
	defer func() { _ = st.Close() }()
	var b strings.Builder
	tokens := 0
	for {
		chunk, err := st.Recv()
		if err != nil {
			return b.String(), tokens, err
		}
		if chunk.Usage != nil {
			tokens = chunk.Usage.TotalTokens
		}
		for _, ch := range chunk.Choices {
			b.WriteString(ch.Delta.Content)
		}
	}
}

func TestStreamedAnswerRepeatsOnlyTheLastMessage(t *testing.T) {
	s, c := start(t, fakemodel.Options{})
	text, tokens, err := read(t.Context(), c, ask("mk-a-0-1 first", "You said: mk-a-0-1 first", "mk-a-0-2 Grüße"))
	if !errors.Is(err, io.EOF) || text != "You said: mk-a-0-2 Grüße" || tokens == 0 {
		t.Fatalf("answer %q, %d tokens, %v", text, tokens, err)
	}
	if got := s.Tally("mk-a-0-2"); got.Requests != 1 || got.Finished != 1 || got.Took <= 0 {
		t.Errorf("tally of the asked = %+v", got)
	}
	if got := s.Tally("mk-a-0-1"); got != (fakemodel.Tally{}) {
		t.Errorf("tally of the past = %+v", got)
	}
}

func TestPlainAnswerAndModels(t *testing.T) {
	_, c := start(t, fakemodel.Options{})
	r := ask("hello")
	r.StreamOptions = nil
	a, err := c.CreateChatCompletion(t.Context(), r)
	if err != nil || a.Choices[0].Message.Content != "You said: hello" || a.Choices[0].FinishReason != "stop" {
		t.Fatalf("%+v, %v", a, err)
	}
	m, err := c.ListModels(t.Context())
	if err != nil || len(m.Models) != 1 || m.Models[0].ID != "echo" {
		t.Fatalf("models %+v, %v", m, err)
	}
}

func TestFailuresOnRequest(t *testing.T) {
	_, c := start(t, fakemodel.Options{})
	var api *openai.APIError
	if _, _, err := read(t.Context(), c, ask("!fail 503")); !errors.As(err, &api) || api.HTTPStatusCode != 503 {
		t.Errorf("503: %v", err)
	}
	if text, _, err := read(t.Context(), c, ask("please !fail cut")); errors.Is(err, io.EOF) || text == "" {
		t.Errorf("cut: %q, %v; want half an answer and an error", text, err)
	}
	if _, _, err := read(t.Context(), c, ask("!fail garbage")); errors.Is(err, io.EOF) {
		t.Errorf("garbage read as an answer")
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, _, err := read(ctx, c, ask("!fail silence")); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("silence: %v", err)
	}
}

func TestOpenRequestsAreCountedWhileTheyWait(t *testing.T) {
	s, c := start(t, fakemodel.Options{Delay: fakemodel.Delay{Min: time.Minute, Max: time.Minute}})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	const n = 5
	for range n {
		go func() {
			_, _, err := read(ctx, c, ask("hello"))
			done <- err
		}()
	}
	for s.Open() < n {
		if t.Context().Err() != nil {
			t.Fatal("never open")
		}
	}
	cancel()
	for range n {
		if err := <-done; err == nil {
			t.Error("answered before its delay")
		}
	}
	for s.Open() > 0 { // a caller that is gone frees its request
		if t.Context().Err() != nil {
			t.Fatal("never freed")
		}
	}
}

func TestParseDelay(t *testing.T) {
	for in, want := range map[string]fakemodel.Delay{
		"0": {}, "200ms": {Min: 200 * time.Millisecond, Max: 200 * time.Millisecond}, "0-500ms": {Max: 500 * time.Millisecond},
	} {
		if got, err := fakemodel.ParseDelay(in); err != nil || got != want {
			t.Errorf("ParseDelay(%q) = %v, %v", in, got, err)
		}
	}
	for _, in := range []string{"", "5", "500ms-0", "1s-", "x"} {
		if got, err := fakemodel.ParseDelay(in); err == nil {
			t.Errorf("ParseDelay(%q) = %v", in, got)
		}
	}
}

func TestParsePlan(t *testing.T) {
	for _, in := range []string{"cut", "200:0.1", "cut:2", "x:0.1", "cut:0.6,503:0.6", "m/cut:0.6,m/503:0.6", "503+0:1", "503+x:1", "600:1"} {
		if _, err := fakemodel.ParsePlan(in, 1); err == nil {
			t.Errorf("ParsePlan(%q) accepted", in)
		}
	}
	p, err := fakemodel.ParsePlan("503:0.5,cut:0.5", 1)
	if err != nil {
		t.Fatal(err)
	}
	status, cut := 0, 0
	for range 100 {
		switch f := p(fakemodel.Ask{}); {
		case f.Status == 503:
			status++
		case f.Cut:
			cut++
		}
	}
	if status+cut != 100 || status < 30 || cut < 30 {
		t.Errorf("of 100: %d with status, %d cut", status, cut)
	}
}
