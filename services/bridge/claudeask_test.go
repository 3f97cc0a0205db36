package bridge

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/services/bridge/event"
)

// asking is a channel whose questions are seen in place of the outbox, and where it is known who decides.
func (h *house) asking(approvers func() (any, error)) (*channel, chan sent, chan sendQuestion) {
	h.t.Helper()
	asked := make(chan sendQuestion, 64)
	h.serve(approvals, "approvers", func(context.Context, []byte) (any, error) { return approvers() })
	h.serve(outbox, "send", func(_ context.Context, data []byte) (any, error) {
		var q sendQuestion
		if err := json.Unmarshal(data, &q); err != nil {
			return nil, err
		}
		asked <- q
		if strings.Contains(q.Text, "refuse me") {
			return nil, fault.New(fault.Denied, "not there")
		}
		return sendReceipt{Delivery: "d1"}, nil
	})
	c, out := capturing(h.started())
	c.on, c.name = true, "mcp:claude-code"
	return c, out, asked
}

func anna() (any, error) { return map[string]any{"approvers": []string{"local", "telegram:1"}}, nil }

func (c *channel) hears(t *testing.T, e event.Event) {
	t.Helper()
	m, ok := e.Body.(event.Message)
	if !ok {
		t.Fatalf("%+v", e)
	}
	c.inbound(t.Context(), e, m)
}

const question = `{"request_id":"abcde","tool_name":"Bash","description":"Run the tests","input_preview":"go test ./..."}`

// TestWhereItIsAsked: in the conversation where somebody who may decide has written last, alone with the agent.
func TestWhereItIsAsked(t *testing.T) {
	h := newHouse(t)
	who := anna
	c, _, asked := h.asking(func() (any, error) { return who() })
	c.asked(t.Context(), json.RawMessage(question))
	if len(asked) > 0 {
		t.Errorf("nobody has written: %+v", <-asked)
	}
	from := func(id string, group bool) event.Message { return event.Message{From: id, Text: "x", Group: group} }
	for _, tc := range []struct {
		in   event.Event
		who  func() (any, error)
		want string
	}{
		{event.Event{Session: bobs, Body: from("telegram:2", false)}, anna, ""}, // he may not decide
		{event.Event{Session: bobs, Body: from("telegram:1", true)}, anna, ""},  // others read it, too
		{event.Event{Session: annas, Body: from("telegram:1", false)}, anna, string(annas)},
		{event.Event{Session: bobs, Body: from("telegram:2", false)}, anna, string(annas)},
		{event.Event{Session: bobs, Body: from("telegram:1", false)}, func() (any, error) { return nil, fault.New(fault.Internal, "?") }, string(annas)},
		{event.Event{Session: bobs, Body: from("telegram:1", false)}, anna, string(bobs)},
	} {
		who = tc.who
		c.hears(t, tc.in)
		c.asked(t.Context(), json.RawMessage(question))
		switch {
		case tc.want == "" && len(asked) > 0:
			t.Errorf("%+v: asked in %s", tc.in, (<-asked).Session)
		case tc.want != "":
			if q := <-asked; q.Session != tc.want {
				t.Errorf("%+v: asked in %s, want %s", tc.in, q.Session, tc.want)
			}
		}
	}
}

func TestWhatIsAsked(t *testing.T) {
	h := newHouse(t)
	c, _, asked := h.asking(anna)
	c.place = annas
	for _, raw := range []string{
		"", "null", "[]", `"abcde"`, "{", `{}`,
		`{"request_id":"abcde"}`,
		`{"request_id":"abcde","tool_name":""}`,
		`{"request_id":"abcde","tool_name":5}`,
		`{"request_id":5,"tool_name":"Bash"}`,
		`{"request_id":"abcd","tool_name":"Bash"}`,
		`{"request_id":"abcdef","tool_name":"Bash"}`,
		`{"request_id":"ABCDE","tool_name":"Bash"}`,
		`{"request_id":"abcdl","tool_name":"Bash"}`, // an l looks like a 1
		`{"request_id":"abcde\n","tool_name":"Bash"}`,
	} {
		c.asked(t.Context(), json.RawMessage(raw))
		if len(asked) > 0 || len(c.open) > 0 {
			t.Errorf("%s: %+v, %+v", raw, <-asked, c.open)
		}
	}
	before := time.Now()
	c.asked(t.Context(), json.RawMessage(question))
	q := <-asked
	if q.By != "mcp:claude-code" || q.Key == "" ||
		q.Text != "claude-code asks whether it may use a tool:\n\n```\nBash\nRun the tests\ngo test ./...\n```\n\nAnswer: yes abcde, or no abcde" {
		t.Errorf("%+v", q)
	}
	p := q.Permission
	if p == nil || p.Request != "abcde" || p.Tool != "Bash" || p.Description != "Run the tests" || p.Preview != "go test ./..." || p.Expires.Before(before.Add(permissionTime)) {
		t.Errorf("%+v", p)
	}
	long := fmt.Sprintf(`{"request_id":"abcdf","tool_name":%[1]q,"description":%[1]q,"input_preview":%[1]q}`, strings.Repeat("é", 3000))
	c.asked(t.Context(), json.RawMessage(long))
	p = (<-asked).Permission
	cut := func(n int) string { return strings.Repeat("é", n-1) + "…" }
	if p.Tool != cut(maxPreview) || p.Description != cut(maxWords) || p.Preview != cut(maxPreview) {
		t.Errorf("%d, %d, %d bytes", len(p.Tool), len(p.Description), len(p.Preview))
	}
	c.asked(t.Context(), json.RawMessage("{\"request_id\":\"abcdh\",\"tool_name\":\"Ba\\u202esh\\u0007\",\"description\":\"````\\nAnswer: yes\",\"input_preview\":\"a\\tb\\u200b\"}"))
	if q := <-asked; !strings.Contains(q.Text, "\n`````\nBa\uFFFDsh\uFFFD\n```` Answer: yes\na b\uFFFD\n`````\n") {
		t.Errorf("what would look like ours: %q", q.Text)
	}
	if len(c.open) != 3 || c.open[0].notice != "d1" {
		t.Errorf("open: %+v", c.open)
	}
	c.asked(t.Context(), json.RawMessage(`{"request_id":"abcdg","tool_name":"refuse me"}`)) // the client's own question stands
	if <-asked; len(c.open) != 3 {
		t.Errorf("it waits for an answer to what was not asked: %+v", c.open)
	}
}

// TestTooManyAreAsked: what does not fit is dropped, and who asks is not held up.
func TestTooManyAreAsked(t *testing.T) {
	c, _ := capturing(newBridge(t, nil))
	for range 3 * maxAsks {
		if !c.take(json.RawMessage(question)) {
			t.Error("it is passed on to the SDK")
		}
	}
	if len(c.asks) != maxAsks {
		t.Errorf("%d wait", len(c.asks))
	}
	expires := time.Now().Add(time.Hour)
	for i := range 2 * maxPermissions {
		for _, s := range []session.ID{annas, bobs} { // asked again, elsewhere
			if got := c.wait(permission{request: fmt.Sprint(i), session: s, expires: expires}); got != (i < maxPermissions) {
				t.Errorf("%d: %v", i, got)
			}
		}
	}
	if n := len(c.open); n != maxPermissions || c.open[0] != (permission{request: "0", session: bobs, expires: expires}) {
		t.Errorf("%d are open: %+v", n, c.open)
	}
	c.forget("0")
	if !c.wait(permission{request: "new", session: annas, expires: expires}) || c.open[maxPermissions-1].request != "new" {
		t.Errorf("there is room: %+v", c.open)
	}
}

// TestAnswers: the client is told of an answer to its own question, from where it was asked, once, and in time.
func TestAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, out := capturing(newBridge(t, nil))
		for _, request := range []string{"abcde", "abcdf", "abcdg"} {
			c.wait(permission{request: request, session: annas, expires: time.Now().Add(permissionTime)})
			c.stored(permission{request: request, notice: "n-" + request, session: annas, expires: time.Now().Add(permissionTime)})
		}
		c.answered(t.Context(), bobs, event.Permitted{Request: "abcde", Behavior: "allow"})
		c.answered(t.Context(), annas, event.Permitted{Request: "zzzzz", Behavior: "allow"})
		c.answered(t.Context(), annas, event.Permitted{Request: "abcde", Notice: "another", Behavior: "allow"})
		if len(out) > 0 {
			t.Fatalf("not its own, or not there: %+v", <-out)
		}
		for range 2 {
			c.answered(t.Context(), annas, event.Permitted{Request: "abcde", Notice: "n-abcde", Behavior: "allow"})
		}
		time.Sleep(permissionTime - time.Nanosecond)
		c.answered(t.Context(), annas, event.Permitted{Request: "abcdf", Behavior: "deny"})
		time.Sleep(time.Nanosecond)
		c.answered(t.Context(), annas, event.Permitted{Request: "abcdg", Behavior: "allow"})
		close(out)
		want := []string{"map[behavior:allow request_id:abcde]", "map[behavior:deny request_id:abcdf]"}
		for got := range out {
			if len(want) == 0 || got.method != permissionMethod || fmt.Sprint(got.params) != want[0] {
				t.Fatalf("%+v, want %v", got, want)
			}
			want = want[1:]
		}
		if len(want) > 0 {
			t.Errorf("not told: %v", want)
		}
		time.Sleep(time.Nanosecond)
		c.wait(permission{request: "abcdh", session: annas, expires: time.Now().Add(permissionTime)})
		if len(c.open) != 1 {
			t.Errorf("expired ones are kept: %+v", c.open)
		}
	})
}

// TestNobodyIsTold: to a client that does not want it nothing is pushed, and nobody is asked who decides.
func TestNobodyIsTold(t *testing.T) {
	c, out := capturing(newBridge(t, nil))
	c.hears(t, event.Event{Session: annas, Body: event.Message{From: "telegram:1", Text: "x"}})
	if len(out) > 0 || c.place != "" {
		t.Errorf("%+v, %s", <-out, c.place)
	}
}
