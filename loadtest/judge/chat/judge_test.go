package chat_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/fake/faketelegram"
	"github.com/jetclaw/jetclaw/loadtest/judge"
	"github.com/jetclaw/jetclaw/loadtest/judge/chat"
	"github.com/jetclaw/jetclaw/schemas/deliveryv1"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

const marked = chat.RepeatMark + ":\n"

// album is two pictures in one message.
func (s *script) album(digests ...string) *script {
	s.say(chat.Said{What: chat.Message, ID: 5, More: []int{6}, Marker: mk(5), Text: words(5), Files: []string{"aa", "bb"}})
	var files []messagev1.File
	for _, d := range digests {
		files = append(files, messagev1.File{Kind: messagev1.Photo, Digest: d})
	}
	s.add(id(5), messagev1.Received{Text: words(5), Native: "5", Files: files})
	return s.completed(5, answer(5)).part(ref(5, 1, 0), answer(5), false, false)
}

func TestAChatThatKeepsItsPromises(t *testing.T) {
	s := newScript().whole(1).ordered(2).album("aa", "bb").broke(90, false).kept(mk(90)).broke(91, true)
	// An answer that may have arrived, did, and is sent again; one that did not, in two parts.
	s.wrote(10).received(10).completed(10, answer(10)).lost(ref(10, 1, 0), answer(10), false).part(ref(10, 2, 0), marked+answer(10), true, false)
	s.wrote(11).received(11).completed(11, answer(11)+" **bold** | end").lost(ref(11, 1, 0), "", false)
	s.part(ref(11, 2, 0), marked+answer(11)+" bold", true, true).part(ref(11, 1, 1), "end", false, false)
	// An edit in time, and one that comes too late.
	s.wrote(12).received(12).changed(12, mk(12)+" second").edited(12, mk(12)+" second").completed(12, "You said: "+mk(12)+" second")
	s.part(ref(12, 1, 0), "You said: "+mk(12)+" second", false, false).changed(12, mk(12)+" third").edited(12, mk(12)+" third")
	// A draft that ends as the answer, with a notice below it; and one whose post nobody knows of.
	s.wrote(13).received(13).add("", deliveryv1.Drafting{Turn: "x"}).add("", deliveryv1.Drafted{Turn: "x", Receipt: s.stands(answer(13))})
	s.ordered(14).completed(13, answer(13)).add("", deliveryv1.Started{Ref: ref(13, 1, 0)}).add("", deliveryv1.Sent{Ref: ref(13, 1, 0), Receipt: "108"})
	s.wrote(15).received(15).add("", deliveryv1.Drafting{Turn: "y"})
	s.stands("You said: mk-s-15 h…")
	s.completed(15, answer(15)).part(ref(15, 1, 0), answer(15), false, false)
	// Held, and called again in time; and sooner by one who was killed meanwhile.
	s.called(0, time.Second, "Too Many Requests: retry after 3").called(4*time.Second, 0, "")
	s.called(10*time.Second, 0, "Too Many Requests: retry after 3").called(12*time.Second, 0, "")
	s.ev.Kills = append(s.ev.Kills, epoch.Add(11*time.Second))
	s.ev.Report.Refused = map[string]int{
		"Bad Request: query is too old and response timeout expired or query ID is invalid":                            2,
		"Bad Request: message is not modified: specified new message content and reply markup are exactly the same as": 3,
	}
	v := chat.Judge(s.ev)
	if len(v.Violations) != 0 {
		t.Fatalf("violations: %+v", v.Violations)
	}
	want := chat.Counts{
		Messages: 7, Commands: 2, Edits: 2, InTime: 1, Albums: 1, Files: 2, Malformed: 2, Kept: 1, Answers: 9, Parts: 10,
		Unknown: 2, Repeats: 1, Marked: 2, Drafts: 1, Stale: 1, Held: 2,
	}
	if v.Counts != want {
		t.Errorf("counts %+v\nwant   %+v", v.Counts, want)
	}
}

func TestAnAlbumMayComeInPieces(t *testing.T) {
	s := newScript().say(chat.Said{What: chat.Message, ID: 5, More: []int{6}, Marker: mk(5), Text: words(5), Files: []string{"aa", "bb"}})
	s.add(id(5), messagev1.Received{Text: words(5), Native: "5", Files: []messagev1.File{{Digest: "aa"}}})
	s.add(id(6), messagev1.Received{Native: "6", Files: []messagev1.File{{Digest: "bb"}}})
	for n, text := range []string{answer(5), "You said: [photo]"} {
		s.completed(5+n, text).part(ref(5+n, 1, 0), text, false, false)
	}
	if v := chat.Judge(s.ev); v.Counts.Split != 1 || len(v.Violations) > 0 {
		t.Errorf("%+v", v)
	}
}

func TestEachBreachIsFound(t *testing.T) {
	upto := func(n int) *script { return newScript().wrote(n).received(n).completed(n, answer(n)) }
	for _, c := range []struct {
		name string
		want judge.Kind
		text string // part of one violation
		run  *script
	}{
		{"never received", judge.Lost, "is not in the journal", newScript().wrote(1)},
		{"command never received", judge.Lost, `the command "/status"`, newScript().say(chat.Said{What: chat.Command, ID: 1, Text: "/status"})},
		{"edit never received", judge.Lost, "the edit of message 1", newScript().whole(1).changed(1, mk(1)+" second")},
		{"malformed and gone", judge.Lost, "the malformed update", newScript().broke(90, false)},
		{"picture not fetched", judge.Lost, "a file of mk-s-5 is not there", newScript().album("aa", "")},
		{"picture forgotten", judge.Wrong, "came with", newScript().album("aa")},
		{"another picture", judge.Wrong, "came with", newScript().album("bb", "aa")},
		{"text cut on its way in", judge.Wrong, `received as "mk-s-1"`, newScript().wrote(1).add(id(1), messagev1.Received{Text: mk(1), Native: "1"}).completed(1, mk(1)).part(ref(1, 1, 0), mk(1), false, false)},
		{"answer given up", judge.Lost, "was given up: blocked", upto(1).add("", deliveryv1.Failed{Ref: ref(1, 1, 0), Reason: "blocked"})},
		{"recorded as sent and not there", judge.Lost, "which is not in the chat", upto(1).add("", deliveryv1.Started{Ref: ref(1, 1, 0)}).add("", deliveryv1.Sent{Ref: ref(1, 1, 0), Receipt: "100"})},
		{"answer cut", judge.Lost, "shown as", upto(1).part(ref(1, 1, 0), mk(1), false, false)},
		{"a part is missing", judge.Stuck, "is not delivered", upto(1).part(ref(1, 1, 0), mk(1), false, true)},
		{"updates unconfirmed", judge.Lost, "3 updates wait unconfirmed", report(func(r *faketelegram.Report) { r.Pending = 3 })},

		{"received twice", judge.Doubled, "was received already", newScript().whole(1).add("again", messagev1.Received{Text: words(1), Native: "1"})},
		{"command received twice", judge.Doubled, "was received already", newScript().ordered(1).at(s1, "again", "tg.1.1", messagev1.Control{})},
		{"edit received twice", judge.Doubled, "is there 2 times", newScript().whole(1).changed(1, "x").edited(1, "x").edited(1, "x")},
		{"kept aside twice", judge.Doubled, "2 times", newScript().broke(90, false).kept(mk(90)).kept(mk(90))},
		{"two answers", judge.Doubled, "has 2 answers", newScript().whole(1).add("more", turnv1.Completed{Answers: []string{id(1)}, Text: answer(1)})},
		{"shown twice", judge.Doubled, "is in no record", func() *script { s := newScript().whole(1); s.stands(answer(1)); return s }()},
		{"shown twice behind one that did not arrive", judge.Doubled, "is in no record", func() *script {
			s := upto(1).add("", deliveryv1.Started{Ref: ref(1, 1, 0)}).add("", deliveryv1.Deferred{Ref: ref(1, 1, 0)})
			s.stands(answer(1))
			return s.part(ref(1, 2, 0), answer(1), false, false)
		}()},
		{"shown more often than unknown", judge.Doubled, "is in no record", func() *script {
			s := upto(1).lost(ref(1, 1, 0), answer(1), false)
			s.stands(marked + answer(1))
			return s.part(ref(1, 2, 0), marked+answer(1), true, false)
		}()},
		{"one message for two answers", judge.Doubled, "and so is another one", newScript().whole(1).wrote(2).received(2).completed(2, answer(1)).add("", deliveryv1.Sent{Ref: ref(2, 1, 0), Receipt: "100"})},

		{"received in another order", judge.Disordered, "received after it", func() *script {
			s := newScript().whole(2).whole(1)
			slices.Reverse(s.ev.Said)
			return s
		}()},
		{"answered in another order", judge.Disordered, "stands before", newScript().wrote(1).received(1).wrote(2).received(2).
			completed(2, answer(2)).part(ref(2, 1, 0), answer(2), false, false).completed(1, answer(1)).part(ref(1, 1, 0), answer(1), false, false)},

		{"no answer", judge.Stuck, "has no answer", newScript().wrote(1).received(1)},
		{"answer not sent", judge.Stuck, "is not delivered", upto(1)},
		{"delivery not over", judge.Stuck, "is not over", upto(1).lost(ref(1, 1, 0), "", false)},

		{"nobody wrote it", judge.Wrong, "nobody has sent", newScript().whole(1).received(2)},
		{"answer to the text before the edit", judge.Wrong, "and it said", newScript().wrote(1).received(1).changed(1, mk(1)+" second").edited(1, mk(1)+" second").
			completed(1, answer(1)).part(ref(1, 1, 0), answer(1), false, false)},
		{"answer of another message", judge.Wrong, "the answer to mk-s-1 is", newScript().wrote(1).received(1).completed(1, answer(2)).part(ref(1, 1, 0), answer(2), false, false)},
		{"turn failed", judge.Wrong, "came to turn.failed", newScript().wrote(1).received(1).started(1).
			add(id(1)+"-done", turnv1.Failed{Answers: []string{id(1)}, Text: "Sorry."}).part(ref(1, 1, 0), "Sorry.", false, false)},
		{"answer in another chat", judge.Wrong, "which was said in chat 88", func() *script {
			s := newScript().whole(1)
			s.ev.Said = append(s.ev.Said, chat.Said{Chat: 88, Session: "main.telegram.bot.88", What: chat.Message, ID: 1, Marker: mk(8)})
			s.stands("You said: " + mk(8))
			return s
		}()},
		{"a word to a stranger", judge.Wrong, "where nobody else has", func() *script {
			s := newScript().whole(1)
			s.ev.Shown[99] = []faketelegram.Message{{ID: 1, Chat: 99, Text: "Hello"}}
			return s
		}()},
		{"repeat that does not say so", judge.Wrong, "does not say so", upto(1).lost(ref(1, 1, 0), answer(1), false).part(ref(1, 2, 0), answer(1), true, false)},
		{"says that it is a repeat", judge.Wrong, "is none", upto(1).part(ref(1, 1, 0), marked+answer(1), false, false)},
		{"two repeats without a mark", judge.Wrong, "stands in the chat again", upto(1).lost(ref(1, 1, 0), answer(1), false).lost(ref(1, 2, 0), answer(1), true).
			part(ref(1, 3, 0), marked+answer(1), true, false)},
		{"a readable update kept aside", judge.Wrong, "can be read was kept aside", newScript().whole(1).kept(words(1))},
		{"a draft left", judge.Wrong, "was never made an answer", func() *script {
			s := newScript().wrote(1).received(1).add("", deliveryv1.Drafting{Turn: "x"})
			s.add("", deliveryv1.Drafted{Turn: "x", Receipt: s.stands("You said: ")})
			return s.completed(1, answer(1)).part(ref(1, 1, 0), answer(1), false, false)
		}()},
		{"called while held", judge.Wrong, "before it was to be tried again", newScript().called(0, time.Second, "Too Many Requests: retry after 3").called(3*time.Second, 0, "")},
		{"limits", judge.Wrong, "2 messages were more than the limits allow a group", report(func(r *faketelegram.Report) { r.Violations.Group = 2 })},
		{"limit of a chat", judge.Wrong, "private chat", report(func(r *faketelegram.Report) { r.Violations.Chat = 1 })},
		{"too soon after a restart", judge.Wrong, "message 101 came 400ms after message 100, with a kill between them", func() *script {
			s := report(func(r *faketelegram.Report) { r.Violations.Chat = 1 }).whole(2)
			s.ev.Shown[room][0].At, s.ev.Shown[room][1].At = epoch, epoch.Add(400*time.Millisecond)
			s.ev.Kills = []time.Time{epoch.Add(time.Millisecond)}
			return s
		}()},
		{"limit over all", judge.Wrong, "allow the bot", report(func(r *faketelegram.Report) { r.Violations.Overall = 1 })},
		{"limit of edits", judge.Wrong, "edits came sooner", report(func(r *faketelegram.Report) { r.Violations.Edit = 1 })},
		{"held", judge.Wrong, "that was held", report(func(r *faketelegram.Report) { r.Violations.Held = 1 })},
		{"too many", judge.Wrong, "exceeded the limits", report(func(r *faketelegram.Report) { r.TooMany = 1 })},
		{"two polls", judge.Wrong, "while another one waited", report(func(r *faketelegram.Report) { r.Overlaps = 1 })},
		{"a poll ended by another", judge.Wrong, "ended by another one", report(func(r *faketelegram.Report) { r.Conflicts = 1 })},
		{"deleted", judge.Wrong, "were deleted", report(func(r *faketelegram.Report) { r.Deletes = 1 })},
		{"refused", judge.Wrong, "4 calls were refused: Bad Request: strict", report(func(r *faketelegram.Report) { r.Refused = map[string]int{"Bad Request: strict": 4} })},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := chat.Judge(c.run.ev)
			if !slices.ContainsFunc(v.Violations, func(x judge.Violation) bool { return x.Kind == c.want && strings.Contains(x.Text, c.text) }) {
				t.Errorf("no violation %q with %q in %+v", c.want, c.text, v.Violations)
			}
		})
	}
}

func report(change func(*faketelegram.Report)) *script {
	s := newScript().whole(1)
	change(&s.ev.Report)
	return s
}
