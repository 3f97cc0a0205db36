package builtin

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/bus/bustest"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/canonical"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/toolv1"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/builtin/internal/tool"
	"github.com/jetclaw/jetclaw/services/internal/admission"
)

const patience = 30 * time.Second

const canary = "canary-9f3b7c1d5e"

// house is a bus with the service and a workspace; the test speaks for the gate.
type house struct {
	t      *testing.T
	srv    *bustest.Server
	gate   *bus.Conn
	dir    string
	s      *Service
	events chan envelope.Event // that the service has appended
	calls  int
}

func newHouse(t *testing.T) *house {
	t.Helper()
	h := &house{t: t, events: make(chan envelope.Event, 100), dir: t.TempDir()}
	h.srv = bustest.New(t, Spec(), bus.Spec{Name: "tools", Appends: []string{"call.dispatched.*", "turn.cancelled"}, ReadsCatalog: true})
	h.gate = h.srv.Connect(t, "tools")
	public, _ := keys()
	s, err := New(Config{
		Conn: h.srv.Connect(t, Spec().Name), Key: public, Workspaces: map[string]string{MainAgent: h.dir}, Secrets: []string{canary},
		Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	h.s = s
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 2)
	go func() { ended <- s.Run(ctx) }()
	go func() {
		err := h.srv.Admin().Follow(ctx, bus.ReplayOptions{}, func(e envelope.Event) error {
			if strings.HasPrefix(e.Source, "builtin/") {
				h.events <- e
			}
			return nil
		})
		if ctx.Err() != nil { // perhaps before it had begun
			err = nil
		}
		ended <- err
	}()
	t.Cleanup(func() {
		cancel()
		for range 2 {
			if err := <-ended; err != nil {
				t.Errorf("it ended with %v", err)
			}
		}
	})
	if err := s.Ready(ctx); err != nil {
		t.Fatal(err)
	}
	return h
}

// request is a call as the gate would dispatch it.
func (h *house) request(tool, args string) callv1.Request {
	h.t.Helper()
	h.calls++
	raw, err := canonical.JSON([]byte(args))
	if err != nil {
		h.t.Fatal(err)
	}
	t := h.s.tools[tool]
	return callv1.Request{
		Turn: "m1/t", Call: fmt.Sprint("c", h.calls), Tool: tool, Executor: Executor, Arguments: raw, Digest: canonical.Digest(raw),
		ToolDigest: t.Digest(), Level: t.Level, Policy: "p1",
	}
}

func (h *house) post(b envelope.Body) {
	h.t.Helper()
	for {
		last, err := h.gate.Journal().Last(h.t.Context(), somebody)
		if err == nil {
			_, err = h.gate.Journal().Append(h.t.Context(), envelope.Event{Session: somebody, Prev: last, Body: b})
		}
		if fault.KindOf(err) == fault.Conflict {
			continue
		}
		if err != nil {
			h.t.Fatal(err)
		}
		return
	}
}

// run dispatches a call and returns its end.
func (h *house) run(d callv1.Dispatched) callv1.Completed {
	h.t.Helper()
	h.post(d)
	return h.end(d.Call)
}

func (h *house) end(call string) callv1.Completed {
	h.t.Helper()
	for {
		if b, ok := h.next().Body.(callv1.Completed); ok && b.Call == call {
			return b
		}
	}
}

func (h *house) next() envelope.Event {
	h.t.Helper()
	select {
	case e := <-h.events:
		return e
	case <-time.After(patience):
		h.t.Fatal("nothing happens")
	}
	return envelope.Event{}
}

func (h *house) write(name, text string) {
	h.t.Helper()
	if err := os.WriteFile(filepath.Join(h.dir, name), []byte(text), 0o600); err != nil {
		h.t.Fatal(err)
	}
}

func (h *house) read(name string) string {
	h.t.Helper()
	text, err := os.ReadFile(filepath.Join(h.dir, name))
	if err != nil && !os.IsNotExist(err) {
		h.t.Fatal(err)
	}
	return string(text)
}

func allow(r callv1.Request) callv1.Approval {
	_, key := keys()
	now := time.Now()
	return callv1.Approval{ID: "a1", Decision: callv1.AllowOnce, By: "local", At: now, Expires: now.Add(time.Hour)}.Signed(key, somebody, r)
}

func TestCalls(t *testing.T) {
	h := newHouse(t)
	h.write("a.txt", "hello "+canary)
	if got := h.run(callv1.Dispatched{Request: h.request("read_file", `{"path":"a.txt"}`)}); got.Outcome != callv1.OK ||
		!strings.Contains(got.Content, "hello") || strings.Contains(got.Content, canary) || got.Attempt != 1 {
		t.Errorf("%+v", got)
	}
	if got := h.run(callv1.Dispatched{Request: h.request("read_file", `{"path":"none.txt"}`)}); got.Outcome != callv1.Error || strings.Contains(got.Content, h.dir) {
		t.Errorf("%+v", got)
	}
	if got := h.run(callv1.Dispatched{Request: h.request("read_file", `{"path":"../x"}`)}); got.Outcome != callv1.Refused {
		t.Errorf("%+v", got)
	}
}

// TestWhatIsNotAllowed: the executor takes nobody's word for what is dangerous.
func TestWhatIsNotAllowed(t *testing.T) {
	h := newHouse(t)
	args := `{"path":"AGENTS.md","content":"be good"}`
	level := func(r callv1.Request) callv1.Request {
		r.Level = toolv1.L2
		return r
	}
	for name, forge := range map[string]func(*callv1.Dispatched){
		"nobody asked":    func(*callv1.Dispatched) {},
		"a level too low": func(d *callv1.Dispatched) { d.Level = toolv1.L0 },
		"signed by another": func(d *callv1.Dispatched) {
			_, other, err := ed25519.GenerateKey(nil)
			if err != nil {
				t.Fatal(err)
			}
			a := allow(d.Request).Signed(other, somebody, d.Request)
			d.Approval = &a
		},
		"for another call": func(d *callv1.Dispatched) {
			r := d.Request
			r.Call = "c0"
			a := allow(r)
			d.Approval = &a
		},
		"for other arguments": func(d *callv1.Dispatched) {
			a := allow(d.Request)
			d.Arguments = json.RawMessage(`{"content":"be bad","path":"AGENTS.md"}`)
			d.Approval = &a
		},
		"for other arguments, digest and all": func(d *callv1.Dispatched) {
			a := allow(d.Request)
			d.Arguments = json.RawMessage(`{"content":"be bad","path":"AGENTS.md"}`)
			d.Digest = canonical.Digest(d.Arguments)
			d.Approval = &a
		},
		"a denial": func(d *callv1.Dispatched) {
			_, key := keys()
			a := allow(d.Request)
			a.Decision = callv1.Deny
			a = a.Signed(key, somebody, d.Request)
			d.Approval = &a
		},
		"too long ago": func(d *callv1.Dispatched) {
			_, key := keys()
			a := allow(d.Request)
			a.At = a.At.Add(-2 * admission.Life)
			a = a.Signed(key, somebody, d.Request)
			d.Approval = &a
		},
		"always of another tool": func(d *callv1.Dispatched) {
			_, key := keys()
			r := d.Request
			r.ToolDigest = h.s.tools["edit_file"].Digest()
			a := allow(r)
			a.Decision, a.Grant = callv1.AllowAlways, "g"
			a = a.Signed(key, somebody, r)
			d.Always = &a
		},
		"another tool since":  func(d *callv1.Dispatched) { d.ToolDigest = "x" },
		"a tool that is gone": func(d *callv1.Dispatched) { d.Tool = "rm" },
	} {
		d := callv1.Dispatched{Request: level(h.request("write_file", args)), Rule: "approval"}
		forge(&d)
		if got := h.run(d); got.Outcome != callv1.Refused || got.Content == "" {
			t.Errorf("%s: %+v", name, got)
		}
		if text := h.read("AGENTS.md"); text != "" {
			t.Fatalf("%s: it was written: %s", name, text)
		}
	}
	d := callv1.Dispatched{Request: level(h.request("write_file", args))}
	a := allow(d.Request)
	d.Approval = &a
	if got := h.run(d); got.Outcome != callv1.OK || h.read("AGENTS.md") != "be good" {
		t.Errorf("what is allowed: %+v", got)
	}
	d = callv1.Dispatched{Request: level(h.request("write_file", args)), Rule: "policy.allow[0]"}
	if got := h.run(d); got.Outcome != callv1.OK {
		t.Errorf("what a rule allows: %+v", got)
	}
	_, key := keys()
	d = callv1.Dispatched{Request: level(h.request("write_file", args))}
	a.Decision, a.Grant = callv1.AllowAlways, "g"
	a = a.Signed(key, somebody, d.Request)
	d.Always = &a
	if got := h.run(d); got.Outcome != callv1.OK {
		t.Errorf("what is always allowed: %+v", got)
	}
}

// TestAFileThatChanged: an approval is about the file as it was.
func TestAFileThatChanged(t *testing.T) {
	h := newHouse(t)
	h.write("a.txt", "one")
	d := callv1.Dispatched{Request: h.request("edit_file", `{"path":"a.txt","old":"o","new":"0"}`)}
	d.Level, d.Files = toolv1.L2, []callv1.File{{Path: "a.txt", Digest: canonical.Digest([]byte("one"))}}
	a := allow(d.Request)
	d.Approval = &a
	h.write("a.txt", "two")
	if got := h.run(d); got.Outcome != callv1.Refused || !strings.Contains(got.Content, "changed") || h.read("a.txt") != "two" {
		t.Errorf("%+v, %s", got, h.read("a.txt"))
	}
}

// TestALongResultIsReadOn: what the journal has of a result can be read page by page, in its own conversation only.
func TestALongResultIsReadOn(t *testing.T) {
	h := newHouse(t)
	var long strings.Builder
	for i := range 9000 {
		fmt.Fprintf(&long, "line %d é\n", i)
	}
	h.write("long.txt", long.String())
	h.post(callv1.Dispatched{Request: h.request("search_files", `{"pattern":"line","limit":100}`)})
	ev := h.next()
	for ev.Kind() != "call.completed" {
		ev = h.next()
	}
	whole := ev.Body.(callv1.Completed)
	var read strings.Builder
	for offset := 0; offset < len(whole.Content); offset = read.Len() {
		got := h.run(callv1.Dispatched{Request: h.request("read_result", fmt.Sprintf(`{"result":"%d","offset":%d}`, ev.Cursor, offset))})
		page, _, _ := strings.Cut(got.Content, "\n[bytes ")
		if got.Outcome != callv1.OK || page == "" {
			t.Fatalf("%+v", got)
		}
		read.WriteString(page)
	}
	if read.String() != whole.Content {
		t.Errorf("%d bytes were read of %d", read.Len(), len(whole.Content))
	}
	for name, args := range map[string]string{
		"not a number": `{"result":"x"}`, "no result": `{"result":"1"}`, "nothing there": `{"result":"999999"}`,
		"beyond the end": fmt.Sprintf(`{"result":"%d","offset":999999999}`, ev.Cursor),
	} {
		if got := h.run(callv1.Dispatched{Request: h.request("read_result", args)}); got.Outcome != callv1.Refused {
			t.Errorf("%s: %+v", name, got)
		}
	}
	elsewhere := resultTool(h.gate.Journal())
	_, err := elsewhere.Run(t.Context(), tool.Call{
		Session: session.ID("main.http.test.other"), Arguments: json.RawMessage(fmt.Sprintf(`{"result":"%d"}`, ev.Cursor)),
	})
	if err == nil {
		t.Error("another conversation reads it")
	}
}

func TestACancelledTurnStartsNothing(t *testing.T) {
	h := newHouse(t)
	h.post(turnv1.Cancelled{Turn: "m0/t", By: "x"})
	if got := h.run(callv1.Dispatched{Request: h.request("now", `{}`)}); got.Outcome != callv1.OK {
		t.Errorf("%+v", got)
	}
}

func TestTheCatalogueIsPublished(t *testing.T) {
	h := newHouse(t)
	all, err := h.gate.Catalog(t.Context())
	var c toolv1.Catalogue
	if err != nil || json.Unmarshal(all[Executor], &c) != nil || len(c.Tools) != len(h.s.tools) {
		t.Fatalf("%s %v", all, err)
	}
	for _, e := range c.Tools { // once over the wire and back
		if own := h.s.tools[e.Name]; own.Digest() != e.Digest() {
			t.Errorf("%s has another digest", e.Name)
		}
	}
}

func TestPermissions(t *testing.T) { bustest.CheckPermissions(t, []bus.Spec{Spec()}) }
