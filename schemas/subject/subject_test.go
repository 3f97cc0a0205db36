package subject_test

import (
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/subject"
)

const id = session.ID("main.telegram.mybot.12345") // of partition 37

// The names are stored: they can never change.
func TestNames(t *testing.T) {
	for got, want := range map[string]string{
		subject.OfEvent(id, "turn.started", ""):                 "ev.37.main.telegram.mybot.12345.turn.started",
		subject.OfEvent(id, "call.completed", "builtin"):        "ev.37.main.telegram.mybot.12345.call.completed.builtin",
		subject.OfEvent(id, "call.completed", "my server"):      "ev.37.main.telegram.mybot.12345.call.completed.my=20server",
		subject.OfEvent("a.b.c.a", "turn.started", ""):          "ev.06.a.b.c.a.turn.started",
		subject.OfSession(id):                                   "ev.37.main.telegram.mybot.12345.>",
		subject.TailOfSession(id):                               "tail.37.main.telegram.mybot.12345.>",
		subject.OfKind("turn.started"):                          "ev.*.*.*.*.*.turn.started",
		subject.OfKind("call.completed.*"):                      "ev.*.*.*.*.*.call.completed.*",
		subject.TailOfKind("turn.started"):                      "tail.*.*.*.*.*.turn.started",
		subject.Timer("outbox", id):                             "timer.outbox.main.telegram.mybot.12345",
		subject.TimersOf("outbox"):                              "timer.outbox.>",
		subject.Schedule("outbox", id):                          "schedule.outbox.main.telegram.mybot.12345",
		subject.SchedulesOf("outbox"):                           "schedule.outbox.>",
		subject.Live(id):                                        "live.main.telegram.mybot.12345",
		subject.Worker("turns", "W1"):                           "worker.turns.W1",
		subject.WorkersOf("turns"):                              "worker.turns.*",
		subject.Service("intake", "submit"):                     "svc.intake.submit",
		subject.JournalAll + " " + subject.TailAll:              "ev.> tail.>",
		subject.TimerAll + " " + subject.TimerStoreAll:          "timer.> schedule.>",
		subject.LiveAll + " " + subject.SystemAll:               "live.> sys.>",
		subject.Journal + subject.Timers + subject.Dead:         "EVTIMERSDEAD",
		subject.System + subject.Snap + subject.Blobs:           "SYSsnapblobs",
		subject.Catalog + subject.Settings:                      "catalogsettings",
		mustKind(t, "ev.37.main.telegram.mybot.12345.turn.a"):   "turn.a",
		mustKind(t, "ev.37.main.telegram.mybot.12345.call.b.x"): "call.b",
	} {
		if got != want {
			t.Errorf("%s was %s", got, want)
		}
	}
}

func mustKind(t *testing.T, subj string) string {
	t.Helper()
	e, err := subject.ParseEvent(subj)
	if err != nil {
		t.Error(err)
	}
	return e.Kind()
}

func TestParseEventRefuses(t *testing.T) {
	for _, subj := range []string{
		"",
		"ev",
		"tail.37.main.telegram.mybot.12345.turn.started",
		"ev.38.main.telegram.mybot.12345.turn.started",  // of another partition
		"ev.+6.a.b.c.a.turn.started",                    // a sign is not a digit
		"ev.6.a.b.c.a.turn.started",                     //
		"ev.006.a.b.c.a.turn.started",                   //
		"ev.37.main.telegram.mybot.12345.turn",          // no verb
		"ev.37.main.telegram.mybot.12345.turn.",         //
		"ev.37.main.telegram.mybot.12345.Turn.started",  //
		"ev.37.main.telegram.mybot.12345.turn.*",        //
		"ev.37.main.telegram.mybot.12345.call.done.",    // an empty suffix
		"ev.37.main.telegram.mybot.12345.call.done.=41", // not canonical
		"ev.37.main.telegram.mybot.12345.call.done.a.b", // too many tokens
		"ev.37.main.telegram.mybot.12345.call.done.>",   //
		"ev.37.main.telegram.mybot.=31.call.done",       //
	} {
		if e, err := subject.ParseEvent(subj); !errors.Is(err, subject.ErrSubject) {
			t.Errorf("ParseEvent(%q) = %+v, %v", subj, e, err)
		}
	}
}

func TestParseTail(t *testing.T) {
	e, err := subject.ParseTail("tail.37.main.telegram.mybot.12345.call.completed.my=20server")
	want := subject.Event{Session: id, Noun: "call", Verb: "completed", Suffix: "my server"}
	if err != nil || e != want {
		t.Fatalf("%+v, %v; want %+v", e, err, want)
	}
	if _, err := subject.ParseTail(subject.OfEvent(id, "turn.started", "")); !errors.Is(err, subject.ErrSubject) {
		t.Fatalf("a stored subject passed as a tail: %v", err)
	}
}

func TestParseTimerRefuses(t *testing.T) {
	for _, subj := range []string{
		"", "timer", "timer.", "timer.outbox", "timer.outbox.", "timer..a.b.c.d", "timer.*.a.b.c.d", "timer.outbox.a.b.c",
		"timer.outbox.a.b.c.d.e", "timer.outbox.a.b.c.*", "schedule.outbox.a.b.c.d", "timers.outbox.a.b.c.d",
	} {
		if service, s, err := subject.ParseTimer(subj); !errors.Is(err, subject.ErrTimer) {
			t.Errorf("ParseTimer(%q) = %q, %q, %v", subj, service, s, err)
		}
	}
}

func sessions(t *rapid.T) session.ID {
	part := rapid.StringN(1, 20, session.MaxToken/3)
	s, err := session.New(part.Draw(t, "agent"), part.Draw(t, "channel"), part.Draw(t, "account"), part.Draw(t, "peer"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestEventRoundTrip(t *testing.T) {
	word := rapid.StringMatching(`[a-z]{1,12}`)
	rapid.Check(t, func(t *rapid.T) {
		want := subject.Event{
			Session: sessions(t), Noun: word.Draw(t, "noun"), Verb: word.Draw(t, "verb"), Suffix: rapid.String().Draw(t, "suffix"),
		}
		subj := subject.OfEvent(want.Session, want.Kind(), want.Suffix)
		if got, err := subject.ParseEvent(subj); err != nil || got != want {
			t.Fatalf("ParseEvent(%q) = %+v, %v; want %+v", subj, got, err, want)
		}
		if prefix := strings.TrimSuffix(subject.OfSession(want.Session), ">"); !strings.HasPrefix(subj, prefix) {
			t.Fatalf("%q is not below %q", subj, prefix)
		}
		if got, err := subject.ParseTail("tail" + strings.TrimPrefix(subj, "ev")); err != nil || got != want {
			t.Fatalf("as a tail: %+v, %v; want %+v", got, err, want)
		}
	})
}

func TestTimerRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		service, s := rapid.StringMatching(`[a-z]{1,12}`).Draw(t, "service"), sessions(t)
		if gotService, got, err := subject.ParseTimer(subject.Timer(service, s)); err != nil || got != s || gotService != service {
			t.Fatalf("%q of %q came back as %q of %q, %v", s, service, got, gotService, err)
		}
	})
}

// ParseEvent accepts exactly what OfEvent builds.
func FuzzParseEvent(f *testing.F) {
	for _, s := range []string{
		"ev.37.main.telegram.mybot.12345.turn.started", "ev.06.a.b.c.a.call.completed.my=20server", "ev.+6.a.b.c.a.turn.started",
		"ev.06.a.b.c.a.call.completed.=FF", "ev.06.a.b.c.a.turn", "tail.06.a.b.c.a.turn.started", "........", "",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, subj string) {
		e, err := subject.ParseEvent(subj)
		if err != nil {
			if !errors.Is(err, subject.ErrSubject) {
				t.Fatalf("ParseEvent(%q): %v is no ErrSubject", subj, err)
			}
			return
		}
		if again := subject.OfEvent(e.Session, e.Kind(), e.Suffix); again != subj {
			t.Fatalf("%q parsed, but OfEvent builds %q", subj, again)
		}
	})
}

func FuzzOfEvent(f *testing.F) {
	f.Add("main", "telegram", "mybot", "12345", "builtin")
	f.Add("a.b", "*", ">", "=", "my server")
	f.Add("ü", "c", "d", "e", "")
	f.Fuzz(func(t *testing.T, agent, channel, account, peer, suffix string) {
		s, err := session.New(agent, channel, account, peer)
		if err != nil {
			return
		}
		want := subject.Event{Session: s, Noun: "call", Verb: "completed", Suffix: suffix}
		subj := subject.OfEvent(s, want.Kind(), suffix)
		if got, err := subject.ParseEvent(subj); err != nil || got != want {
			t.Fatalf("ParseEvent(%q) = %+v, %v; want %+v", subj, got, err, want)
		}
	})
}

// ParseTimer accepts exactly what Timer builds.
func FuzzParseTimer(f *testing.F) {
	for _, s := range []string{"timer.outbox.a.b.c.d", "timer.*.a.b.c.d", "timer.outbox.a.b.c", "timer..a.b.c.d", "timer", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, subj string) {
		service, s, err := subject.ParseTimer(subj)
		if err == nil && subject.Timer(service, s) != subj {
			t.Fatalf("%q parsed, but Timer builds %q", subj, subject.Timer(service, s))
		}
	})
}
