package turns_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/noticev1"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/turns"
	"github.com/jetclaw/jetclaw/services/turns/turn"
)

func isSummary(body string) bool {
	return strings.Contains(body, "summar") && !strings.Contains(body, turns.DefaultInstructions)
}

// TestAGrowingSessionIsCompacted: the summary stands for what was before, the newest turns stay, and a summary that fails
// changes nothing.
func TestAGrowingSessionIsCompacted(t *testing.T) {
	var summaries, refused atomic.Int64
	last := make(chan string, 100)
	m := provider(t, func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		body := string(data)
		switch {
		case !isSummary(body):
			last <- body
			speak(w, `{"content":"noted"}`)
		case refused.Add(1) == 1:
			w.WriteHeader(http.StatusBadRequest)
		default:
			speak(w, fmt.Sprintf(`{"content":"SUMMARY-%d"}`, summaries.Add(1)))
		}
	})
	h := startWith(t, turns.Config{Catalog: turns.Only(m), Agents: map[string]turns.Agent{turns.MainAgent: {Window: 4000}}})
	say := func(i int) string {
		h.say(messagev1.Received{Text: fmt.Sprintf("message-%d %s", i, strings.Repeat("and so on ", 150))}, fmt.Sprint("k", i))
		return within(t, last)
	}
	n := 0
	for ; n < 8; n++ { // 1,570 bytes each; due above 8,000, and when it has failed, with a quarter more
		say(n)
		until[turnv1.Completed](h)
		switch n {
		case 5:
			if b := until[turnv1.CompactionFailed](h); b.Cause != turnv1.ModelRefused || b.By != "" {
				t.Errorf("got %+v", b)
			}
		case 7:
			b := until[turnv1.SessionCompacted](h)
			if b.Summary != "SUMMARY-1" || b.Turns != 7 || b.Model != "local/fake-1" || b.Usage.Input != 5 || b.By != "" {
				t.Errorf("got %+v", b)
			}
		}
	}
	body := say(n)
	if !strings.Contains(body, "SUMMARY-1") || strings.Contains(body, "message-0 ") || !strings.Contains(body, fmt.Sprintf("message-%d ", n-1)) {
		t.Errorf("after the summary the request is %.3000s", body)
	}
}

func TestCompactAndKeep(t *testing.T) {
	bodies := make(chan string, 100)
	m := provider(t, func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		bodies <- string(data)
		if isSummary(string(data)) {
			speak(w, `{"content":"they spoke of tea"}`)
			return
		}
		speak(w, `{"content":"fine"}`)
	})
	h := startWith(t, turns.Config{Catalog: turns.Only(m)})
	h.say(messagev1.Control{Verb: messagev1.Compact}, "c0")
	if got := until[noticev1.Posted](h); !strings.Contains(got.Text, "nothing to summarise") || got.Answers[0] != "id-c0" {
		t.Errorf("got %+v", got)
	}
	h.say(messagev1.Received{Text: "I like green tea"}, "k1")
	until[turnv1.Completed](h)
	h.say(messagev1.Control{Verb: messagev1.New, Argument: "keep"}, "c1")
	if got := until[turnv1.SessionCompacted](h); got.By != "id-c1" || got.Turns != 1 || !strings.Contains(got.Text, "new beginning") {
		t.Errorf("got %+v", got)
	}
	<-bodies
	if body := <-bodies; !strings.Contains(body, "I like green tea") {
		t.Errorf("the summary is made of %s", body)
	}
	h.say(messagev1.Received{Text: "what do I like?"}, "k2")
	until[turnv1.Completed](h)
	if body := <-bodies; strings.Contains(body, "green tea") || !strings.Contains(body, "they spoke of tea") {
		t.Errorf("the next request is %s", body)
	}
	h.say(messagev1.Control{Verb: messagev1.New}, "c2")
	until[turnv1.SessionReset](h)
	h.say(messagev1.Received{Text: "and now?"}, "k3")
	until[turnv1.Completed](h)
	if body := <-bodies; strings.Contains(body, "they spoke of tea") {
		t.Errorf("a new beginning remembers: %s", body)
	}
}

// TestContextIsWhatIsSent compares the endpoint's answer with the request that the provider then gets.
func TestContextIsWhatIsSent(t *testing.T) {
	bodies := make(chan string, 10)
	m := provider(t, func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		bodies <- string(data)
		speak(w, `{"content":"aha"}`)
	})
	h := startWith(t, turns.Config{Catalog: turns.Only(m), Agents: map[string]turns.Agent{turns.MainAgent: {Workspace: filepath.Join(t.TempDir(), "workspace")}}})
	h.say(messagev1.Received{Text: "hello"}, "k1")
	until[turnv1.Completed](h)
	<-bodies
	cli := h.server.Connect(t, "cli")
	got, err := bus.Ask[turns.Context](t.Context(), cli, "turns", "context", turns.ContextRequest{Session: string(h.session)})
	if err != nil {
		t.Fatal(err)
	}
	sum := 0
	for _, p := range got.Parts {
		sum += p.Tokens
	}
	if sum != got.Tokens || got.Tokens == 0 || got.Window < got.Tokens || got.Models[0] != "local/fake-1" || len(got.Tools) != 1 || got.Next != 0 {
		t.Errorf("got %+v", got)
	}
	h.say(messagev1.Received{Text: "again"}, "k2")
	until[turnv1.Completed](h)
	var sent struct {
		Messages []struct{ Role, Content string }
		Tools    []struct{ Function struct{ Name string } }
	}
	if err := json.Unmarshal([]byte(<-bodies), &sent); err != nil {
		t.Fatal(err)
	}
	// All that was told is sent, then what came since; a placeholder may stand where the next message will.
	for i, want := range got.Messages[:3] {
		if sent.Messages[i].Role != string(want.Role) || sent.Messages[i].Content != want.Text {
			t.Errorf("message %d was told as\n%+v, sent as\n%+v", i, want, sent.Messages[i])
		}
	}
	if sent.Tools[0].Function.Name != got.Tools[0].Name {
		t.Errorf("tools %+v", sent.Tools)
	}
	if _, err := bus.Ask[turns.Context](t.Context(), cli, "turns", "context", turns.ContextRequest{Session: "main.http.test.nobody"}); fault.KindOf(err) != fault.NotFound {
		t.Errorf("of a session that does not exist: %v", err)
	}
}

func TestDelete(t *testing.T) {
	h := start(t, turns.NewOffline(), turn.Limits{})
	h.say(messagev1.Received{Text: "hello"}, "k1")
	until[turnv1.Completed](h)
	cli := h.server.Connect(t, "cli")
	last, err := h.intake.Journal().Last(t.Context(), h.session)
	if err != nil {
		t.Fatal(err)
	}
	ask := func(cursor uint64) (turns.Deleted, error) {
		return bus.Ask[turns.Deleted](t.Context(), cli, "turns", "delete", turns.DeleteRequest{
			Session: string(h.session), Cursor: cursor, Reason: turnv1.SessionDeleted{By: "cli", Events: 3},
		})
	}
	if _, err := ask(last - 1); fault.KindOf(err) != fault.Conflict {
		t.Errorf("with news: %v", err)
	}
	got, err := ask(last)
	if err != nil || got.Cursor <= last {
		t.Fatalf("got %+v, %v", got, err)
	}
	if b := until[turnv1.SessionDeleted](h); b.By != "cli" || b.Events != 3 {
		t.Errorf("got %+v", b)
	}
	h.say(messagev1.Received{Text: "are you there?"}, "k2")
	if b := until[turnv1.Completed](h); !strings.Contains(b.Text, "I am jetclaw's offline model") {
		t.Errorf("it remembers: %q", b.Text)
	}
}
