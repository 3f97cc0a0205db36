package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/loadtest/fake/fakemcp"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/subject"
	"github.com/jetclaw/jetclaw/schemas/toolv1"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/mcp/definition"
)

func TestCalls(t *testing.T) {
	h := newHouse(t)
	fake := h.fake()
	fake.Approval = definition.Auto
	h.configure(map[string]definition.Definition{"fake": fake})
	h.start()
	if got := h.run(somebody, h.dispatched("fake", "look", `{"text":"hello `+canary+`"}`)); got.Outcome != callv1.OK || !got.Untrusted ||
		!strings.Contains(got.Content, "hello") || strings.Contains(got.Content, canary) {
		t.Errorf("a tool that reads: %+v", got)
	}
	if d := h.dispatched("fake", "echo", `{"text":"hello"}`); d.Level != toolv1.L2 {
		t.Errorf("a tool that says nothing of itself has level %s", d.Level)
	} else if got := h.run(somebody, d); got.Outcome != callv1.Refused || !strings.Contains(got.Content, "nobody has allowed") {
		t.Errorf("nobody has allowed it: %+v", got)
	}
	d := h.dispatched("fake", "echo", `{"text":"allowed"}`)
	_, key := keys()
	a := callv1.Approval{ID: "a1", Decision: callv1.AllowOnce, By: "local", At: time.Now(), Expires: time.Now().Add(time.Hour)}.Signed(key, somebody, d.Request)
	d.Approval = &a
	if got := h.run(somebody, d); got.Outcome != callv1.OK || got.Content != "allowed" {
		t.Errorf("a person has allowed it: %+v", got)
	}
	d = h.dispatched("fake", "look", `{"text":"x"}`)
	d.ToolDigest = "other"
	if got := h.run(somebody, d); got.Outcome != callv1.Refused || !strings.Contains(got.Content, "has changed") {
		t.Errorf("another tool was meant: %+v", got)
	}
	d = h.dispatched("fake", "look", `{"text":"x"}`)
	d.Tool = "fake__gone"
	if got := h.run(somebody, d); got.Outcome != callv1.Refused || !strings.Contains(got.Content, "no tool fake__gone any more") {
		t.Errorf("a tool that has vanished: %+v", got)
	}
}

// TestAToolErrorIsNoFailureOfTheServer: what a tool says of itself pauses nobody.
func TestAToolErrorIsNoFailureOfTheServer(t *testing.T) {
	h := newHouse(t)
	h.configure(map[string]definition.Definition{"fake": h.fake()})
	h.start()
	for range 4 {
		if got := h.run(somebody, h.dispatched("fake", "fail", `{}`)); got.Outcome != callv1.Error || got.Content != "this tool always fails" {
			t.Fatalf("%+v", got)
		}
	}
	if got := h.status("fake"); got.State != "ready" || got.Failures != 0 {
		t.Errorf("%+v", got)
	}
}

// TestAServerThatDies: in the middle of a call the outcome is unknown, and nothing is done twice; the next call has a new process.
func TestAServerThatDies(t *testing.T) {
	h := newHouse(t)
	h.configure(map[string]definition.Definition{"fake": h.fake(), "other": h.fake()})
	h.start()
	h.offered("other", "echo")
	other := h.status("other").PIDs
	if got := h.run(somebody, h.dispatched("fake", "crash", `{}`)); got.Outcome != callv1.Unknown || !strings.Contains(got.Content, "exited with status 3") {
		t.Errorf("%+v", got)
	}
	if n := h.effects("crash")["begun"]; n != 1 {
		t.Errorf("it was carried out %d times", n)
	}
	if got := h.run(somebody, h.dispatched("fake", "echo", `{"text":"again"}`)); got.Outcome != callv1.OK || got.Content != "again" {
		t.Errorf("after it: %+v", got)
	}
	if got := h.status("fake"); got.Failures != 0 || got.State != "ready" {
		t.Errorf("a call that works ends the row of failures: %+v", got)
	}
	if got := h.status("other").PIDs; len(got) != 1 || got[0] != other[0] {
		t.Errorf("the other server had %v, and has %v", other, got)
	}
}

// TestPause: a server that keeps failing is left alone, by all processes, after a restart too; what is handed to it is answered.
func TestPause(t *testing.T) {
	h := newHouse(t)
	h.configure(map[string]definition.Definition{"fake": h.fake(), "other": h.fake()})
	h.start()
	early := h.dispatched("fake", "echo", `{"text":"early"}`)
	late := h.dispatched("fake", "echo", `{"text":"late"}`)
	for range 3 {
		if got := h.run(somebody, h.dispatched("fake", "crash", `{}`)); got.Outcome != callv1.Unknown {
			t.Fatalf("%+v", got)
		}
	}
	paused := func() {
		t.Helper()
		got := h.status("fake")
		if got.State != "paused" || got.Pauses != 1 || !got.RetryAfter.After(time.Now()) || !strings.Contains(got.LastError, "exited with status 3") {
			t.Fatalf("%+v", got)
		}
		h.until("the catalogue says so", func() bool {
			c, ok := h.catalogue("fake")
			return ok && c.Paused != nil && c.Paused.Until.Equal(got.RetryAfter)
		})
		st, err := h.srv.Admin().ExecutorState(t.Context(), subject.Executor(Name, "fake"))
		if err != nil || st.PausedUntil.Sub(got.RetryAfter).Abs() > time.Second {
			t.Fatalf("its consumer is paused until %s (%v)", st.PausedUntil, err)
		}
	}
	paused()
	if got := h.run(somebody, early); got.Outcome != callv1.Refused || got.Attempt != 0 || !strings.Contains(got.Content, "paused until") ||
		strings.Contains(got.Content, "status 3") { // its own words are for people
		t.Errorf("a call that was handed to it: %+v", got)
	}
	if got := h.run(somebody, h.dispatched("other", "echo", `{"text":"x"}`)); got.Outcome != callv1.OK {
		t.Errorf("another server: %+v", got)
	}
	h.stop()
	h.start()
	paused()
	if got := h.run(another, late); got.Outcome != callv1.Refused || !strings.Contains(got.Content, "paused until") {
		t.Errorf("after a restart: %+v", got)
	}
	cli := h.srv.Connect(t, "cli")
	got, err := bus.Ask[Reloaded](t.Context(), cli, Name, ReloadVerb, ReloadRequest{})
	if err != nil || len(got.Resumed) != 1 || got.Resumed[0] != "fake" || len(got.Servers) != 2 {
		t.Fatalf("%+v (%v)", got, err)
	}
	h.until("the catalogue is as before", func() bool { c, ok := h.catalogue("fake"); return ok && c.Paused == nil })
	if got := h.run(another, h.dispatched("fake", "echo", `{"text":"back"}`)); got.Outcome != callv1.OK || got.Content != "back" {
		t.Errorf("after a reload: %+v", got)
	}
}

// TestProbeEndsAPause, when the server answers.
func TestProbeEndsAPause(t *testing.T) {
	h := newHouse(t)
	h.configure(map[string]definition.Definition{"fake": h.fake("--more", "3")})
	h.start()
	for range 3 {
		h.run(somebody, h.dispatched("fake", "crash", `{}`))
	}
	got, err := bus.Ask[Probed](t.Context(), h.srv.Connect(t, "cli"), Name, ProbeVerb, ProbeRequest{Servers: []string{"fake"}})
	if err != nil || !got.Servers["fake"].Resumed || got.Servers["fake"].Listed != 18 || len(got.Diagnostics) != 0 {
		t.Fatalf("%+v (%v)", got, err)
	}
	if st := h.status("fake"); st.State == "paused" || st.Pauses != 0 {
		t.Errorf("%+v", st)
	}
}

// TestProbeOfATalkativeServer: one that has secrets of its own, and writes to stderr.
func TestProbeOfATalkativeServer(t *testing.T) {
	d := definition.Definition{
		Command: "/bin/sh", Args: []string{"-c", `echo "the token is $API_TOKEN" >&2; exit 1`}, Env: map[string]string{"API_TOKEN": canary},
	}
	got := Probe(t.Context(), ProbeConfig{
		Servers: map[string]definition.Definition{"one": d, "two": d}, Redact: func(text string) string { return strings.ReplaceAll(text, "token", "other secret") }, Log: slog.New(slog.DiscardHandler),
		World: World{
			Resolve: func(d definition.Definition) (definition.Definition, []string, error) {
				return d, []string{canary}, nil
			},
			Home: t.TempDir(), Environ: []string{"PATH=/usr/bin:/bin"},
		},
	})
	if len(got.Diagnostics) != 2 || got.Diagnostics[1].Server != "two" {
		t.Fatalf("%+v", got)
	}
	for _, one := range got.Diagnostics {
		if !strings.Contains(one.Stderr, "the other secret is") || strings.Contains(fmt.Sprint(one), canary) {
			t.Errorf("%+v", one)
		}
	}
}

// gossip is a server that tells its secret wherever it can: as its name, in what it says of its tool, and where a result is cut.
const gossip = `
say() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
while read -r line; do
	id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
	case "$line" in
	*'"initialize"'*) say '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"'$API_TOKEN'","version":"'$API_TOKEN'"}}' ;;
	*'"tools/list"'*) say '{"tools":[{"name":"x","description":"for '$API_TOKEN'","inputSchema":{"type":"object","properties":{"a":{"default":"'$API_TOKEN'"}}}}]}' ;;
	*'"tools/call"'*) say '{"content":[{"type":"text","text":"'$(head -c 262139 /dev/zero | tr '\0' x)$API_TOKEN'"},
		{"type":"resource","resource":{"uri":"x://h/'$API_TOKEN'","mimeType":"a/'$API_TOKEN'","blob":"AAAA"}}]}' ;;
	*'"id"'*) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}\n' "$id" ;;
	esac
done`

// TestAServerThatTellsItsSecret tells it to nobody.
func TestAServerThatTellsItsSecret(t *testing.T) {
	h := newHouse(t)
	script := strings.ReplaceAll(gossip, "},\n\t\t{", "},{")
	h.configure(map[string]definition.Definition{"gossip": {
		Command: "/bin/sh", Args: []string{"-c", script}, Env: map[string]string{"API_TOKEN": canary}, Approval: definition.Approve,
	}})
	h.start()
	got := h.run(somebody, h.dispatched("gossip", "x", `{}`))
	if got.Outcome != callv1.OK || len(got.Content) > maxText || strings.Contains(got.Content, canary[:4]) || len(got.Files) != 1 {
		t.Errorf("%s, %d bytes, …%q, %+v", got.Outcome, len(got.Content), got.Content[max(0, len(got.Content)-100):], got.Files)
	}
	c, _ := h.catalogue("gossip")
	for _, what := range []any{got.Files, c, h.status("gossip")} {
		raw, err := json.Marshal(what)
		if err != nil || strings.Contains(string(raw), canary) {
			t.Errorf("%s %v", raw, err)
		}
	}
}

// TestAServerThatIsNotThere hurts nobody, and comes when it is configured rightly.
func TestAServerThatIsNotThere(t *testing.T) {
	h := newHouse(t)
	gone := definition.Definition{Command: "/no/such/program"}
	h.configure(map[string]definition.Definition{"gone": gone, "fake": h.fake(), "secret": {Command: "x", Env: map[string]string{"A": "env:NOT_THERE"}}})
	h.start()
	if got := h.run(somebody, h.dispatched("fake", "echo", `{"text":"x"}`)); got.Outcome != callv1.OK {
		t.Errorf("%+v", got)
	}
	h.until("it is told", func() bool {
		return strings.Contains(h.status("gone").LastError, "not found") && strings.Contains(h.status("secret").LastError, "NOT_THERE")
	})
	h.configure(map[string]definition.Definition{"gone": h.fake(), "fake": h.fake()})
	if got := h.run(somebody, h.dispatched("gone", "echo", `{"text":"there"}`)); got.Content != "there" {
		t.Errorf("%+v", got)
	}
}

// TestTheConfigurationChanges while it runs: only who is reached in another way connects anew.
func TestTheConfigurationChanges(t *testing.T) {
	h := newHouse(t)
	h.configure(map[string]definition.Definition{"one": h.fake(), "two": h.fake()})
	h.start()
	call := h.dispatched("one", "echo", `{"text":"x"}`)
	h.run(somebody, call)
	h.run(somebody, h.dispatched("two", "echo", `{"text":"x"}`))
	one, two := h.status("one").PIDs, h.status("two").PIDs
	if len(one) != 1 || len(two) != 1 {
		t.Fatalf("processes %v and %v", one, two)
	}
	filtered := h.fake()
	filtered.ToolFilter = &definition.ToolFilter{Include: []string{"echo"}}
	filtered.Approval = definition.Prompt
	h.configure(map[string]definition.Definition{"one": filtered, "two": h.fake("--more", "1")})
	h.until("the filter holds", func() bool {
		c, _ := h.catalogue("one")
		return len(c.Tools) == 1 && c.Tools[0].Name == "one__echo" && c.Tools[0].Level == toolv1.L2
	})
	h.offered("two", "more_0000")
	if got := h.status("one").PIDs; len(got) != 1 || got[0] != one[0] {
		t.Errorf("a filter ends process %v: %v", one, got)
	}
	h.until("the old process of two ends", func() bool { return !alive(two[0]) })

	h.configure(map[string]definition.Definition{"two": h.fake("--more", "1")})
	h.until("one is gone", func() bool { _, ok := h.catalogue("one"); return !ok && !alive(one[0]) })
	call.Call = "after"
	if got := h.run(somebody, call); got.Outcome != callv1.Refused || !strings.Contains(got.Content, "is not configured any more") {
		t.Errorf("a call of a server that is gone: %+v", got)
	}
	off, no := h.fake("--more", "1"), false
	off.Enabled = &no
	h.configure(map[string]definition.Definition{"two": off})
	h.until("two offers nothing", func() bool { _, ok := h.catalogue("two"); return !ok })
	if got := h.status("two"); got.State != "closed" || got.Connections != 0 {
		t.Errorf("%+v", got)
	}
}

// TestAServerIsStartedWhenItIsNeeded: one whose tools are known runs when it is called, and until nobody has called it for a while.
func TestAServerIsStartedWhenItIsNeeded(t *testing.T) {
	h := newHouse(t)
	fake := h.fake()
	fake.IdleTimeoutMs = 1500
	h.configure(map[string]definition.Definition{"fake": fake})
	h.start()
	h.offered("fake", "echo")
	h.until("it ends", func() bool { return h.status("fake").Connections == 0 })
	h.stop()
	h.start()
	if got := h.status("fake"); got.Connections != 0 || got.Tools == 0 {
		t.Errorf("at a start: %+v", got)
	}
	if got := h.run(somebody, h.dispatched("fake", "echo", `{"text":"up"}`)); got.Content != "up" {
		t.Errorf("%+v", got)
	}
	pids := h.status("fake").PIDs
	h.until("it ends", func() bool { return h.status("fake").Connections == 0 && !alive(pids[0]) })
}

// TestConversationsDoNotMeet in a server that has a connection for each.
func TestConversationsDoNotMeet(t *testing.T) {
	h := newHouse(t)
	own, shared := h.fake(), h.fake()
	own.Scope = definition.PerSession
	h.configure(map[string]definition.Definition{"own": own, "shared": shared})
	h.start()
	keep := func(server, text string) string {
		id := somebody
		if strings.HasPrefix(text, "b") {
			id = another
		}
		return h.run(id, h.dispatched(server, "keep", `{"text":"`+text+`"}`)).Content
	}
	for _, c := range []struct{ server, text, want string }{
		{"own", "a1", "before: "},
		{"own", "b1", "before: "},
		{"own", "a2", "before: a1"},
		{"own", "b2", "before: b1"},
		{"shared", "a1", "before: "},
		{"shared", "b1", "before: a1"},
	} {
		if got := keep(c.server, c.text); text(got) != text(c.want) {
			t.Errorf("%s, %s: got %q, want %q", c.server, c.text, got, c.want)
		}
	}
	h.post(another, turnv1.SessionDeleted{})
	h.until("its connection ends with a conversation", func() bool { return text(keep("own", "b3")) == text("before: ") })
	if got := keep("own", "a3"); text(got) != text("before: a2") {
		t.Errorf("the other one's: %q", got)
	}
}

// TestTheListIsNewBeforeTheResult: when a call has changed what its server offers, that is published before its result is.
func TestTheListIsNewBeforeTheResult(t *testing.T) {
	h := newHouse(t)
	h.configure(map[string]definition.Definition{"fake": h.fake()})
	h.start()
	for range 3 {
		h.run(somebody, h.dispatched("fake", "flip", `{}`))
		h.until("the tool is there", func() bool { c, _ := h.catalogue("fake"); _, ok := c.Find("fake__flipped"); return ok })
		d := h.dispatched("fake", "flipped", `{}`)
		if got := h.run(somebody, d); got.Content != "here" {
			t.Errorf("%+v", got)
		}
		h.run(somebody, h.dispatched("fake", "flip", `{}`))
		h.until("the tool is gone", func() bool { c, _ := h.catalogue("fake"); _, ok := c.Find("fake__flipped"); return !ok })
	}
}

// TestACancelledTurn reaches the server.
func TestACancelledTurn(t *testing.T) {
	h := newHouse(t)
	h.configure(map[string]definition.Definition{"fake": h.fake()})
	h.start()
	d := h.dispatched("fake", "slow", `{"ms":600000}`)
	h.post(somebody, d)
	h.until("it runs", func() bool { return h.effects("slow")["begun"] == 1 })
	h.post(somebody, turnv1.Cancelled{Turn: d.Turn})
	if got := h.end(d.Call); got.Outcome != callv1.Cancelled {
		t.Errorf("%+v", got)
	}
	h.until("the server has heard it", func() bool { return h.effects("slow")["cancelled"] == 1 })
}

// TestOneCallAtATime for a server that cannot take two.
func TestOneCallAtATime(t *testing.T) {
	h := newHouse(t)
	serial := h.fake()
	serial.SupportsParallelToolCalls = false
	h.configure(map[string]definition.Definition{"fake": serial})
	h.start()
	first, second := h.dispatched("fake", "slow", `{"ms":600000}`), h.dispatched("fake", "echo", `{"text":"second"}`)
	h.post(somebody, first)
	h.begun(first.Call)
	h.post(another, second)
	h.until("the second waits", func() bool {
		st, err := h.srv.Admin().ExecutorState(t.Context(), subject.Executor(Name, "fake"))
		return err == nil && st.Open == 1 && st.Waiting == 1
	})
	h.post(somebody, turnv1.Cancelled{Turn: first.Turn})
	if got := h.end(second.Call); got.Content != "second" {
		t.Errorf("%+v", got)
	}
	order := h.wait("both have ended", func(ev envelope.Event) bool { _, ok := ev.Body.(callv1.Completed); return ok })
	if len(order) != 2 || order[0].Body.(callv1.Completed).Call != first.Call {
		t.Errorf("%d ends, the first of %s", len(order), order[0].Body.(callv1.Completed).Call)
	}
}

// TestProgressIsShown to whoever watches.
func TestProgressIsShown(t *testing.T) {
	h := newHouse(t)
	h.configure(map[string]definition.Definition{"fake": h.fake()})
	h.start()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	seen := make(chan string, 10)
	if err := h.srv.Connect(t, "cli").SubscribeLive(ctx, somebody, func(data []byte) { seen <- string(data) }); err != nil {
		t.Fatal(err)
	}
	if got := h.run(somebody, h.dispatched("fake", "progress", `{"steps":2,"ms":50}`)); got.Content != "2 steps" {
		t.Errorf("%+v", got)
	}
	select {
	case got := <-seen:
		if !strings.Contains(got, `"type":"progress"`) || !strings.Contains(got, `"total":2`) {
			t.Errorf("%s", got)
		}
	case <-time.After(patience):
		t.Error("nothing was shown")
	}
}

// TestNothingIsLeft of a service that stops, nor of what a killed one has left.
func TestNothingIsLeft(t *testing.T) {
	h := newHouse(t)
	h.configure(map[string]definition.Definition{"fake": h.fake(), "deaf": {
		Command: "/bin/sh", Args: []string{"-c", `trap '' TERM; sleep 1000 & exec "$0" "$@"`, h.fake().Command}, Env: map[string]string{asServer: h.home},
		Approval: definition.Approve,
	}})
	h.start()
	h.run(somebody, h.dispatched("fake", "echo", `{"text":"x"}`))
	h.run(somebody, h.dispatched("deaf", "echo", `{"text":"x"}`))
	marked := h.marked()
	if len(marked) < 3 {
		t.Fatalf("processes %v", marked)
	}
	h.stop()
	if left := h.marked(); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}

// marked are the processes that carry the mark of this home.
func (h *house) marked() []string {
	h.t.Helper()
	var found []string
	dirs, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		h.t.Fatal(err)
	}
	for _, path := range dirs {
		if env, err := os.ReadFile(path); err == nil && strings.Contains(string(env), asServer+"="+h.home+"\x00") {
			found = append(found, path)
		}
	}
	return found
}

// TestAnHTTPServer that goes away and comes back: nothing is lost but what was under way.
func TestAnHTTPServer(t *testing.T) {
	for _, legacy := range []bool{false, true} {
		t.Run(fmt.Sprint("legacy ", legacy), func(t *testing.T) {
			h := newHouse(t)
			web, err := fakemcp.Start("127.0.0.1:0", fakemcp.Options{Legacy: legacy})
			if err != nil {
				t.Fatal(err)
			}
			d := definition.Definition{URL: web.URL(), Approval: definition.Approve, SupportsParallelToolCalls: true}
			h.configure(map[string]definition.Definition{"web": d})
			h.start()
			if got := h.run(somebody, h.dispatched("web", "echo", `{"text":"over HTTP"}`)); got.Content != "over HTTP" {
				t.Errorf("legacy %v: %+v", legacy, got)
			}
			web.Close()
			if got := h.run(somebody, h.dispatched("web", "echo", `{"text":"x"}`)); got.Outcome == callv1.OK {
				t.Errorf("legacy %v, nobody there: %+v", legacy, got)
			}
			if got := h.run(somebody, h.dispatched("web", "echo", `{"text":"x"}`)); got.Outcome != callv1.Error || !strings.Contains(got.Content, "Nothing was done") {
				t.Errorf("legacy %v, still nobody there: %+v", legacy, got)
			}
			address := strings.TrimSuffix(strings.TrimPrefix(web.URL(), "http://"), "/mcp")
			if web, err = fakemcp.Start(address, fakemcp.Options{Legacy: legacy}); err != nil {
				t.Fatal(err)
			}
			if got := h.run(somebody, h.dispatched("web", "echo", `{"text":"back"}`)); got.Content != "back" {
				t.Errorf("legacy %v, back: %+v", legacy, got)
			}
			h.stop()
			web.Close()
		})
	}
}
