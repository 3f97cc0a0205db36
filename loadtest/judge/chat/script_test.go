package chat_test

import (
	"strconv"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/fake/faketelegram"
	"github.com/jetclaw/jetclaw/loadtest/judge/chat"
	"github.com/jetclaw/jetclaw/schemas/deliveryv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/noticev1"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

const (
	room  = int64(77)
	s1    = session.ID("main.telegram.bot.77")
	aside = session.ID("main.telegram.bot.quarantine")
)

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// script writes by hand what happened in one chat. A message's number in the script is its id there, and answers get ids from
// 100 on.
type script struct {
	ev    chat.Evidence
	shown int
}

func newScript() *script {
	return &script{ev: chat.Evidence{Shown: map[int64][]faketelegram.Message{}}, shown: 99}
}

func mk(n int) string { return "mk-s-" + strconv.Itoa(n) }

func id(n int) string { return "e" + strconv.Itoa(n) }

func words(n int) string { return mk(n) + " hello" }

func answer(n int) string { return "You said: " + words(n) }

func (s *script) at(sid session.ID, id, key string, b envelope.Body) *script {
	cursor := uint64(len(s.ev.Journal) + 1)
	s.ev.Journal = append(s.ev.Journal, envelope.Event{
		ID: id, Key: key, Session: sid, Cursor: cursor, Time: epoch.Add(time.Duration(cursor) * time.Second), Body: b,
	})
	return s
}

func (s *script) add(id string, b envelope.Body) *script { return s.at(s1, id, "", b) }

func (s *script) say(x chat.Said) *script {
	x.Chat, x.Session = room, s1
	s.ev.Said = append(s.ev.Said, x)
	return s
}

func (s *script) wrote(n int) *script {
	return s.say(chat.Said{What: chat.Message, ID: n, Marker: mk(n), Text: words(n)})
}

func (s *script) received(n int) *script {
	return s.add(id(n), messagev1.Received{Text: words(n), Native: strconv.Itoa(n)})
}

func (s *script) started(n int) *script {
	return s.add(id(n)+"-s", turnv1.Started{Claim: turnv1.Claim{Turn: id(n) + "/t", Messages: []string{id(n)}}})
}

func (s *script) completed(n int, text string) *script {
	return s.started(n).add(id(n)+"-done", turnv1.Completed{Answers: []string{id(n)}, Text: text})
}

func ref(n, attempt, part int) deliveryv1.Ref {
	return deliveryv1.Ref{Delivery: id(n) + "-done", Attempt: attempt, Part: part}
}

// stands is a message of the bot; it returns its receipt.
func (s *script) stands(text string) string {
	s.shown++
	s.ev.Shown[room] = append(s.ev.Shown[room], faketelegram.Message{ID: s.shown, Chat: room, Text: text})
	return strconv.Itoa(s.shown)
}

// part is one attempt that arrives.
func (s *script) part(r deliveryv1.Ref, text string, repeat, more bool) *script {
	s.add("", deliveryv1.Started{Ref: r, Repeat: repeat})
	return s.add("", deliveryv1.Sent{Ref: r, Receipt: s.stands(text), More: more})
}

// lost is an attempt of which nobody knows; it has arrived when there is a text.
func (s *script) lost(r deliveryv1.Ref, text string, repeat bool) *script {
	if text != "" {
		s.stands(text)
	}
	return s.add("", deliveryv1.Started{Ref: r, Repeat: repeat}).add("", deliveryv1.Unknown{Ref: r, Resend: true})
}

// whole is a message with all that follows it.
func (s *script) whole(n int) *script {
	return s.wrote(n).received(n).completed(n, answer(n)).part(ref(n, 1, 0), answer(n), false, false)
}

// ordered is a command with all that follows it.
func (s *script) ordered(n int) *script {
	s.say(chat.Said{What: chat.Command, ID: n, Text: "/status"})
	s.at(s1, id(n), "tg.1."+strconv.Itoa(n), messagev1.Control{Verb: messagev1.Status})
	return s.add(id(n)+"-done", noticev1.Posted{Text: "Nothing runs.", Answers: []string{id(n)}}).part(ref(n, 1, 0), "Nothing runs.", false, false)
}

func (s *script) changed(n int, text string) *script {
	return s.say(chat.Said{What: chat.Edit, ID: n, Text: text})
}

func (s *script) edited(n int, text string) *script {
	return s.add("", messagev1.Edited{Message: id(n), Text: text})
}

func (s *script) broke(n int, once bool) *script {
	return s.say(chat.Said{What: chat.Malformed, Marker: mk(n), Text: `{"message":"` + mk(n) + `"}`, Once: once})
}

func (s *script) kept(data string) *script {
	return s.at(aside, "", "", messagev1.Quarantined{Data: data, Reason: "message: a string"})
}

func (s *script) called(at, took time.Duration, text string) *script {
	s.ev.Calls = append(s.ev.Calls, faketelegram.Call{At: epoch.Add(at), Took: took, Method: "sendMessage", Chat: room, Description: text})
	return s
}
