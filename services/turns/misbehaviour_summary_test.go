package turns_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/turns/turn"
)

// TestMisbehaviourInASummary: whatever comes instead of a summary, the history stays, and the next message is answered.
func TestMisbehaviourInASummary(t *testing.T) {
	huge := strings.Repeat("remember this ", 300_000)
	for _, c := range []struct {
		name    string
		play    http.HandlerFunc
		cause   turnv1.Cause // "": there is a summary
		summary string
	}{
		{"400", status(400, openAI.body("no luck "+secretKey)), turnv1.ModelRefused, ""},
		{"500", status(500, openAI.body("no luck")), turnv1.ModelUnavailable, ""},
		{"too long", status(413, ""), turnv1.ContextOverflow, ""},
		{"a web page", sends("<html></html>"), turnv1.ModelGarbage, ""},
		{"cut", sends(openAI.start + openAI.text("they spoke")), turnv1.ModelGarbage, ""},
		{"blanks", sends(openAI.answer(` \n`)), turnv1.ModelGarbage, ""},
		{"only calls", sends(openAI.calls(openAI.call(0, "c1", "look", "{}"))), turnv1.ModelGarbage, ""},
		{"filtered", sends(openAI.start + openAI.end("content_filter")), turnv1.ModelRefused, ""},
		{"10 MB", endless(openAI.start, openAI.text("more"), 0), turnv1.ModelGarbage, ""},
		{"silence", silent, turnv1.TimedOut, ""},
		{"odd signs", sends(openAI.answer(`they\u001b[31m spoke\u0000 of ` + secretKey)), "", "they[31m spoke of [key]"},
		{"4 MB", sends(openAI.answer(huge)), "", huge[:32<<10] + fmt.Sprintf("\n\n[The summary ends here: %d more bytes are left out.]", len(strings.TrimSpace(huge))-32<<10)},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var last atomic.Int64 // size of the last request that was no summary's
			var body atomic.Value
			provider := newScripted(t, nil)
			provider.now(func(w http.ResponseWriter, r *http.Request) {
				data, _ := io.ReadAll(r.Body)
				if isSummary(string(data)) {
					c.play(w, r)
					return
				}
				last.Store(int64(len(data)))
				body.Store(string(data))
				sends(openAI.answer("fine"))(w, r)
			})
			limits := turn.Limits{}
			if c.cause == turnv1.TimedOut {
				limits = short()
			}
			h := startWith(t, pair(t, provider, provider, limits))
			h.say(messagev1.Received{Text: firstSaid}, "k1")
			until[turnv1.Completed](h)
			h.say(messagev1.Control{Verb: messagev1.Compact}, "c1")
			if c.cause == "" {
				if got := until[turnv1.SessionCompacted](h); got.Summary != c.summary {
					t.Errorf("the summary is %.100q, %d bytes", got.Summary, len(got.Summary))
				}
			} else if got := until[turnv1.CompactionFailed](h); got.Cause != c.cause || got.By != "id-c1" ||
				!strings.Contains(got.Text, "is as it was") || strings.Contains(got.Text+got.Detail, secretKey) {
				t.Errorf("got %+v", got)
			}
			h.say(messagev1.Received{Text: nextSaid}, "k2")
			if got := until[turnv1.Completed](h); got.Text != "fine" {
				t.Errorf("got %+v", got)
			}
			if text, _ := body.Load().(string); strings.Contains(text, firstSaid) != (c.cause != "") || last.Load() > 200_000 {
				t.Errorf("the next request has %d bytes: %.2000s", last.Load(), text)
			}
		})
	}
}
