package session_test

import (
	"errors"
	"hash/fnv"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/jetclaw/jetclaw/schemas/session"
)

func TestNew(t *testing.T) {
	long := strings.Repeat("x", session.MaxToken)
	for _, c := range []struct {
		parts [4]string
		want  session.ID
		err   error
	}{
		{parts: [4]string{"main", "telegram", "mybot", "12345"}, want: "main.telegram.mybot.12345"},
		{parts: [4]string{"main", "telegram", "mybot", "-100777_t42"}, want: "main.telegram.mybot.-100777_t42"},
		{parts: [4]string{"main", "http", "a.b", "*>"}, want: "main.http.a=2Eb.=2A=3E"},
		{parts: [4]string{"main", "http", "=", "ü"}, want: "main.http.=3D.=C3=BC"},
		{parts: [4]string{"main", "http", long, "1"}, want: session.ID("main.http." + long + ".1")},
		{parts: [4]string{"main", "http", long + "x", "1"}, err: session.ErrToken},
		{parts: [4]string{"main", "http", "", "1"}, err: session.ErrToken},
		{parts: [4]string{"main", "http", "a\xff", "1"}, err: session.ErrToken},
	} {
		got, err := session.New(c.parts[0], c.parts[1], c.parts[2], c.parts[3])
		if got != c.want || !errors.Is(err, c.err) {
			t.Errorf("New(%q) = %q, %v; want %q, %v", c.parts, got, err, c.want, c.err)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for in, want := range map[string]error{
		"":              session.ErrShape,
		"a.b.c":         session.ErrShape,
		"a.b.c.d.e":     session.ErrShape,
		"a.b..d":        session.ErrToken,
		"a.b.c.":        session.ErrToken,
		"a.b.*.d":       session.ErrToken,
		"a.b.c.>":       session.ErrToken,
		"a.b.c.d e":     session.ErrToken,
		"a.b.c.=41":     session.ErrToken, // "A" needs no escape
		"a.b.c.=c3=bc":  session.ErrToken, // upper case only
		"a.b.c.=2":      session.ErrToken,
		"a.b.c.=":       session.ErrToken,
		"a.b.c.=FF":     session.ErrToken, // not UTF-8
		"a.b.c.d\r\n":   session.ErrToken,
		"a.b.c.\x00":    session.ErrToken,
		"main.http.ü.1": session.ErrToken,

		"a.b.c." + strings.Repeat("d", session.MaxToken+1): session.ErrToken,
	} {
		if id, err := session.Parse(in); !errors.Is(err, want) || id != "" {
			t.Errorf("Parse(%q) = %q, %v; want %v", in, id, err, want)
		}
	}
}

// A malformed id cannot be made by New or Parse; its parts are empty instead of a panic.
func TestPartsOfMalformed(t *testing.T) {
	for _, id := range []session.ID{"", "main", "a.b", "a.b.c.=Z"} {
		if got := id.Peer(); got != "" {
			t.Errorf("%q.Peer() = %q", id, got)
		}
	}
}

// The partition is part of every stored subject: it can never change.
func TestPartitionIsFixed(t *testing.T) {
	for id, want := range map[session.ID]int{
		"main.telegram.mybot.12345":   37,
		"main.terminal.local.default": 44,
		"main.http.a=2Eb.=2A=3E":      14,
	} {
		if got := id.Partition(); got != want {
			t.Errorf("%s is in partition %d, was %d", id, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		id := session.ID(rapid.String().Draw(t, "id"))
		h := fnv.New32a()
		_, _ = h.Write([]byte(id))
		if got, want := id.Partition(), int(h.Sum32()%session.Partitions); got != want {
			t.Fatalf("%q: %d, fnv1a says %d", id, got, want)
		}
	})
}

func TestNewParse(t *testing.T) {
	part := rapid.StringN(1, 30, session.MaxToken/3)
	rapid.Check(t, func(t *rapid.T) {
		p := [4]string{part.Draw(t, "agent"), part.Draw(t, "channel"), part.Draw(t, "account"), part.Draw(t, "peer")}
		id, err := session.New(p[0], p[1], p[2], p[3])
		if err != nil {
			t.Fatal(err)
		}
		if got := [4]string{id.Agent(), id.Channel(), id.Account(), id.Peer()}; got != p {
			t.Fatalf("%s has the parts %q, not %q", id, got, p)
		}
		if again, err := session.Parse(id.String()); err != nil || again != id {
			t.Fatalf("Parse(%q) = %q, %v", id, again, err)
		}
	})
}

func FuzzEscape(f *testing.F) {
	for _, s := range []string{"", "plain-Token_09", "a.b", "=", "=41", "*", ">", " ", "ü", "\xff", "\r\n", "\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		token := session.Escape(s)
		if strings.ContainsAny(token, ".*> \t\r\n\x00") {
			t.Fatalf("Escape(%q) = %q is no single token", s, token)
		}
		if back, err := session.Unescape(token); err != nil || back != s {
			t.Fatalf("Unescape(%q) = %q, %v; want %q", token, back, err, s)
		}
	})
}

func FuzzUnescape(f *testing.F) {
	for _, s := range []string{"", "plain", "=2E", "=41", "=zz", "=", "=2", "a=2Eb", "=C3=BC", "=FF", "a.b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, token string) {
		raw, err := session.Unescape(token)
		if err != nil {
			if !errors.Is(err, session.ErrToken) {
				t.Fatalf("Unescape(%q): %v is no ErrToken", token, err)
			}
			return
		}
		if len(raw) > len(token) {
			t.Fatalf("Unescape(%q) grew to %q", token, raw)
		}
		if again, err := session.Unescape(session.Escape(raw)); err != nil || again != raw {
			t.Fatalf("%q became %q, %v", raw, again, err)
		}
	})
}

// Parse accepts exactly what New makes.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"main.telegram.mybot.12345", "a.b.c.=2E", "a.b.c.=41", "a.b.c.=FF", "a.b.c", "a.b.c.d.e", "...", "", "a.b.c.d=",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		id, err := session.Parse(s)
		if err != nil {
			return
		}
		for _, p := range []string{id.Agent(), id.Channel(), id.Account(), id.Peer()} {
			if p == "" || !utf8.ValidString(p) {
				t.Fatalf("%q has the part %q", s, p)
			}
		}
		again, err := session.New(id.Agent(), id.Channel(), id.Account(), id.Peer())
		if err != nil || again != id || again.String() != s {
			t.Fatalf("%q parsed, but New makes %q, %v", s, again, err)
		}
	})
}

func FuzzNew(f *testing.F) {
	f.Add("main", "telegram", "mybot", "12345")
	f.Add("a.b", "=", "ü", "\xff")
	f.Add("", "*", ">", " ")
	f.Fuzz(func(t *testing.T, agent, channel, account, peer string) {
		id, err := session.New(agent, channel, account, peer)
		if err != nil {
			return
		}
		if again, err := session.Parse(string(id)); err != nil || again != id {
			t.Fatalf("Parse(%q) = %q, %v", id, again, err)
		}
		if id.Agent() != agent || id.Channel() != channel || id.Account() != account || id.Peer() != peer {
			t.Fatalf("%q lost a part of %q", id, []string{agent, channel, account, peer})
		}
	})
}
