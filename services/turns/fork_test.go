package turns_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/toolv1"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/turns"
	"github.com/jetclaw/jetclaw/services/turns/turn"
)

// fork asks for one.
func (h *house) fork(r turns.ForkRequest) (turns.Forked, error) {
	h.t.Helper()
	r.By = "test"
	if r.Session == "" {
		r.Session = string(h.session)
	}
	return bus.Ask[turns.Forked](h.t.Context(), h.server.Connect(h.t, "cli"), "turns", "fork", r)
}

// lines are the events of a session as a person can print them.
func (h *house) lines(id session.ID) string {
	h.t.Helper()
	var b bytes.Buffer
	for _, ev := range h.history(id) {
		line, err := envelope.LineOf(ev)
		if err != nil {
			h.t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s\n", line)
	}
	return b.String()
}

func (h *house) history(id session.ID) []envelope.Event {
	h.t.Helper()
	events, err := h.server.Admin().History(h.t.Context(), id, 0)
	if err != nil {
		h.t.Fatal(err)
	}
	return events
}

// cursorOf is that of the last event of a kind.
func (h *house) cursorOf(id session.ID, kind string) (cursor uint64) {
	h.t.Helper()
	for _, ev := range h.history(id) {
		if ev.Kind() == kind {
			cursor = ev.Cursor
		}
	}
	if cursor == 0 {
		h.t.Fatalf("%s has no %s", id, kind)
	}
	return cursor
}

// ends waits until a session has an event of type B behind its first.
func ends[B envelope.Body](h *house, id session.ID) (found B) {
	h.t.Helper()
	err := h.server.Admin().Follow(h.t.Context(), bus.ReplayOptions{Session: id}, func(e envelope.Event) error {
		if b, ok := e.Body.(B); ok {
			found = b
			return io.EOF
		}
		return nil
	})
	if err != io.EOF { //nolint:errorlint // it is the very one
		h.t.Fatal(err)
	}
	return found
}

// TestForkOfATool: forked at a result that is edited, the conversation goes on with that; the original stays as it is.
func TestForkOfATool(t *testing.T) {
	var mu sync.Mutex
	var asked []string
	m := provider(t, func(w http.ResponseWriter, r *http.Request) {
		data, _ := io.ReadAll(r.Body)
		mu.Lock()
		asked = append(asked, string(data))
		mu.Unlock()
		switch {
		case strings.Contains(string(data), "it rains"):
			speak(w, `{"content":"take an umbrella"}`)
		case strings.Contains(string(data), "sunny"):
			speak(w, `{"content":"enjoy the sun"}`)
		default:
			speak(w, `{"tool_calls":[{"index":0,"id":"c1","function":{"name":"weather","arguments":"{}"}}]}`)
		}
	})
	h := start(t, m, turn.Limits{}, toolv1.Tool{Name: "weather"})
	h.say(messagev1.Received{Text: "how is the weather?"}, "k1")
	h.complete(until[turnv1.Stepped](h), callv1.OK, "sunny")
	if got := until[turnv1.Completed](h); got.Text != "enjoy the sun" {
		t.Fatalf("%+v", got)
	}
	before := h.lines(h.session)
	at := h.cursorOf(h.session, "call.completed")
	got, err := h.fork(turns.ForkRequest{At: at, Edit: &turns.Edit{Cursor: at, Text: "it rains"}})
	want := session.ID(fmt.Sprintf("main.terminal.local.one-at-%d", at))
	if err != nil || got.Session != want || got.From != h.session || got.At != at || got.Events != 4 || !got.Waits {
		t.Fatalf("%+v, %v", got, err)
	}
	done := ends[turnv1.Completed](h, got.Session)
	if done.Text != "take an umbrella" || done.Turn != "id-k1/t" || done.Answers[0] != "id-k1" || done.Round != 2 {
		t.Errorf("%+v", done)
	}
	first := h.history(got.Session)[0].Body.(turnv1.Forked)
	if first.Edited == nil || *first.Edited != (turnv1.Edit{Cursor: at, Kind: "call.completed"}) || first.By != "test" {
		t.Errorf("%+v", first)
	}
	for i, line := range strings.SplitN(before, "\n", 4)[:3] {
		if string(first.Events[i]) != line {
			t.Errorf("its past has\n%s\nthe other session\n%s", first.Events[i], line)
		}
	}
	if now := h.lines(h.session); now != before {
		t.Errorf("the original was\n%s\nand is\n%s", before, now)
	}
	// A fork of the fork has the past of both, one after the other.
	again, err := h.fork(turns.ForkRequest{Session: string(got.Session), As: "main.terminal.local.again"})
	if err != nil || again.Waits || again.Session != "main.terminal.local.again" {
		t.Fatalf("%+v, %v", again, err)
	}
	h.sayIn(again.Session, "and now?", "k2")
	ends[turnv1.Completed](h, again.Session)
	mu.Lock()
	defer mu.Unlock()
	last := asked[len(asked)-1]
	for _, want := range []string{"how is the weather?", "it rains", "take an umbrella", "and now?"} {
		if !strings.Contains(last, want) {
			t.Errorf("no %q in %s", want, last)
		}
	}
	if nested := h.history(again.Session)[0].Body.(turnv1.Forked); bytes.Count(nested.Events[4], []byte(`"events"`)) != 0 {
		t.Errorf("a fork within a fork: %s", nested.Events[4])
	}
}

func (h *house) sayIn(id session.ID, text, key string) {
	h.t.Helper()
	ev := envelope.Event{ID: "id-" + key, Session: id, Key: key, Body: messagev1.Received{Text: text}}
	if _, err := h.intake.Journal().AppendFact(h.t.Context(), ev, 0); err != nil {
		h.t.Fatal(err)
	}
}

// TestForkOfAnOpenCall: it is not run again, and the model is told so.
func TestForkOfAnOpenCall(t *testing.T) {
	h := start(t, turns.NewOffline(), turn.Limits{}, toolv1.Tool{Name: "clock"})
	h.say(messagev1.Received{Text: "!tool clock {}"}, "k1")
	until[turnv1.Stepped](h)
	got, err := h.fork(turns.ForkRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if done := ends[turnv1.Completed](h, got.Session); !strings.Contains(done.Text, "not run in this fork") {
		t.Errorf("%+v", done)
	}
	for _, ev := range h.history(got.Session) {
		if _, ok := ev.Body.(callv1.Event); ok {
			t.Errorf("%s", ev.Kind())
		}
	}
}

// TestForkRefuses what cannot be, and says what can.
func TestForkRefuses(t *testing.T) {
	h := start(t, turns.NewOffline(), turn.Limits{})
	h.say(messagev1.Received{Text: "hello"}, "k1")
	until[turnv1.Completed](h)
	h.say(messagev1.Received{Text: "bye"}, "k2")
	until[turnv1.Completed](h)
	h.sayIn("main.terminal.local.other", "hi", "k3")
	ends[turnv1.Completed](h, "main.terminal.local.other")
	history := h.history(h.session)
	first, last := history[0].Cursor, history[len(history)-1].Cursor
	for name, c := range map[string]struct {
		r    turns.ForkRequest
		kind fault.Kind
		says string
	}{
		"no session":             {turns.ForkRequest{Session: "main.http.test.nobody"}, fault.NotFound, "there is no session main.http.test.nobody"},
		"no name":                {turns.ForkRequest{Session: "x"}, fault.Invalid, "four tokens"},
		"the house":              {turns.ForkRequest{Session: "main.house.intake.access"}, fault.Denied, "no conversation"},
		"beyond":                 {turns.ForkRequest{At: last + 100}, fault.Invalid, fmt.Sprintf("among %d to %d, and the nearest is %d (turn.completed)", first, last, last)},
		"another's event":        {turns.ForkRequest{At: last + 1}, fault.Invalid, fmt.Sprintf("the nearest is %d", last)},
		"as the house":           {turns.ForkRequest{As: "main.house.a.b"}, fault.Denied, "no conversation"},
		"as another channel":     {turns.ForkRequest{As: "main.telegram.bot.1"}, fault.Invalid, "main.terminal.local.NAME"},
		"as another agent":       {turns.ForkRequest{As: "other.terminal.local.x"}, fault.Invalid, "a fork stays with that of " + string(h.session)},
		"as one that is there":   {turns.ForkRequest{As: "main.terminal.local.other"}, fault.Conflict, "there is a session main.terminal.local.other already"},
		"no model":               {turns.ForkRequest{Model: "nope/x"}, fault.Invalid, `model: There is no model "nope/x"`},
		"an edit of an answer":   {turns.ForkRequest{Edit: &turns.Edit{Cursor: last, Text: "x"}}, fault.Invalid, "is turn.completed, and what can be edited is"},
		"an edit of nothing":     {turns.ForkRequest{Edit: &turns.Edit{Cursor: last + 9, Text: "x"}}, fault.Invalid, "(message.received)"},
		"an edit of what is cut": {turns.ForkRequest{At: first + 1, Edit: &turns.Edit{Cursor: last - 2, Text: "x"}}, fault.Invalid, fmt.Sprintf("none of the past that is taken over, and what can be edited is the text of a message.received, a message.edited or a call.completed: the nearest is event %d", first)},
		"an empty message":       {turns.ForkRequest{Edit: &turns.Edit{Cursor: first, Text: " \n"}}, fault.Invalid, "would be empty"},
		"a long edit":            {turns.ForkRequest{Edit: &turns.Edit{Cursor: first, Text: strings.Repeat("x", 300<<10)}}, fault.TooLarge, "at most"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := h.fork(c.r)
			if fault.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}

// TestForkNames: one that nobody has named gets a name of its own each time.
func TestForkNames(t *testing.T) {
	h := start(t, turns.NewOffline(), turn.Limits{})
	long := session.ID("main.http.test." + strings.Repeat("=C3=A4", 33))
	h.sayIn(long, "hello", "k1")
	ends[turnv1.Completed](h, long)
	at := h.cursorOf(long, "turn.completed")
	for _, end := range []string{"", "-2", "-3"} {
		got, err := h.fork(turns.ForkRequest{Session: string(long), At: at})
		if want := fmt.Sprintf("=C3=A4-at-%d%s", at, end); err != nil || !strings.HasSuffix(string(got.Session), want) {
			t.Errorf("%+v, %v", got, err)
		}
	}
}

// TestForkOfADeletedSession: what was deleted cannot be had back.
func TestForkOfADeletedSession(t *testing.T) {
	h := start(t, turns.NewOffline(), turn.Limits{})
	h.say(messagev1.Received{Text: "hello"}, "k1")
	until[turnv1.Completed](h)
	last := h.cursorOf(h.session, "turn.completed")
	if _, err := bus.Ask[turns.Deleted](t.Context(), h.server.Connect(t, "cli"), "turns", "delete", turns.DeleteRequest{
		Session: string(h.session), Cursor: last, Reason: turnv1.SessionDeleted{By: "test"},
	}); err != nil {
		t.Fatal(err)
	}
	for _, at := range []uint64{0, last} {
		if got, err := h.fork(turns.ForkRequest{At: at}); fault.KindOf(err) != fault.Invalid || !strings.Contains(err.Error(), "was deleted") {
			t.Errorf("%+v, %v", got, err)
		}
	}
	h.say(messagev1.Received{Text: "anew"}, "k2")
	until[turnv1.Completed](h)
	if got, err := h.fork(turns.ForkRequest{}); err != nil || got.Events != 3 {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := h.fork(turns.ForkRequest{At: last}); fault.KindOf(err) != fault.Invalid {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestForkTakesFilesAlong: a picture of the past is there in the fork, whatever becomes of the other session.
func TestForkTakesFilesAlong(t *testing.T) {
	h := start(t, turns.NewOffline(), turn.Limits{})
	digest, err := h.intake.PutFile(t.Context(), h.session, []byte("a picture"))
	if err != nil {
		t.Fatal(err)
	}
	lost := strings.Repeat("0", 64)
	h.say(messagev1.Received{Text: "look", Files: []messagev1.File{{Kind: messagev1.Photo, Digest: digest}, {Kind: messagev1.Photo, Digest: lost}}}, "k1")
	until[turnv1.Completed](h)
	got, err := h.fork(turns.ForkRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if data, err := h.intake.GetFile(t.Context(), got.Session, digest); err != nil || string(data) != "a picture" {
		t.Errorf("%q, %v", data, err)
	}
}

// TestForkOfALongPast: it lies in the object store, as any large body.
func TestForkOfALongPast(t *testing.T) {
	h := start(t, turns.NewOffline(), turn.Limits{})
	h.say(messagev1.Received{Text: "hello"}, "k1")
	until[turnv1.Completed](h)
	ev := envelope.Event{Session: h.session, Key: "long", Body: callv1.Completed{
		Executor: "builtin", Turn: "t", Call: "c", Content: strings.Repeat("x", 100<<10),
	}}
	if _, err := h.server.Connect(t, "tools").Journal().AppendFact(t.Context(), ev, 0); err != nil {
		t.Fatal(err)
	}
	got, err := h.fork(turns.ForkRequest{})
	if err != nil || got.Events != 4 {
		t.Fatalf("%+v, %v", got, err)
	}
	first, ok := h.history(got.Session)[0].Body.(turnv1.Forked)
	if data, err := json.Marshal(first); !ok || err != nil || len(data) < 100<<10 {
		t.Errorf("%d bytes, %v", len(data), err)
	}
}
