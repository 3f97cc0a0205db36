package httpapi

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/services/intake/internal/wire"
	"github.com/jetclaw/jetclaw/services/intake/thread"
)

// messageRequest is the body of POST /v1/messages.
type messageRequest struct {
	Session wire.Text `json:"session"` // a name, or a full id of the token's own
	Text    wire.Text `json:"text"`
	Key     wire.Text `json:"idempotency_key"`
}

// taken is the answer: the event is in the journal.
type taken struct {
	MessageID string     `json:"message_id"` // with its session, so that the reply is found by it alone
	Session   session.ID `json:"session"`
	Cursor    uint64     `json:"cursor"`
}

func (s *Server) postMessage(w http.ResponseWriter, r *http.Request, who caller, _ string) {
	body, err := s.body(w, r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	var m messageRequest
	if err := wire.Decode(body, &m); err != nil {
		s.fail(w, r, err)
		return
	}
	if m.Session == "" {
		s.fail(w, r, fault.New(fault.Invalid, `"session" is missing: any name, such as "default"`))
		return
	}
	s.submit(w, r, who, string(m.Session), wire.Request{Text: m.Text, Key: string(m.Key)})
}

func (s *Server) postStop(w http.ResponseWriter, r *http.Request, who caller, arg string) {
	s.submit(w, r, who, arg, wire.Request{Verb: messagev1.Stop})
}

// controlRequest is the body of POST /v1/sessions/{session}/control.
type controlRequest struct {
	Verb     messagev1.Verb `json:"verb"`
	Argument wire.Text      `json:"argument"`
	Key      wire.Text      `json:"idempotency_key"`
}

func (s *Server) postControl(w http.ResponseWriter, r *http.Request, who caller, arg string) {
	body, err := s.body(w, r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	var c controlRequest
	if err := wire.Decode(body, &c); err != nil {
		s.fail(w, r, err)
		return
	}
	if !thread.IsVerb(c.Verb) {
		s.fail(w, r, fault.New(fault.Invalid, "verb %.40q: want %s", string(c.Verb), thread.Verbs))
		return
	}
	s.submit(w, r, who, arg, wire.Request{Verb: c.Verb, Argument: c.Argument, Key: string(c.Key)})
}

func (s *Server) submit(w http.ResponseWriter, r *http.Request, who caller, name string, req wire.Request) {
	sid, err := who.session(name)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	req.Session, req.From, req.Trace = string(sid), messagev1.Sender{ID: who.id()}, r.Header.Get("Traceparent")
	receipt, err := s.desk.Submit(r.Context(), req)
	if err != nil {
		p := s.problemOf(r, err)
		if receipt.MessageID != "" {
			p.MessageID = messageID(sid, receipt.MessageID)
		}
		s.failWith(w, statusOf(p.Kind), p)
		return
	}
	s.answer(w, http.StatusAccepted, taken{messageID(sid, receipt.MessageID), sid, receipt.Cursor})
}

// body reads a bounded body in bounded time. Big ones wait for one of a few slots, to bound the memory of all together.
func (s *Server) body(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	if r.ContentLength > s.maxBody {
		return nil, fault.New(fault.TooLarge, "the body has %d bytes, at most %d are read", r.ContentLength, s.maxBody)
	}
	if r.ContentLength < 0 || r.ContentLength > smallBody {
		select {
		case s.big <- struct{}{}:
			defer func() { <-s.big }()
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
	}
	rc := http.NewResponseController(w)
	if err := rc.SetReadDeadline(time.Now().Add(bodyTimeout)); err != nil {
		return nil, err
	}
	data, err := read(http.MaxBytesReader(w, r.Body, s.maxBody), r.ContentLength)
	var over *http.MaxBytesError
	switch {
	case errors.As(err, &over):
		return nil, fault.New(fault.TooLarge, "the body is too large: at most %d bytes are read", s.maxBody)
	case err != nil:
		return nil, fault.New(fault.Invalid, "the body did not arrive whole: %w", err)
	}
	return data, rc.SetReadDeadline(time.Time{}) // what follows on this connection has its own
}

func read(r io.Reader, length int64) ([]byte, error) {
	if length < 0 || length > smallBody { // grow as it comes, whatever was announced
		return io.ReadAll(r)
	}
	data := make([]byte, length)
	_, err := io.ReadFull(r, data)
	return data, err
}

// reply is the answer of GET …/reply.
type reply struct {
	MessageID string      `json:"message_id"`
	Session   session.ID  `json:"session"`
	Status    wire.Status `json:"status"`
	Text      string      `json:"text"`
	Cause     string      `json:"cause,omitempty"`
	Cursor    uint64      `json:"cursor,omitempty"`

	Decision  callv1.Decision `json:"decision,omitempty"`
	Approvals []wire.Question `json:"approvals,omitempty"`
}

func (s *Server) getReply(w http.ResponseWriter, r *http.Request, who caller, arg string) {
	sid, id, err := splitMessageID(arg)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	if sid, err = who.session(string(sid)); err != nil {
		s.fail(w, r, err)
		return
	}
	wait, err := waitOf(r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	got, err := s.desk.Reply(r.Context(), wire.ReplyRequest{
		Session: string(sid), MessageID: id, WaitMS: wait.Milliseconds(), Until: wire.Until(r.URL.Query().Get("until")),
	})
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.answer(w, http.StatusOK, reply{arg, sid, got.Status, got.Text, got.Cause, got.Cursor, got.Decision, got.Approvals})
}

func waitOf(r *http.Request) (time.Duration, error) {
	if r.URL.RawQuery == "" {
		return 0, nil
	}
	v := r.URL.Query().Get("wait")
	if v == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(v)
	if err != nil || d < 0 {
		return 0, fault.New(fault.Invalid, "wait=%q: want a duration such as 30s, at most %s", v, wire.MaxWait)
	}
	return min(d, wire.MaxWait), nil
}

const messageSeparator = "~" // in no session id, and needs no escape in a URL

func messageID(s session.ID, id string) string { return string(s) + messageSeparator + id }

func splitMessageID(s string) (session.ID, string, error) {
	sid, id, ok := strings.Cut(s, messageSeparator)
	if !ok || id == "" || !strings.Contains(sid, ".") {
		return "", "", fault.New(fault.Invalid, "message_id %q: want the one that POST /v1/messages gave, SESSION%sID", s, messageSeparator)
	}
	return session.ID(sid), id, nil
}

// getHealth tells a supervisor whether to send requests here.
func (s *Server) getHealth(w http.ResponseWriter, r *http.Request, _ caller, _ string) {
	select {
	case <-s.draining:
		s.fail(w, r, fault.New(fault.Unavailable, "stopping"))
	default:
		s.answer(w, http.StatusOK, map[string]string{"status": "ok"})
	}
}
