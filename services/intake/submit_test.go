package intake

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/jetclaw/jetclaw/bus/bustest"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/subject"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/intake/internal/wire"
)

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

// TestBurstLeavesRoomForTurns: the journal fills faster than anybody looks at it.
func TestBurstLeavesRoomForTurns(t *testing.T) {
	srv := newBus(t)
	js := srv.Admin().JetStream()
	stream, err := js.Stream(t.Context(), subject.Journal)
	if err != nil {
		t.Fatal(err)
	}
	config := stream.CachedInfo().Config
	config.MaxBytes = 200 << 10
	if _, err := js.UpdateStream(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	s := start(t, srv)
	var a answer
	for status := http.StatusAccepted; status == http.StatusAccepted; {
		status = s.call(http.MethodPost, "/v1/messages", appToken, post{"default", strings.Repeat("x", 2<<10), ""}, &a).status
	}
	u, err := srv.Admin().Journal().Usage(t.Context())
	if err != nil || !strings.Contains(a.Error, "takes no new messages") || u.Full() > 0.95 {
		t.Errorf("%+v at %.0f %%, %v", a, 100*u.Full(), err)
	}
}

// nearlyFill makes the journal so small that it is 92 % full.
func nearlyFill(t *testing.T, srv *bustest.Server, s *running) {
	t.Helper()
	js := srv.Admin().JetStream()
	stream, err := js.Stream(t.Context(), subject.Journal)
	if err != nil {
		t.Fatal(err)
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
}

func TestNearlyFullTakesStopsOnly(t *testing.T) {
	srv := newBus(t)
	s := start(t, srv)
	m := s.send(post{"default", "hello", ""})
	for range 20 { // so that two commands fit into the last 8 %
		s.send(post{"default", "hello", ""})
	}
	nearlyFill(t, srv, s)
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
	if a, status := s.press(messagev1.New, "keep", ""); status != http.StatusAccepted {
		t.Errorf("a new beginning: %d %+v", status, a)
	}
	if a, status := s.press(messagev1.Status, "", ""); status != http.StatusInsufficientStorage {
		t.Errorf("a question: %d %+v", status, a)
	}
	if r := s.reply(m.MessageID, ""); r.Status != "pending" {
		t.Errorf("reply: %+v", r)
	}
	if got := history(t, srv, appSession); got[len(got)-1] != "control.requested.v1" || len(got) != 23 {
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
		{Verb: messagev1.Stop}, {Text: "/new"}, {Text: "/approve"}, {Verb: messagev1.Deny, Argument: "no"}, {Text: "edited", Edits: eventID(t, first.MessageID)}, {Text: " "},
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
