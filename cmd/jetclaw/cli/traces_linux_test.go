package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/telemetry/otlp/otlptest"
)

// traced is a house whose processes send their spans to a collector.
type traced struct {
	*house
	collector *otlptest.Collector
}

const collectorKey = "c0llector-5f0c7d21e9"

func newTraced(t *testing.T, more string) *traced {
	t.Helper()
	h := &traced{house: newHouse(t, more), collector: otlptest.New(t)}
	h.env = append(h.env, "OTEL_EXPORTER_OTLP_ENDPOINT="+h.collector.URL, "OTEL_BSP_SCHEDULE_DELAY=50",
		"OTEL_EXPORTER_OTLP_HEADERS=authorization=Bearer%20"+collectorKey)
	return h
}

// tell posts JSON as part of a trace.
func (h *traced) tell(traceparent, path string, body map[string]string, want int) (answer map[string]any) {
	h.t.Helper()
	data, err := json.Marshal(body)
	if err != nil {
		h.t.Fatal(err)
	}
	token, err := os.ReadFile(filepath.Join(h.home, "keys", "http.token"))
	if err != nil {
		h.t.Fatal(err)
	}
	req, err := http.NewRequestWithContext(h.t.Context(), http.MethodPost, "http://"+h.address+path, bytes.NewReader(data))
	if err != nil {
		h.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+strings.TrimSpace(string(token)))
	req.Header.Set("Traceparent", traceparent)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		h.t.Fatal(err)
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil || resp.StatusCode != want {
		h.t.Fatalf("%s: HTTP %d, want %d: %v (%v)", path, resp.StatusCode, want, answer, err)
	}
	return answer
}

// spans are those that have come, by name, once all names are there so often.
func (h *traced) spans(want map[string]int) map[string][]otlptest.Span {
	h.t.Helper()
	group := func(all []otlptest.Span) map[string][]otlptest.Span {
		by := map[string][]otlptest.Span{}
		for _, s := range all {
			by[s.Name] = append(by[s.Name], s)
		}
		return by
	}
	by := group(h.collector.Wait(patience, func(all []otlptest.Span) bool {
		by := group(all)
		for name, n := range want {
			if len(by[name]) < n {
				return false
			}
		}
		return true
	}))
	for name, n := range want {
		if len(by[name]) != n {
			h.t.Errorf("%d spans %q, want %d", len(by[name]), name, n)
		}
	}
	if h.t.Failed() {
		for name, all := range by {
			for _, s := range all {
				h.t.Logf("%s %s ← %s %s links %v", s.TraceID, s.ID, s.Parent, name, s.Links)
			}
		}
		h.t.FailNow()
	}
	return by
}

const (
	callerTrace = "4bf92f3577b34da6a3ce929d0e0e4736"
	callerSpan  = "00f067aa0ba902b7"
	otherTrace  = "0af7651916cd43dd8448eb211c80319c"
	otherSpan   = "b7ad6b7169203331"
)

// TestTraceOfATurn: one trace leads from the caller over the journal and from process to process, to the model and back.
func TestTraceOfATurn(t *testing.T) {
	t.Parallel()
	h := newTraced(t, "")
	all := []*daemon{h.start("--target", "nats")}
	for _, target := range []string{"outbox", "builtin", "tools", "approvals", "turns", "intake"} {
		all = append(all, h.start("--target", target))
	}
	const words = "zebra"
	h.tell("00-"+callerTrace+"-"+callerSpan+"-01", "/v1/messages", map[string]string{"session": "a", "text": words + "\nnow {}"}, http.StatusAccepted)
	by := h.spans(map[string]int{
		"append message.received.v1": 1, "append turn.started.v1": 1, "invoke_agent main": 2, "chat scripted": 2, "append turn.stepped.v1": 1,
		"append call.dispatched.v1": 1, "append call.started.v1": 1, "execute_tool now": 1, "append call.completed.v1": 1,
		"append turn.continued.v1": 1, "append turn.completed.v1": 1, "append delivery.sent.v1": 1,
	})
	one := func(name string) otlptest.Span { return by[name][0] }
	first, last := by["invoke_agent main"][0], by["invoke_agent main"][1]
	if first.Start.After(last.Start) {
		first, last = last, first
	}
	chats := by["chat scripted"]
	slices.SortFunc(chats, func(a, b otlptest.Span) int { return a.Start.Compare(b.Start) })
	parent := otlptest.Span{ID: callerSpan}
	for _, s := range []otlptest.Span{
		one("append message.received.v1"), one("append turn.started.v1"), first, one("append turn.stepped.v1"),
		one("append call.dispatched.v1"), one("append call.started.v1"), one("execute_tool now"), one("append call.completed.v1"),
		one("append turn.continued.v1"), last, one("append turn.completed.v1"), one("append delivery.sent.v1"),
	} {
		if s.TraceID != callerTrace || s.Parent != parent.ID {
			t.Errorf("%s is of %s under %s; want %s under %s (%s)", s.Name, s.TraceID, s.Parent, callerTrace, parent.ID, parent.Name)
		}
		if len(s.Links) > 0 {
			t.Errorf("%s has links: %v", s.Name, s.Links)
		}
		parent = s
	}
	for i, s := range []otlptest.Span{first, last} {
		if chats[i].Parent != s.ID || chats[i].TraceID != callerTrace || chats[i].Kind != 3 {
			t.Errorf("%+v is not under %+v", chats[i], s)
		}
	}
	for _, e := range h.journal("--session", theSession) {
		s := one("append " + e.Type)
		if s.Attributes["jetclaw.cursor"] != int64(e.Cursor) || s.Attributes["jetclaw.stream"] != "EV" || s.Attributes["gen_ai.conversation.id"] != theSession ||
			s.Attributes["messaging.message.id"] != e.ID || s.Kind != 4 {
			t.Errorf("%s: %v", s.Name, s.Attributes)
		}
	}
	wantAttributes(t, one("execute_tool now"), map[string]any{"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "now", "jetclaw.executor": "builtin", "jetclaw.outcome": "completed"})
	wantAttributes(t, first, map[string]any{"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "main", "jetclaw.outcome": "stepped"})
	wantAttributes(t, chats[0], map[string]any{"gen_ai.operation.name": "chat", "gen_ai.provider.name": "one", "gen_ai.request.model": "scripted"})
	for _, d := range slices.Backward(all) {
		if code := d.stop(); code != 0 {
			t.Errorf("exit %d\n%s", code, d.stderr)
		}
		if strings.Contains(d.stderr.String(), collectorKey) {
			t.Error("the collector's key is in the log")
		}
	}
	processes := map[string]bool{}
	for _, s := range h.collector.Spans() {
		processes[fmt.Sprint(s.Resource["jetclaw.target"])] = true
		if s.Resource["service.name"] != "jetclaw" || s.Resource["service.instance.id"] == "" || s.Headers.Get("Authorization") != "Bearer "+collectorKey {
			t.Errorf("%s comes from %v with %v", s.Name, s.Resource, s.Headers)
		}
		if all := fmt.Sprint(s.Name, s.Attributes, s.Error, s.Links, s.Resource); strings.Contains(all, words) || strings.Contains(all, modelKey) || strings.Contains(all, collectorKey) {
			t.Errorf("what somebody said, or a key, is in %s", all)
		}
	}
	for _, target := range []string{"outbox", "builtin", "tools", "turns", "intake"} {
		if !processes[target] {
			t.Errorf("%s has sent nothing: %v", target, processes)
		}
	}
	if h.model.asked() == "" || strings.Contains(strings.ToLower(h.model.asked()), "traceparent") {
		t.Error("the model's server is told of the trace")
	}
}

func wantAttributes(t *testing.T, s otlptest.Span, want map[string]any) {
	t.Helper()
	for k, v := range want {
		if s.Attributes[k] != v {
			t.Errorf("%s: %s is %v, want %v", s.Name, k, s.Attributes[k], v)
		}
	}
}

// TestTraceOverAnApproval: what follows a person's answer belongs to the trace of the answer, and is linked to the one of the
// question: it may have waited for days.
func TestTraceOverAnApproval(t *testing.T) {
	t.Parallel()
	h := newTraced(t, "approvers: [\"http:default\"]\n")
	d := h.start()
	got := h.tell("00-"+callerTrace+"-"+callerSpan+"-01", "/v1/messages", map[string]string{"session": "a", "text": execLine(work + " # tiger")}, http.StatusAccepted)
	id, _ := got["message_id"].(string)
	approval := h.parked(id)
	h.tell("00-"+otherTrace+"-"+otherSpan+"-01", "/v1/approvals/"+approval, map[string]string{"decision": "allow-once"}, http.StatusOK)
	h.reply(id).want(t, "completed", "exit code 0")
	by := h.spans(map[string]int{
		"append approval.requested.v1": 1, "append approval.decided.v1": 1, "execute_tool exec": 1, "append turn.completed.v1": 1,
	})
	if s := by["append approval.requested.v1"][0]; s.TraceID != callerTrace {
		t.Errorf("the question is of %s", s.TraceID)
	}
	var links []string
	for _, s := range by["append decision.submitted.v1"] {
		links = append(links, linked(s)...)
	}
	decided := by["append approval.decided.v1"][0]
	links = append(links, linked(decided)...)
	if decided.TraceID != otherTrace || !slices.Contains(links, callerTrace) {
		t.Errorf("the answer is of %s, linked to %v", decided.TraceID, links)
	}
	for _, name := range []string{"execute_tool exec", "append turn.completed.v1"} {
		if s := by[name][0]; s.TraceID != decided.TraceID {
			t.Errorf("%s is of %s, not of the answer's %s", name, s.TraceID, decided.TraceID)
		}
	}
	if code := d.stop(); code != 0 {
		t.Errorf("exit %d\n%s", code, d.stderr)
	}
	for _, s := range h.collector.Spans() {
		if strings.Contains(fmt.Sprint(s.Name, s.Attributes, s.Error), "tiger") {
			t.Errorf("what the person said is in %+v", s)
		}
	}
}

func linked(s otlptest.Span) (traces []string) {
	for _, l := range s.Links {
		traces = append(traces, l.TraceID)
	}
	return traces
}

// TestTraceAfterAKill: what is taken over is no part of what was begun, and is linked to it.
func TestTraceAfterAKill(t *testing.T) {
	t.Parallel()
	model, collector, address := newFakeModel(t), otlptest.New(t), freeAddress(t)
	u := newUser(t, httpYAML(address), append(model.env(), "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT="+collector.URL+"/v1/traces", "OTEL_BSP_SCHEDULE_DELAY=50")...)
	h := &traced{house: &house{user: u, address: address}, collector: collector}
	d := u.start()
	h.tell("00-"+callerTrace+"-"+callerSpan+"-01", "/v1/messages", map[string]string{"session": "a", "text": "hold on"}, http.StatusAccepted)
	<-model.began
	h.spans(map[string]int{"append turn.started.v1": 1}) // it was sent before
	d.kill()
	close(model.hold)
	d = u.start()
	by := h.spans(map[string]int{"append turn.resumed.v1": 1, "append turn.completed.v1": 1, "append delivery.sent.v1": 1})
	resumed := by["append turn.resumed.v1"][0]
	if resumed.TraceID == callerTrace || resumed.Parent != "" || !slices.Contains(linked(resumed), callerTrace) {
		t.Errorf("it goes on as %s under %q, linked to %v", resumed.TraceID, resumed.Parent, linked(resumed))
	}
	if s := by["append delivery.sent.v1"][0]; s.TraceID != resumed.TraceID {
		t.Errorf("the answer is of %s", s.TraceID)
	}
	if code := d.stop(); code != 0 {
		t.Errorf("exit %d", code)
	}
}

// TestTracesOfADeadCollector: nothing waits for one that is not there.
func TestTracesOfADeadCollector(t *testing.T) {
	t.Parallel()
	u := newUser(t, quietYAML, "OTEL_EXPORTER_OTLP_ENDPOINT=http://"+freeAddress(t), "OTEL_BSP_SCHEDULE_DELAY=20", "OTEL_BSP_EXPORT_TIMEOUT=200")
	d := monitored{u.start("--monitor", "127.0.0.1:0"), ""}
	_, rest, _ := strings.Cut(d.stderr.waitFor(t, "/readyz"), "monitor  http://")
	d.address, _, _ = strings.Cut(rest, "/")
	u.run("chat", "hello").want(t, 0)
	d.until("/metrics", func(_ int, text string) bool {
		return strings.Contains(text, "\njetclaw_spans_dropped_total ") && !strings.Contains(text, "\njetclaw_spans_dropped_total 0\n")
	})
	if code := d.stop(); code != 0 {
		t.Errorf("exit %d", code)
	}
	if n := strings.Count(d.stderr.String(), "spans are lost"); n != 1 {
		t.Errorf("said %d times: %s", n, d.stderr)
	}
}
