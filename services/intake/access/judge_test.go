package access

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/schemas/accessv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
)

const (
	ada, bob, eve = 101, 102, 103 // configured, granted, unknown
	fay           = 104           // granted, and sent away
	home, staff   = -1001, -1002  // groups: all members, and ada alone when the bot is meant
	other         = -1003
	freshCode     = "ABCDEFGH"
)

var (
	door   = accessv1.Door{Channel: "telegram", Account: "mybot"} //nolint:gochecknoglobals // a constant
	second = accessv1.Door{Channel: "telegram", Account: "other"} //nolint:gochecknoglobals // a constant
	start  = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)         //nolint:gochecknoglobals // a constant
)

// fold applies bodies, a minute apart.
func fold(bodies ...envelope.Body) (s State) {
	for i, b := range bodies {
		s = s.Apply(event(i, b))
	}
	return s
}

func event(i int, b envelope.Body) envelope.Event {
	return envelope.Event{
		Session: accessv1.Session, Cursor: uint64(10 + i), Key: fmt.Sprint("k", i), Time: start.Add(time.Duration(i) * time.Minute), Body: b,
	}
}

func who(user int64) string { return Identity("telegram", user) }

func asked(user int64, code string, expires time.Time) accessv1.Requested {
	return accessv1.Requested{Door: door, Who: who(user), Code: code, Expires: expires}
}

func granted(user int64) accessv1.Granted {
	return accessv1.Granted{Door: door, Who: who(user), By: "local"}
}

func policy(m Mode) Policy {
	return Policy{Mode: m, Allow: []int64{ada}, Groups: map[int64]Group{
		home: {}, staff: {RequireMention: true, Users: []int64{ada, bob}},
	}}
}

// TestMatrix holds every kind of attempt by everybody, everywhere, in every mode against the rules, told once more in the
// simplest way.
func TestMatrix(t *testing.T) {
	s := fold(granted(bob), granted(fay), accessv1.Revoked{Door: door, Who: who(fay), By: "local"})
	type person struct {
		name   string
		user   int64
		bot    bool
		sender int64
	}
	people := []person{
		{"ada", ada, false, 0},
		{"bob", bob, false, 0},
		{"eve", eve, false, 0},
		{"fay", fay, false, 0},
		{"bot", ada, true, 0},
		{"nobody", 0, false, 0},
		{"anonymous admin", 1087968824, true, home},
		{"channel with ada's number", ada, false, -200},
	}
	n := 0
	for _, mode := range []Mode{Pairing, Allowlist, Open, "", "pairng"} {
		for _, kind := range []Kind{Message, Edit, Reaction, Callback, Command} {
			for _, p := range people {
				for _, chatKind := range []string{"private", "group", "supergroup", "channel", "", "Private"} {
					for _, chat := range []int64{p.user, eve + 1000, home, staff, other} {
						for _, addressed := range []bool{false, true} {
							a := Attempt{
								Door: door, Kind: kind, Chat: chat, ChatKind: chatKind, User: p.user, Bot: p.bot, SenderChat: p.sender,
								Addressed: addressed, Code: freshCode, Now: start.Add(time.Hour),
							}
							want, n := Ignore, n+1
							known := p.name == "ada" || p.name == "bob"
							person := known || p.name == "eve" || p.name == "fay"
							switch {
							case chatKind == "private" && person && chat == p.user:
								switch {
								case mode == "" || mode == "pairng":
								case known || mode == Open:
									want = Allow
								case mode == Pairing:
									want = Pair
								}
							case chatKind != "group" && chatKind != "supergroup":
							case chat == home && (person || p.sender != 0):
								want = Allow
							case chat == staff && known && addressed:
								want = Allow
							}
							got := s.Judge(policy(mode), a)
							if got.Kind != want || got.Chat != chat || (got.Reason == "") != (want == Allow) ||
								(got.Detail == "") != (want != Pair) || (got.Request == nil) != (want != Pair) {
								t.Errorf("%d: %s %s by %s in %s %d, addressed %v: %+v, want %d", n, mode, kind, p.name, chatKind, chat, addressed, got, want)
							}
						}
					}
				}
			}
		}
	}
}

func TestPairing(t *testing.T) {
	at := func(user int64, now time.Time) Attempt {
		return Attempt{
			Door: door, Kind: Message, Key: "k9", Chat: user, ChatKind: "private", User: user, Name: " Eve\n\x1bAdams ", Code: freshCode, Now: now,
		}
	}
	end := start.Add(CodeLife)
	p := policy(Pairing)
	v := fold().Judge(p, at(eve, start))
	if v.Kind != Pair || !reflect.DeepEqual(v.Request, &accessv1.Requested{
		Door: door, Who: "telegram:103", Name: "Eve Adams", Code: freshCode, Expires: end,
	}) || !strings.Contains(v.Detail, "jetclaw pairing approve ABCDEFGH (good for 1 hour)") {
		t.Fatalf("%+v", v)
	}
	one := fold(asked(eve, "EEEEEEEE", end))
	full := fold(asked(1, "AAAAAAAA", end), asked(2, "BBBBBBBB", end), asked(3, "CCCCCCCC", end))
	for name, tc := range map[string]struct {
		s    State
		a    Attempt
		want Ruling
	}{
		"again within the hour":   {one, at(eve, end.Add(-1)), Ignore},
		"at the end of the hour":  {one, at(eve, end), Pair},
		"somebody else":           {one, at(bob, start), Pair},
		"three wait":              {full, at(eve, end.Add(-1)), Ignore},
		"three have waited":       {full, at(eve, end), Pair},
		"three wait elsewhere":    {full, func() Attempt { a := at(eve, start); a.Door = second; return a }(), Pair},
		"without a code":          {State{}, func() Attempt { a := at(eve, start); a.Code = ""; return a }(), Ignore},
		"with half a code":        {State{}, func() Attempt { a := at(eve, start); a.Code = "ABC"; return a }(), Ignore},
		"with letters not in use": {State{}, func() Attempt { a := at(eve, start); a.Code = "ABCDEFG0"; return a }(), Ignore},
		"with a code in use":      {fold(asked(1, freshCode, end)), at(eve, start), Ignore},
		"with a code of a person": {fold(asked(1, freshCode, end), granted(1)), at(eve, start), Ignore},
		"let in at another door":  {fold(granted(eve)), func() Attempt { a := at(eve, start); a.Door = second; return a }(), Pair},
		"sent away at this door":  {fold(granted(eve), accessv1.Revoked{Door: door, Who: who(eve)}), at(eve, start), Pair},
		"sent away at another":    {fold(granted(eve), accessv1.Revoked{Door: second, Who: who(eve)}), at(eve, start), Allow},
		"another channel's":       {fold(accessv1.Granted{Door: door, Who: "http:103"}), at(eve, start), Pair},
	} {
		if got := tc.s.Judge(p, tc.a); got.Kind != tc.want {
			t.Errorf("%s: %+v, want %d", name, got, tc.want)
		}
	}
	// The attempt that led to the request comes again: its sender has perhaps not been told.
	again := at(eve, start.Add(time.Minute))
	again.Key = "k0"
	if v := one.Judge(p, again); v.Kind != Tell || !strings.Contains(v.Detail, "approve EEEEEEEE ") || v.Request != nil {
		t.Errorf("%+v", v)
	}
	again.Key = ""
	if v := fold().Apply(envelope.Event{Body: asked(eve, "EEEEEEEE", end)}).Judge(p, again); v.Kind != Ignore {
		t.Errorf("%+v", v)
	}
}

func TestReasonsNameTheGroup(t *testing.T) {
	v := State{}.Judge(policy(Open), Attempt{Door: door, Chat: other, ChatKind: "supergroup", User: ada})
	if v.Kind != Ignore || v.Reason != "group -1003 is not listed" {
		t.Errorf("%+v", v)
	}
}

func TestMovedGroups(t *testing.T) {
	moved := func(d accessv1.Door, from, to int64) accessv1.Moved {
		return accessv1.Moved{Door: d, From: fmt.Sprint(from), To: fmt.Sprint(to)}
	}
	s := fold(moved(door, home, -2001), moved(door, -2001, -2002), moved(door, -2002, home), moved(door, other, -2002), moved(second, home, -2009),
		accessv1.Moved{Door: door, From: "home", To: "-5"}, accessv1.Moved{Door: door, From: "5", To: "-5"}, moved(door, -5, -5))
	if len(s.moves) != 3 {
		t.Fatalf("%+v", s.moves)
	}
	p := policy(Pairing)
	p.Groups[-2002] = Group{Users: []int64{ada}} // its own number comes first
	for _, tc := range []struct {
		chat, user, session int64
		want                Ruling
	}{
		{home, eve, home, Allow},
		{-2001, eve, home, Allow},
		{-2002, eve, home, Ignore},
		{-2002, ada, home, Allow},
		{-2009, eve, -2009, Ignore}, // moved at another door
		{-5, eve, -5, Ignore},
	} {
		v := s.Judge(p, Attempt{Door: door, Chat: tc.chat, ChatKind: "supergroup", User: tc.user})
		if v.Kind != tc.want || v.Chat != tc.session {
			t.Errorf("%d by %d: %+v, want %+v", tc.chat, tc.user, v, tc)
		}
	}
	for m, want := range map[accessv1.Moved]bool{
		moved(door, home, -2001): false, // known
		moved(door, home, -2003): true,
		moved(door, other, -9):   false, // not listed
		moved(door, -2002, -9):   true,
		moved(door, -2002, home): false, // a circle
		{From: "x", To: "-9"}:    false,
	} {
		if got := s.Moves(p, m); got != want {
			t.Errorf("%+v: %v", m, got)
		}
	}
}

func TestNames(t *testing.T) {
	for in, want := range map[string]string{
		"":                               "",
		" a \t b\n":                      "a b",
		"\x00\x1b[31m":                   "[31m",
		"a\xffb":                         "a\uFFFDb",
		strings.Repeat("ä", maxName):     strings.Repeat("ä", maxName),
		strings.Repeat("ä", maxName+1):   strings.Repeat("ä", maxName-1) + "…",
		strings.Repeat("a ", maxName*10): strings.Repeat("a ", maxName/2-1) + "a…",
	} {
		if got := cleanName(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestCodes(t *testing.T) {
	if len(Alphabet) != 32 || strings.ContainsAny(Alphabet, "0O1I") {
		t.Error(Alphabet)
	}
	for code, want := range map[string]bool{freshCode: true, "abcdefgh": false, "ABCDEFG": false, "ABCDEFGHJ": false, "ABCDEFG1": false, "": false, "ABCDEFÄ": false} {
		if IsCode(code) != want {
			t.Errorf("%q", code)
		}
	}
}
