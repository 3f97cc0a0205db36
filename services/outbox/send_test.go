package outbox_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/noticev1"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/subject"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/outbox"
	"github.com/jetclaw/jetclaw/services/outbox/channel"
)

const chat session.ID = "main.telegram.mybot.12345"

// sender is a push channel that has everything at once.
type sender struct {
	mu    sync.Mutex
	items []channel.Item // guarded by mu
}

func (s *sender) Send(_ context.Context, i channel.Item) (channel.Receipt, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.items = append(s.items, i)
	return channel.Receipt{ID: fmt.Sprint(len(s.items))}, nil
}

func (s *sender) texts() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []string
	for _, i := range s.items {
		all = append(all, i.Text)
	}
	return all
}

// begin gives a session its first event.
func (h *house) begin(t *testing.T, s session.ID) {
	t.Helper()
	e := envelope.Event{ID: "m-" + string(s), Session: s, Body: messagev1.Received{From: messagev1.Sender{ID: "telegram:12345"}, Text: "hello"}}
	if _, err := h.bus.Connect(t, "intake").Journal().AppendFact(t.Context(), e, 0); err != nil {
		t.Fatal(err)
	}
}

// bridge asks as another program does.
func (h *house) bridge(t *testing.T) func(outbox.SendRequest) (outbox.SendReceipt, error) {
	t.Helper()
	conn := h.bus.Connect(t, "bridge")
	return func(r outbox.SendRequest) (outbox.SendReceipt, error) {
		return bus.Ask[outbox.SendReceipt](t.Context(), conn, "outbox", "send", r)
	}
}

func say(s session.ID, text string) outbox.SendRequest {
	return outbox.SendRequest{Session: string(s), Text: text, By: "mcp:claude-code"}
}

// TestSendAlongTheRoute: what is sent stands in the journal as it is shown, and is delivered as everything else is.
func TestSendAlongTheRoute(t *testing.T) {
	push := &sender{}
	h := newHouse(t)
	h.run(t, outbox.Config{Senders: map[string]outbox.Sender{"telegram": push}})
	send := h.bridge(t)
	for _, sid := range []session.ID{chat, "main.terminal.local.default", "main.mcp.claude.x"} {
		h.begin(t, sid)
		expires := time.Now().Add(time.Minute)
		r := say(sid, "Done.\r\nAll tests\x1b pass.")
		r.By = "  mcp:claude\u202e\ncode "
		r.Permission = &noticev1.Permission{Request: "abcde", Tool: "Bash", Preview: strings.Repeat("ä", 300), Expires: expires}
		got, err := send(r)
		if err != nil || got.Session != sid || got.Delivery == "" {
			t.Fatalf("%+v, %v", got, err)
		}
		events := h.until(t, func(e []envelope.Event) bool {
			return slices.Contains(deliveries(t, e, sid), "sent "+got.Delivery+"/1")
		})
		i := slices.IndexFunc(events, func(e envelope.Event) bool { return e.ID == got.Delivery })
		b, ok := events[i].Body.(noticev1.Posted)
		if !ok || events[i].Cursor != got.Cursor || events[i].Subject() != "ev."+fmt.Sprintf("%02d", sid.Partition())+"."+string(sid)+".notice.posted.outbox" {
			t.Fatalf("%+v", events[i])
		}
		if b.Text != "Done.\nAll tests pass." || b.By != "mcp:claude code" || b.Permission == nil || !b.Permission.Expires.Equal(expires) {
			t.Errorf("%+v", b)
		} else if want := strings.Repeat("ä", 199) + "…"; b.Permission.Preview != want {
			t.Errorf("preview %q", b.Permission.Preview)
		}
	}
	expect(t, push.texts(), "Done.\nAll tests pass.")
}

// TestSendWithAKey: a repeat is the first one, also at another process and after it was delivered.
func TestSendWithAKey(t *testing.T) {
	h := newHouse(t)
	first := h.run(t, outbox.Config{})
	send := h.bridge(t)
	h.begin(t, web)
	r := say(web, "once")
	r.Key = "k1"
	got, err := send(r)
	if err != nil {
		t.Fatal(err)
	}
	h.until(t, func(e []envelope.Event) bool { return count(e, "delivery.sent") == 1 })
	first.stop()
	h.run(t, outbox.Config{})
	if again, err := send(r); err != nil || again != got {
		t.Errorf("%+v, %v; want %+v", again, err, got)
	}
	other := r
	other.Text = "something else"
	if again, err := send(other); fault.KindOf(err) != fault.Conflict {
		t.Errorf("another text: %+v, %v", again, err)
	}
	other.Key = "k2"
	if again, err := send(other); err != nil || again.Delivery == got.Delivery {
		t.Errorf("another key: %+v, %v", again, err)
	}
	h.until(t, func(e []envelope.Event) bool { return count(e, "delivery.sent") == 2 })
	events := h.until(t, func(e []envelope.Event) bool { return count(e, "notice.posted") == 2 })
	expect(t, deliveries(t, events, web), "sent "+got.Delivery+"/1", "sent "+events[len(events)-2].ID+"/1")
}

func TestSendRefuses(t *testing.T) {
	h := newHouse(t)
	h.run(t, outbox.Config{})
	send := h.bridge(t)
	const gone, nowhere, own session.ID = "main.terminal.local.gone", "main.pigeon.loft.1", "main.house.intake.access"
	for _, s := range []session.ID{web, gone, nowhere, own} {
		h.begin(t, s)
	}
	h.show(t, gone, "x", turnv1.SessionDeleted{})
	h.until(t, func(e []envelope.Event) bool { return count(e, "session.deleted") == 1 })
	asks := func(change func(*noticev1.Permission)) outbox.SendRequest {
		r := say(web, "May I?")
		r.Permission = &noticev1.Permission{Request: "abcde", Tool: "Bash", Expires: time.Now().Add(time.Minute)}
		change(r.Permission)
		return r
	}
	for name, c := range map[string]struct {
		request outbox.SendRequest
		kind    fault.Kind
		text    string
	}{
		"no session id":      {say("main", "hi"), fault.Invalid, "four tokens"},
		"unknown session":    {say("main.http.web.nobody", "hi"), fault.NotFound, "there is no conversation main.http.web.nobody"},
		"deleted session":    {say(gone, "hi"), fault.NotFound, "there is no conversation"},
		"session of house":   {say(own, "hi"), fault.NotFound, "there is no conversation"},
		"unknown channel":    {say(nowhere, "hi"), fault.Invalid, `no channel "pigeon"`},
		"too large":          {say(web, strings.Repeat("x", 100_001)), fault.TooLarge, "100001 bytes"},
		"blank":              {say(web, " \n\x07\t"), fault.Invalid, "empty"},
		"nul":                {say(web, "a\x00b"), fault.Invalid, "NUL"},
		"by nobody":          {outbox.SendRequest{Session: string(web), Text: "hi", By: " \u200b"}, fault.Invalid, "by is missing"},
		"by somebody long":   {outbox.SendRequest{Session: string(web), Text: "hi", By: strings.Repeat("b", 129)}, fault.Invalid, "129 bytes"},
		"a key with a space": {outbox.SendRequest{Session: string(web), Text: "hi", By: "x", Key: "a b"}, fault.Invalid, "the key"},
		"request with an l":  {asks(func(p *noticev1.Permission) { p.Request = "label" }), fault.Invalid, "without l"},
		"expired":            {asks(func(p *noticev1.Permission) { p.Expires = time.Now() }), fault.Invalid, "future"},
		"expires too late":   {asks(func(p *noticev1.Permission) { p.Expires = time.Now().Add(2 * time.Hour) }), fault.Invalid, "1h0m0s"},
		"for no tool":        {asks(func(p *noticev1.Permission) { p.Tool = "\n" }), fault.Invalid, "permission.tool"},
	} {
		got, err := send(c.request)
		if fault.KindOf(err) != c.kind || err != nil && !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %+v, %v; want %s with %q", name, got, err, c.kind, c.text)
		}
	}
	events := h.until(t, func([]envelope.Event) bool { return true })
	if n := count(events, "notice.posted"); n != 0 {
		t.Errorf("%d were sent all the same", n)
	}
	h.begin(t, gone+"-2")
	if _, err := send(say(gone+"-2", strings.Repeat("x", 100_000))); err != nil {
		t.Errorf("the longest text: %v", err)
	}
}

// TestSendAtOnce: many at the same time in one session, beside answers, are all shown, in the order of the journal.
func TestSendAtOnce(t *testing.T) {
	hook := newHook(t, func(int, call, http.ResponseWriter) {})
	h := newHouse(t)
	h.run(t, pushing(t, hook))
	send := h.bridge(t)
	h.begin(t, web)
	const each = 10
	var all sync.WaitGroup
	for n := range 4 {
		all.Go(func() {
			for i := range each {
				if _, err := send(say(web, fmt.Sprintf("s%d/%d", n, i))); err != nil {
					t.Errorf("send: %v", err)
				}
			}
		})
	}
	for i := range each {
		h.show(t, web, fmt.Sprint("a", i), answer(fmt.Sprint("a", i)))
	}
	all.Wait()
	events := h.until(t, func(e []envelope.Event) bool { return count(e, "delivery.sent") == 5*each })
	var want, got []string
	for _, e := range events {
		if b, ok := e.Body.(noticev1.Posted); ok {
			want = append(want, b.Text)
		}
		if b, ok := e.Body.(turnv1.Completed); ok {
			want = append(want, b.Text)
		}
	}
	for _, c := range hook.got() {
		got = append(got, c.Text)
	}
	expect(t, got, want...)
	for n := range 4 { // each one's own are in its order
		prefix := fmt.Sprintf("s%d/", n)
		own := slices.DeleteFunc(slices.Clone(got), func(s string) bool { return !strings.HasPrefix(s, prefix) })
		if len(own) != each || !slices.IsSorted(own) {
			t.Errorf("of %d: %v", n, own)
		}
	}
}

// TestSendIntoAFullJournal: nothing new is taken, and a repeat is answered all the same.
func TestSendIntoAFullJournal(t *testing.T) {
	h := newHouse(t)
	h.run(t, outbox.Config{})
	send := h.bridge(t)
	h.begin(t, web)
	r := say(web, strings.Repeat("x", 10_000))
	r.Key = "k1"
	got, err := send(r)
	if err != nil {
		t.Fatal(err)
	}
	h.until(t, func(e []envelope.Event) bool { return count(e, "delivery.sent") == 1 })
	js := h.bus.Admin().JetStream()
	stream, err := js.Stream(t.Context(), subject.Journal)
	if err != nil {
		t.Fatal(err)
	}
	u, err := h.bus.Admin().Journal().Usage(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	config := stream.CachedInfo().Config
	config.MaxBytes = int64(u.Bytes) * 100 / 92
	if _, err := js.UpdateStream(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	if _, err := send(say(web, "more")); fault.KindOf(err) != fault.Full {
		t.Errorf("more: %v", err)
	}
	if again, err := send(r); err != nil || again != got {
		t.Errorf("a repeat: %+v, %v; want %+v", again, err, got)
	}
}
