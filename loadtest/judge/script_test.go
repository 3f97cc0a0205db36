package judge_test

import (
	"time"

	"github.com/jetclaw/jetclaw/loadtest/judge"
	"github.com/jetclaw/jetclaw/schemas/deliveryv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

const s1 = session.ID("main.http.default.s1")

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// script writes a journal by hand: every call appends one event, a second after the one before, with its chain intact.
type script struct {
	evidence judge.Evidence
	last     map[session.ID]uint64
	session  session.ID
}

func newScript() *script {
	return &script{last: map[session.ID]uint64{}, session: s1, evidence: judge.Evidence{Pushed: map[string]int{}, Asked: map[string]int{}}}
}

func (s *script) add(id, key string, b envelope.Body) *script {
	cursor := uint64(len(s.evidence.Journal) + 1)
	s.evidence.Journal = append(s.evidence.Journal, envelope.Event{
		ID: id, Key: key, Session: s.session, Cursor: cursor, Prev: s.last[s.session],
		Time: epoch.Add(time.Duration(cursor) * time.Second), Body: b,
	})
	s.last[s.session] = cursor
	return s
}

// mk is the marker of message id.
func mk(id string) string { return "mk-" + id }

func answer(id string) string { return "You said: " + mk(id) }

func (s *script) received(id string) *script {
	return s.add(id, "key-"+id, messagev1.Received{Text: mk(id)})
}

// sent is received, as its sender saw it to the end.
func (s *script) sent(id string) *script {
	s.evidence.Messages = append(s.evidence.Messages, judge.Message{
		Session: s.session, ID: id, Key: "key-" + id, Marker: mk(id), Status: "completed", Text: answer(id),
	})
	return s.received(id)
}

func claim(attempt int, ids ...string) turnv1.Claim {
	return turnv1.Claim{Turn: ids[0] + "/t", Round: 1, Attempt: attempt, Messages: ids}
}

func (s *script) started(ids ...string) *script {
	for _, id := range ids {
		s.evidence.Asked[mk(id)]++
	}
	return s.add(ids[0]+"-started", "", turnv1.Started{Claim: claim(1, ids...)})
}

func (s *script) resumed(id string, attempt int) *script {
	s.evidence.Asked[mk(id)]++
	return s.add(id+"-resumed", "", turnv1.Resumed{Claim: claim(attempt, id)})
}

func (s *script) completed(id string) *script {
	return s.add(id+"-done", "", turnv1.Completed{Outcome: turnv1.Outcome{Turn: id + "/t", Round: 1}, Answers: []string{id}, Text: answer(id)})
}

func ref(id string, attempt int) deliveryv1.Ref {
	return deliveryv1.Ref{Delivery: id + "-done", Attempt: attempt}
}

func (s *script) delivering(id string, attempt int, repeat bool) *script {
	s.evidence.Pushed[mk(id)]++
	return s.add("", "", deliveryv1.Started{Ref: ref(id, attempt), Repeat: repeat})
}

func (s *script) delivered(id string, attempt int) *script {
	return s.add("", "", deliveryv1.Sent{Ref: ref(id, attempt)})
}

// parted is an attempt of one part that has arrived.
func (s *script) parted(id string, part int, more bool) *script {
	r := ref(id, 1)
	r.Part = part
	return s.add("", "", deliveryv1.Started{Ref: r}).add("", "", deliveryv1.Sent{Ref: r, More: more})
}

// whole is a message with all that follows it.
func (s *script) whole(id string) *script {
	return s.sent(id).started(id).completed(id).delivering(id, 1, false).delivered(id, 1)
}
