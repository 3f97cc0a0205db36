package bridge

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/deliveryv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

// TestResult: what a client gets is the result of its call, as it is in the journal.
func TestResult(t *testing.T) {
	h := newHouse(t)
	b := h.started()
	c := newClient(b)
	file := func(s session.ID, name, kind string, size int64) callv1.Attachment {
		digest, err := h.all.PutFile(t.Context(), s, []byte(name))
		if err != nil {
			t.Fatal(err)
		}
		return callv1.Attachment{Name: name, Type: kind, Size: size, Digest: digest}
	}
	done := func(outcome callv1.Outcome, files ...callv1.Attachment) envelope.Body {
		return callv1.Completed{Executor: "builtin", Outcome: outcome, Content: "it says", Files: files}
	}
	base := base64.StdEncoding.EncodeToString([]byte("one"))
	for i, tc := range []struct {
		name   string
		events func(session.ID) []envelope.Body // between the first claim of a turn and its end
		fault  bool
		want   []string // of each content, as JSON
	}{
		{"ok", func(session.ID) []envelope.Body { return []envelope.Body{done(callv1.OK), turnv1.Continued{}} }, false, []string{`"it says"`}},
		{"error", func(session.ID) []envelope.Body { return []envelope.Body{done(callv1.Error)} }, true, []string{`"it says"`}},
		{"unknown", func(session.ID) []envelope.Body { return []envelope.Body{done(callv1.Unknown)} }, true, []string{`"it says"`, `"outcome: unknown"`}},
		{"timed out", func(session.ID) []envelope.Body { return []envelope.Body{done(callv1.TimedOut)} }, true, []string{`"it says"`, `"outcome: timed_out"`}},
		{"denied", func(session.ID) []envelope.Body {
			return []envelope.Body{turnv1.Stepped{Calls: []turnv1.Call{{Tool: "x"}}}, callv1.Denied{Reason: "no rule allows it"}}
		}, true, []string{`"no rule allows it"`}},
		{"refused", func(session.ID) []envelope.Body {
			return []envelope.Body{turnv1.Stepped{Calls: []turnv1.Call{{Tool: "x", Refusal: "x is not offered"}}}}
		}, true, []string{`"x is not offered"`}},
		{"no call", func(session.ID) []envelope.Body { return nil }, true, []string{`"failed: why"`}},
		{"files", func(s session.ID) []envelope.Body {
			return []envelope.Body{done(callv1.OK, file(s, "one", "image/png", 3), file(s, "one", "audio/ogg", 3), file(s, "one", "application/pdf", 3),
				file(s, "one", "", 3), file(s, "large.png", "image/png", maxInline+1))}
		}, false, []string{
			`"it says"`, `"type":"image","mimeType":"image/png","data":"` + base, `"type":"audio","mimeType":"audio/ogg","data":"` + base,
			`"mimeType":"application/pdf","blob":"` + base, `"blob":"` + base, `large.png (4194305 bytes) is too large to be passed on`,
		}},
		{"far back", func(session.ID) []envelope.Body {
			return append([]envelope.Body{done(callv1.OK)}, deliveries(maxBack-2)...)
		}, false, []string{`"it says"`}},
		{"too far back", func(session.ID) []envelope.Body {
			return append([]envelope.Body{done(callv1.OK)}, deliveries(maxBack)...)
		}, true, []string{`"failed: why"`}},
	} {
		s := session.ID(fmt.Sprintf("claude.mcp.default.s%d", i))
		h.append(s, done(callv1.OK)) // of an earlier turn
		h.append(s, turnv1.Started{})
		for _, body := range tc.events(s) {
			h.append(s, body)
		}
		end := h.append(s, turnv1.Completed{Text: "the end"})
		res, err := c.result(t.Context(), s, replyAnswer{Status: "failed", Text: "why", Cursor: end.Cursor})
		if err != nil || res.IsError != tc.fault || len(res.Content) != len(tc.want) {
			t.Errorf("%s: %+v, %v", tc.name, res, err)
			continue
		}
		for i, content := range res.Content {
			if got, err := json.Marshal(content); err != nil || !strings.Contains(string(got), tc.want[i]) {
				t.Errorf("%s: %s, %v; want %s", tc.name, got, err, tc.want[i])
			}
		}
	}
}

func deliveries(n int) []envelope.Body {
	out := make([]envelope.Body, n)
	for i := range out {
		out[i] = deliveryv1.Started{}
	}
	return out
}

// TestResultIsGone: what is no longer there is said, and is no success.
func TestResultIsGone(t *testing.T) {
	h := newHouse(t)
	b := h.started()
	c := newClient(b)
	const s = session.ID("claude.mcp.default.x")
	digest, err := h.all.PutFile(t.Context(), s, []byte("a file"))
	if err != nil {
		t.Fatal(err)
	}
	h.append(s, turnv1.Started{})
	call := h.append(s, callv1.Completed{Executor: "builtin", Outcome: callv1.OK, Content: "it says", Files: []callv1.Attachment{{Size: 6, Digest: digest}}})
	end := h.append(s, turnv1.Completed{Text: "the end"})
	h.delete(s)
	reply := replyAnswer{Status: "completed", Text: "the end", Cursor: end.Cursor}
	if res, err := c.result(t.Context(), s, reply); err != nil || !res.IsError || text(res) != "completed: the end" {
		t.Errorf("%+v, %v", res, err)
	}
	conn, _ := b.line.now()
	if res, err := completed(t.Context(), conn, s, call.Body.(callv1.Completed)); err == nil {
		t.Errorf("a file that is gone: %+v", res)
	}
	if res, err := c.result(t.Context(), s, replyAnswer{Status: "completed"}); err != nil || !res.IsError {
		t.Errorf("nowhere: %+v, %v", res, err)
	}
}
