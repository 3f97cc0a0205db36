package intake

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/subject"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/intake/internal/wire"
)

func TestNewNeedsItsCollaborators(t *testing.T) {
	if _, err := New(Config{}); err == nil {
		t.Error("no connection")
	}
	srv := newBus(t)
	if _, err := New(Config{Conn: srv.Connect(t, "intake")}); err == nil {
		t.Error("no logger")
	}
}

func TestSameKeySameAnswerAcrossRestarts(t *testing.T) {
	srv := newBus(t)
	turns := srv.Connect(t, "turns")
	first := start(t, srv)
	a := first.send(post{"default", "hello", "k1"})
	if b := first.send(post{"default", "hello", "k1"}); b != a {
		t.Errorf("again: %+v, first %+v", b, a)
	}
	if b := first.send(post{"default", "something else", "k1"}); b != a {
		t.Errorf("another text: %+v, first %+v", b, a)
	}
	appendAs(t, turns, appSession, turnv1.Completed{Answers: []string{eventID(t, a.MessageID)}, Text: "hi"})
	if err := first.stop(); err != nil {
		t.Fatal(err)
	}
	second := start(t, srv)
	if b := second.send(post{"default", "hello", "k1"}); b != a {
		t.Errorf("after a restart: %+v, first %+v", b, a)
	}
	if r := second.reply(a.MessageID, ""); r.Status != "completed" || r.Text != "hi" || r.Cursor <= a.Cursor {
		t.Errorf("reply: %+v", r)
	}
	if b := second.send(post{"default", "hello", "k2"}); b.MessageID == a.MessageID {
		t.Error("another key is the same message")
	}
	if b := second.send(post{"other", "hello", "k1"}); b.MessageID == a.MessageID {
		t.Error("another session's key is the same message")
	}
	want := []string{"message.received.v1", "turn.completed.v1", "message.received.v1"}
	if got := history(t, srv, appSession); !slices.Equal(got, want) {
		t.Errorf("journal: %v", got)
	}
}

func TestManyWithOneKeyAtTwoProcesses(t *testing.T) {
	srv := newBus(t)
	nodes := []*running{start(t, srv), start(t, srv)}
	var (
		wg  sync.WaitGroup
		mu  sync.Mutex
		got = map[Receipt]int{}
	)
	for i := range 40 {
		wg.Go(func() {
			r, err := nodes[i%2].Submit(t.Context(), Request{
				Session: string(appSession), From: messagev1.Sender{ID: "local"}, Text: "hello", Key: fmt.Sprint("k", i%4),
			})
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			got[r]++
		})
	}
	wg.Wait()
	if len(got) != 4 || len(history(t, srv, appSession)) != 4 {
		t.Errorf("%d receipts, %d events for 4 keys: %v", len(got), len(history(t, srv, appSession)), got)
	}
}

func TestRefusalsAreJournaledAndTold(t *testing.T) {
	srv := newBus(t)
	s := start(t, srv)
	for _, tc := range []struct {
		name   string
		body   any
		status int
		kind   fault.Kind
		reason string
	}{
		{"empty", post{"default", "  \n", ""}, 400, fault.Invalid, "empty"},
		{"too large", post{"default", strings.Repeat("x", 128<<10+1), ""}, 413, fault.TooLarge, "too_large"},
		{"not UTF-8", []byte("{\"session\":\"default\",\"text\":\"a\xff\"}"), 400, fault.Invalid, "not_utf8"},
		{"NUL", post{"default", "a\x00", "k-nul"}, 400, fault.Invalid, "not_utf8"},
		{"the same key again", post{"default", "now good", "k-nul"}, 400, fault.Invalid, "not_utf8"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var a answer
			resp := s.call(http.MethodPost, "/v1/messages", appToken, tc.body, &a)
			if resp.status != tc.status || a.Kind != string(tc.kind) || a.Error == "" {
				t.Errorf("%d %+v", resp.status, a)
			}
			if r := s.reply(a.MessageID, "1s"); r.Status != "refused" || r.Cause != tc.reason || r.Text != a.Error {
				t.Errorf("reply: %+v", r)
			}
		})
	}
	want := slices.Repeat([]string{"message.refused.v1"}, 4)
	if got := history(t, srv, appSession); !slices.Equal(got, want) {
		t.Errorf("journal: %v", got)
	}
}

func TestBodiesThatAreNoRequests(t *testing.T) {
	srv := newBus(t)
	s := start(t, srv)
	for _, tc := range []struct {
		body   any
		status int
		want   string
	}{
		{[]byte(`{"session":"a","text":"b","txt":1}`), 400, `unknown field "txt"`},
		{[]byte(`{"session":"a","text":7}`), 400, "text"},
		{[]byte(`{"session":"a"`), 400, "ends too early"},
		{[]byte(``), 400, "empty"},
		{post{"", "b", ""}, 400, `"session" is missing`},
		{post{"a", "b", "no spaces"}, 400, "key"},
		{post{"a", "b", strings.Repeat("k", 257)}, 400, "key"},
		{post{"main.http.other.x", "b", ""}, 403, "not one of this token"},
		{make([]byte, 2<<20), 413, "at most"},
	} {
		var a answer
		resp := s.call(http.MethodPost, "/v1/messages", appToken, tc.body, &a)
		if resp.status != tc.status || !strings.Contains(a.Error, tc.want) || a.Kind == "" {
			t.Errorf("%.60v: %d %+v, want %d %q", tc.body, resp.status, a, tc.status, tc.want)
		}
	}
	if u, err := srv.Admin().Journal().Usage(t.Context()); err != nil || u.Messages != 0 {
		t.Errorf("the journal has %d events, %v", u.Messages, err)
	}
}

func TestWhoMayDoWhat(t *testing.T) {
	srv := newBus(t)
	s := start(t, srv)
	mine := s.send(post{"default", "hello", ""})
	for _, tc := range []struct {
		method, path, token string
		status              int
	}{
		{http.MethodGet, "/healthz", "", 200},
		{http.MethodHead, "/healthz", "", 200},
		{http.MethodPost, "/healthz", "", 405},
		{http.MethodPost, "/v1/messages", "", 401},
		{http.MethodPost, "/v1/messages", appToken + "x", 401},
		{http.MethodGet, "/v1/messages", appToken, 405},
		{http.MethodOptions, "/v1/messages", appToken, 405},
		{http.MethodGet, "/v1/nothing", appToken, 404},
		{http.MethodGet, "/v1/messages/" + mine.MessageID + "/reply", appToken, 200},
		{http.MethodGet, "/v1/messages/" + mine.MessageID + "/reply", otherToken, 403},
		{http.MethodGet, "/v1/messages/" + mine.MessageID + "/reply", "", 401},
		{http.MethodGet, "/v1/messages/" + mine.MessageID + "x/reply", appToken, 404},
		{http.MethodGet, "/v1/messages/main.http.app.never~mx/reply", appToken, 404},
		{http.MethodGet, "/v1/messages/m1/reply", appToken, 400},
		{http.MethodGet, "/v1/messages/" + mine.MessageID + "/reply?wait=30", appToken, 400},
		{http.MethodGet, "/v1/sessions/" + string(appSession) + "/events", otherToken, 403},
		{http.MethodGet, "/v1/sessions/default/events?since=x", appToken, 400},
		{http.MethodPost, "/v1/sessions/" + string(appSession) + "/stop", otherToken, 403},
		{http.MethodPost, "/v1/sessions/never/stop", appToken, 404},
		{http.MethodPost, "/v1/sessions/default/stop", appToken, 202},
		{http.MethodGet, "/v1/sessions/default/stop", appToken, 405},
	} {
		var a answer
		var into any = &a
		if tc.method == http.MethodHead {
			into = nil
		}
		resp := s.call(tc.method, tc.path, tc.token, nil, into)
		if resp.status != tc.status {
			t.Errorf("%s %s: %d %+v, want %d", tc.method, tc.path, resp.status, a, tc.status)
		}
		if resp.status >= 400 && (a.Error == "" || a.Kind == "" || resp.header.Get("Content-Type") != "application/json") {
			t.Errorf("%s %s: %+v", tc.method, tc.path, a)
		}
		if resp.header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s %s: a web page may read it", tc.method, tc.path)
		}
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.base+"/healthz", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Host = "rebound.example"
	resp, err := client(t).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	if _ = resp.Body.Close(); resp.StatusCode != http.StatusMisdirectedRequest {
		t.Errorf("a foreign Host: %d", resp.StatusCode)
	}
}

func TestWaitersAreWoken(t *testing.T) {
	srv := newBus(t)
	turns := srv.Connect(t, "turns")
	s := start(t, srv)
	for _, tc := range []struct {
		name         string
		end          func(id string) any
		status, text string
	}{
		{"completed", func(id string) any { return turnv1.Completed{Answers: []string{id}, Text: "hi"} }, "completed", "hi"},
		{"long", func(id string) any {
			return turnv1.Completed{Answers: []string{id}, Text: strings.Repeat("x", 100<<10)}
		}, "completed", strings.Repeat("x", 100<<10)},
		{"failed", func(id string) any { return turnv1.Failed{Answers: []string{id}, Text: "no model"} }, "failed", "no model"},
		{"cancelled", func(id string) any { return turnv1.Cancelled{Answers: []string{id}} }, "cancelled", cancelledText},
	} {
		t.Run(tc.name, func(t *testing.T) {
			m := s.send(post{"default", "hello", ""})
			if r := s.reply(m.MessageID, ""); r.Status != "pending" || r.Text != "" || r.MessageID != m.MessageID {
				t.Fatalf("before: %+v", r)
			}
			id := eventID(t, m.MessageID)
			body, ok := tc.end(id).(turnv1.Event)
			if !ok {
				t.Fatal("not an event")
			}
			var wg sync.WaitGroup
			for range 3 {
				wg.Go(func() {
					if r := s.reply(m.MessageID, "60s"); r.Status != tc.status || r.Text != tc.text {
						t.Errorf("waited: %.200v", r)
					}
				})
			}
			s.awaitWaiters(topic{appSession, id}, 3)
			before := time.Now()
			appendAs(t, turns, appSession, body)
			wg.Wait()
			if d := time.Since(before); d > recheck {
				t.Errorf("woken after %s", d)
			}
			if r := s.reply(m.MessageID, "60s"); r.Status != tc.status || r.Text != tc.text {
				t.Errorf("afterwards: %.200v", r)
			}
		})
	}
}

func TestWaitersLookThemselves(t *testing.T) {
	srv := newBus(t)
	turns := srv.Connect(t, "turns")
	s := start(t, srv)
	m := s.send(post{"default", "hello", ""})
	appendAs(t, turns, appSession, turnv1.Completed{Answers: []string{eventID(t, m.MessageID)}, Text: "hi"})
	// Another process's message whose news was lost: the board knows nothing of it.
	s.board.mu.Lock()
	clear(s.board.notes)
	s.board.mu.Unlock()
	if r := s.reply(m.MessageID, "60s"); r.Status != "completed" || r.Text != "hi" {
		t.Errorf("%+v", r)
	}
}

func TestOpenCallsStayPending(t *testing.T) {
	srv := newBus(t)
	turns := srv.Connect(t, "turns")
	s := start(t, srv)
	m := s.send(post{"default", "hello", ""})
	appendAs(t, turns, appSession, turnv1.Stepped{Outcome: turnv1.Outcome{Turn: "t"}, Calls: []turnv1.Call{{ID: "c"}}})
	if r := s.reply(m.MessageID, "10ms"); r.Status != "pending" {
		t.Errorf("%+v", r)
	}
}

func TestFullJournal(t *testing.T) {
	srv := newBus(t)
	before := start(t, srv)
	known := before.send(post{"default", "hello", "k1"})
	if err := before.stop(); err != nil {
		t.Fatal(err)
	}
	js := srv.Admin().JetStream()
	stream, err := js.Stream(t.Context(), subject.Journal)
	if err != nil {
		t.Fatal(err)
	}
	config := stream.CachedInfo().Config
	roomy := config.MaxBytes
	config.MaxBytes = 1000
	if _, err := js.UpdateStream(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	s := start(t, srv)
	full := false
	for range 20 {
		var a answer
		resp := s.call(http.MethodPost, "/v1/messages", appToken, post{"default", "one more", ""}, &a)
		if resp.status == http.StatusAccepted {
			continue
		}
		if full = true; resp.status != http.StatusInsufficientStorage || a.Kind != "full" || !strings.Contains(a.Error, "max_bytes") {
			t.Fatalf("%d %+v", resp.status, a)
		}
	}
	if !full {
		t.Fatal("a journal of 1000 bytes never was full")
	}
	if again := s.send(post{"default", "hello", "k1"}); again != known {
		t.Errorf("a known key on a full journal: %+v", again)
	}
	config.MaxBytes = roomy
	if _, err := js.UpdateStream(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	s.send(post{"default", "there is room again", ""})
}

func TestNearlyFullTakesStopsOnly(t *testing.T) {
	srv := newBus(t)
	s := start(t, srv)
	m := s.send(post{"default", "hello", ""})
	js := srv.Admin().JetStream()
	stream, err := js.Stream(t.Context(), subject.Journal)
	if err != nil {
		t.Fatal(err)
	}
	for range 20 { // so that a stop fits into the last 8 %
		s.send(post{"default", "hello", ""})
	}
	u, err := srv.Admin().Journal().Usage(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	config := stream.CachedInfo().Config
	config.MaxBytes = int64(u.Bytes) * 100 / 92
	if _, err := js.UpdateStream(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	u.MaxBytes = uint64(config.MaxBytes)
	s.room.set(u) // what the next poll would see
	var a answer
	if resp := s.call(http.MethodPost, "/v1/messages", appToken, post{"default", "more", ""}, &a); resp.status != http.StatusInsufficientStorage {
		t.Errorf("a message: %d %+v", resp.status, a)
	}
	if resp := s.call(http.MethodPost, "/v1/messages", appToken, post{"default", "", ""}, &a); resp.status != http.StatusBadRequest {
		t.Errorf("a refusal is only told: %d %+v", resp.status, a)
	}
	if resp := s.call(http.MethodPost, "/v1/sessions/default/stop", appToken, nil, &a); resp.status != http.StatusAccepted {
		t.Errorf("a stop: %d %+v", resp.status, a)
	}
	if r := s.reply(m.MessageID, ""); r.Status != "pending" {
		t.Errorf("reply: %+v", r)
	}
	if got := history(t, srv, appSession); got[len(got)-1] != "control.requested.v1" || len(got) != 22 {
		t.Errorf("journal: %v", got)
	}
}

func TestDeletedSessionTakesOnlyANewMessage(t *testing.T) {
	srv := newBus(t)
	turns := srv.Connect(t, "turns")
	s := start(t, srv)
	first := s.send(post{"default", "hello", "k1"})
	appendAs(t, turns, appSession, turnv1.SessionDeleted{})
	for _, r := range []Request{
		{Verb: messagev1.Stop}, {Text: "/new"}, {Text: "edited", Edits: eventID(t, first.MessageID)}, {Text: " "},
	} {
		r.Session, r.From = string(appSession), messagev1.Sender{ID: "local"}
		if _, err := s.Submit(t.Context(), r); err == nil {
			t.Errorf("%+v is taken", r)
		}
	}
	second := s.send(post{"default", "hello again", "k1"})
	if second.Cursor <= first.Cursor {
		t.Errorf("the key of a deleted session: %+v", second)
	}
	want := []string{"message.received.v1", "session.deleted.v1", "message.received.v1"}
	if got := history(t, srv, appSession); !slices.Equal(got, want) {
		t.Errorf("journal: %v", got)
	}
}

func TestEdits(t *testing.T) {
	srv := newBus(t)
	s := start(t, srv)
	m := s.send(post{"default", "hello", ""})
	edit := Request{Session: string(appSession), From: messagev1.Sender{ID: "http:app"}, Text: "hallo", Edits: eventID(t, m.MessageID)}
	if r, err := s.Submit(t.Context(), edit); err != nil || r.Status != wire.Completed {
		t.Errorf("%+v, %v", r, err)
	}
	edit.Edits = "m-never"
	if _, err := s.Submit(t.Context(), edit); fault.KindOf(err) != fault.NotFound {
		t.Errorf("an edit of nothing: %v", err)
	}
}

func TestEndpoints(t *testing.T) {
	srv := newBus(t)
	s := start(t, srv, func(c *Config) { c.HTTP = nil })
	if s.Addr() != "" {
		t.Errorf("it listens on %s", s.Addr())
	}
	cli := srv.Connect(t, "cli")
	ctx := within(t, 10*time.Second)
	r, err := bus.Ask[Receipt](ctx, cli, "intake", "submit", Request{Session: "main.terminal.local.default", Text: "hello", Key: "k"})
	if err != nil || r.Status != wire.Pending {
		t.Fatalf("%+v, %v", r, err)
	}
	if again, err := bus.Ask[Receipt](ctx, cli, "intake", "submit", Request{Session: "main.terminal.local.default", Text: "hello", Key: "k"}); err != nil || again != r {
		t.Errorf("again: %+v, %v", again, err)
	}
	rep, err := bus.Ask[Reply](ctx, cli, "intake", "reply", ReplyRequest{Session: string(r.Session), MessageID: r.MessageID, WaitMS: 10})
	if err != nil || rep.Status != wire.Pending {
		t.Errorf("%+v, %v", rep, err)
	}
	short := within(t, 600*time.Millisecond)
	rep, err = bus.Ask[Reply](short, cli, "intake", "reply", ReplyRequest{Session: string(r.Session), MessageID: r.MessageID, WaitMS: 60_000})
	if err != nil || rep.Status != wire.Pending {
		t.Errorf("an impatient asker: %+v, %v", rep, err)
	}
	if stop, err := bus.Ask[Receipt](ctx, cli, "intake", "control", Request{Session: string(r.Session), Verb: messagev1.Stop}); err != nil || stop.Cursor <= r.Cursor {
		t.Errorf("%+v, %v", stop, err)
	}
	for _, tc := range []struct {
		verb string
		req  any
		want fault.Kind
	}{
		{"submit", Request{Session: "default", Text: "x"}, fault.Invalid},
		{"submit", Request{Session: "main.terminal.local.x", Text: "x", From: messagev1.Sender{ID: "telegram:1"}}, fault.Denied},
		{"submit", Request{Session: "main.terminal.local.x", Text: " "}, fault.Invalid},
		{"submit", Request{Session: "main.terminal.local.x", Text: Text(strings.Repeat("x", 128<<10+1))}, fault.TooLarge},
		{"submit", map[string]any{"session": "main.terminal.local.x", "txt": "x"}, fault.Invalid},
		{"control", Request{Session: "main.terminal.local.default"}, fault.Invalid},
		{"control", Request{Session: "main.terminal.local.never", Verb: messagev1.Stop}, fault.NotFound},
		{"reply", ReplyRequest{Session: "main.terminal.local.default", MessageID: "m"}, fault.NotFound},
		{"reply", ReplyRequest{Session: "main.terminal.local.default"}, fault.Invalid},
		{"reply", ReplyRequest{Session: "x", MessageID: "m"}, fault.Invalid},
	} {
		if _, err := bus.Ask[map[string]any](ctx, cli, "intake", tc.verb, tc.req); fault.KindOf(err) != tc.want {
			t.Errorf("%s %.100v: %v, want %s", tc.verb, tc.req, err, tc.want)
		}
	}
}

func TestTakenPort(t *testing.T) {
	srv := newBus(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	h := DefaultHTTPConfig()
	h.Listen, h.Tokens = l.Addr().String(), map[string]string{"app": appToken}
	h.Holder = func(addr string) string { return "process 4711 (squatter) at " + addr }
	s, err := New(Config{Conn: srv.Connect(t, "intake"), HTTP: &h, Log: srv.Admin().Log()})
	if err != nil {
		t.Fatal(err)
	}
	err = s.Run(within(t, 10*time.Second))
	if fault.KindOf(err) != fault.Conflict || !strings.Contains(err.Error(), "4711 (squatter) at "+h.Listen) {
		t.Errorf("%v", err)
	}
	if s.Ready(t.Context()) == nil {
		t.Error("ready after it ended")
	}
}

func TestDrain(t *testing.T) {
	srv := newBus(t)
	s := start(t, srv)
	m := s.send(post{"default", "hello", ""})
	var wg sync.WaitGroup
	wg.Go(func() {
		if r := s.reply(m.MessageID, "60s"); r.Status != "pending" {
			t.Errorf("a waiter got %+v", r)
		}
	})
	s.awaitWaiters(topic{appSession, eventID(t, m.MessageID)}, 1)
	begun := time.Now()
	if err := s.stop(); err != nil {
		t.Errorf("Run: %v", err)
	}
	if d := time.Since(begun); d > drainLimit/2 {
		t.Errorf("stopped after %s", d)
	}
	wg.Wait()
	if _, err := net.DialTimeout("tcp", s.Addr(), time.Second); err == nil {
		t.Error("it still listens")
	}
	if err := s.Ready(t.Context()); err == nil {
		t.Error("ready after it ended")
	}
}

func TestStartStopStress(t *testing.T) {
	srv := newBus(t)
	for i := range 10 {
		s := start(t, srv)
		var wg sync.WaitGroup
		for j := range 4 {
			wg.Go(func() {
				_, err := s.Submit(t.Context(), Request{
					Session: fmt.Sprint("main.http.app.s", j), From: messagev1.Sender{ID: "http:app"}, Text: "hello", Key: fmt.Sprint(i),
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		if err := s.stop(); err != nil {
			t.Error(errors.Join(errors.New("stop"), err))
		}
		wg.Wait()
	}
}
