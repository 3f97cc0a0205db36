package intake

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

// sse is an open stream of events.
type sse struct {
	t      *testing.T
	lines  *bufio.Reader
	cancel context.CancelFunc
}

type sseEvent struct {
	id, event, data string
}

func (r *running) follow(path, lastID string) *sse {
	r.t.Helper()
	ctx, cancel := context.WithCancel(within(r.t, 20*time.Second))
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, r.base+path, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+appToken)
	if lastID != "" {
		req.Header.Set("Last-Event-ID", lastID)
	}
	resp, err := client(r.t).Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { cancel(); _ = resp.Body.Close() })
	if ct := resp.Header.Get("Content-Type"); resp.StatusCode != http.StatusOK || ct != "text/event-stream" {
		r.t.Fatalf("%d %s", resp.StatusCode, ct)
	}
	return &sse{t: r.t, lines: bufio.NewReader(resp.Body), cancel: cancel}
}

// next passes comments by; ok is false at the end of the stream.
func (s *sse) next() (e sseEvent, ok bool) {
	s.t.Helper()
	for {
		line, err := s.lines.ReadString('\n')
		if err != nil {
			return sseEvent{}, false
		}
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch name {
		case "id":
			e.id = value
		case "event":
			e.event = value
		case "data":
			e.data = value
		case "":
			if e != (sseEvent{}) {
				return e, true
			}
		}
	}
}

type lineForm struct {
	Cursor  uint64          `json:"cursor"`
	Time    time.Time       `json:"time"`
	Session session.ID      `json:"session"`
	Type    string          `json:"type"`
	ID      string          `json:"id"`
	Cause   *string         `json:"cause"`
	Prev    *uint64         `json:"prev"`
	Data    json.RawMessage `json:"data"`
}

func (s *sse) journal() lineForm {
	s.t.Helper()
	e, ok := s.next()
	if !ok || e.event != "" {
		s.t.Fatalf("%+v, %v", e, ok)
	}
	var l lineForm
	if err := json.Unmarshal([]byte(e.data), &l); err != nil {
		s.t.Fatalf("%s: %v", e.data, err)
	}
	if e.id != fmt.Sprint(l.Cursor) {
		s.t.Errorf("id %s of %s", e.id, e.data)
	}
	return l
}

func TestEventsHistoryThenNews(t *testing.T) {
	srv := newBus(t)
	turns := srv.Connect(t, "turns")
	s := start(t, srv)
	first := s.send(post{"default", "one", ""})
	s.send(post{"elsewhere", "not here", ""})
	second := s.send(post{"default", "two", ""})
	st := s.follow("/v1/sessions/default/events", "")
	if l := st.journal(); l.Cursor != first.Cursor || l.Type != "message.received.v1" || l.Session != appSession || l.ID == "" ||
		l.Cause == nil || l.Prev == nil || *l.Prev != 0 || l.Time.IsZero() || !strings.Contains(string(l.Data), `"text":"one"`) {
		t.Errorf("%+v", l)
	}
	if l := st.journal(); l.Cursor != second.Cursor || *l.Prev != first.Cursor {
		t.Errorf("%+v", l)
	}
	s.send(post{"elsewhere", "not here either", ""})
	end := appendAs(t, turns, appSession, turnv1.Completed{Answers: []string{eventID(t, first.MessageID)}, Text: "hi\nho"})
	if l := st.journal(); l.Cursor != end || l.Type != "turn.completed.v1" {
		t.Errorf("%+v", l)
	}
	st.cancel()

	// A reader that comes back continues behind what it had, by the header as by the parameter; the header is newer.
	for _, st := range []*sse{
		s.follow("/v1/sessions/default/events", fmt.Sprint(second.Cursor)),
		s.follow(fmt.Sprintf("/v1/sessions/%s/events?since=%d", appSession, second.Cursor), ""),
		s.follow("/v1/sessions/default/events?since=0", fmt.Sprint(second.Cursor)),
	} {
		if l := st.journal(); l.Cursor != end {
			t.Errorf("resumed with %+v", l)
		}
		st.cancel()
	}
	last := s.follow("/v1/sessions/default/events", fmt.Sprint(end))
	more := s.send(post{"default", "and more", ""})
	if l := last.journal(); l.Cursor != more.Cursor {
		t.Errorf("from the end: %+v", l)
	}
	if err := s.stop(); err != nil {
		t.Errorf("Run: %v", err)
	}
	if e, ok := last.next(); ok {
		t.Errorf("after the end: %+v", e)
	}
}

func TestLiveDeltas(t *testing.T) {
	srv := newBus(t)
	turns := srv.Connect(t, "turns")
	s := start(t, srv)
	m := s.send(post{"default", "one", ""})
	quiet := s.follow("/v1/sessions/default/events", "")
	live := s.follow("/v1/sessions/default/events?live=1", "")
	quiet.journal()
	live.journal()
	if err := turns.PublishLive(appSession, map[string]string{"text": "h\ni"}); err != nil {
		t.Fatal(err)
	}
	if err := turns.NATS().Flush(); err != nil {
		t.Fatal(err)
	}
	if e, ok := live.next(); !ok || e.event != "delta" || e.id != "" || e.data != `{"text":"h\ni"}` {
		t.Errorf("%+v", e)
	}
	appendAs(t, turns, appSession, turnv1.Completed{Answers: []string{eventID(t, m.MessageID)}, Text: "hi"})
	if l := live.journal(); l.Type != "turn.completed.v1" {
		t.Errorf("%+v", l)
	}
	if l := quiet.journal(); l.Type != "turn.completed.v1" {
		t.Errorf("deltas for one who did not ask: %+v", l)
	}
}

// A client that does not read holds its own request only, and that not for ever.
func TestClientThatDoesNotRead(t *testing.T) {
	srv := newBus(t)
	s := startWith(t, srv, func(c *Config) { c.HTTP.Stall = 50 * time.Millisecond }, func(*Service) {})
	big := strings.Repeat("x", 100<<10)
	for range 100 {
		s.send(post{"default", big, ""})
	}
	conn, err := net.Dial("tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_, err = fmt.Fprintf(conn, "GET /v1/sessions/default/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n\r\n", appToken)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(conn).ReadString('\n'); err != nil { // it streams, and then nobody reads
		t.Fatal(err)
	}
	s.send(post{"default", "others are served", ""})
	if err := s.stop(); err != nil {
		t.Errorf("the stalled stream was not cut: %v", err)
	}
}
