package store

import (
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode/utf8"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/services/conversations/conversation"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func options(path string) Options { return Options{Path: path, Fold: 1, Now: time.Unix(1000, 0)} }

func open(t testing.TB, path string) *Store {
	t.Helper()
	s, _, err := Open(t.Context(), options(path))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func message(n int, text string) conversation.Message {
	return conversation.Message{ID: fmt.Sprint("m", n), Cursor: uint64(n), Time: time.Unix(int64(n), 5).UTC(), Role: conversation.User, Text: text}
}

// batch has one message and the row of its session.
func batch(n int, key int64, text string) Batch {
	m := message(n, text)
	return Batch{Cursor: m.Cursor, Event: m.ID, Changes: []Change{{Key: key, Message: &m}}, Sessions: []Session{{
		Key: key, ID: session.ID(fmt.Sprint("main.http.bot.s", key)), Label: "s", State: conversation.State{First: 1, Last: m.Cursor, LastID: m.ID, Events: n},
	}}}
}

func TestForeign(t *testing.T) {
	alter := func(query string) func(*testing.T, string) {
		return func(t *testing.T, path string) {
			db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath())
			if err != nil {
				t.Fatal(err)
			}
			_, err = db.ExecContext(t.Context(), query)
			if err = errors.Join(err, db.Close()); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, damage := range map[string]func(*testing.T, string){
		"older form":       alter("PRAGMA user_version = 0"),
		"newer form":       alter("PRAGMA user_version = 99"),
		"another's":        alter("PRAGMA application_id = 7"),
		"older fold":       alter("UPDATE meta SET fold = 0"),
		"no table":         alter("DROP TABLE meta"),
		"no session table": alter("DROP TABLE session"),
		"no row":           alter("DELETE FROM meta"),
		"garbage": func(t *testing.T, path string) {
			if err := os.WriteFile(path, []byte(strings.Repeat("x", 9000)), 0o600); err != nil {
				t.Fatal(err)
			}
		},
		"an old file": func(t *testing.T, path string) {
			if err := Remove(path); err != nil {
				t.Fatal(err)
			}
			alter("CREATE TABLE conversation (id TEXT)")(t, path)
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "sub dir?", "x.sqlite")
			s := open(t, path)
			if err := s.Write(batch(1, 1, "hi")); err != nil {
				t.Fatal(err)
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			damage(t, path)
			if s, _, err := Open(t.Context(), options(path)); !errors.Is(err, ErrForeign) {
				t.Errorf("opened: %v", err)
				if s != nil {
					_ = s.Close()
				}
			}
		})
	}
}

func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "index", "x.sqlite")
	s, begun, err := Open(t.Context(), options(path))
	if err != nil || !begun {
		t.Fatal(begun, err)
	}
	if err := s.Write(batch(1, 1, "hi")); err != nil {
		t.Fatal(err)
	}
	for _, p := range []string{path, path + "-wal"} {
		if info, err := os.Stat(p); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", p, info, err)
		}
	}
	if _, err := os.Stat(path + "-shm"); err == nil {
		t.Error("shared memory is used: the file is not locked")
	}
	if two, _, err := Open(t.Context(), options(path)); err == nil || errors.Is(err, ErrForeign) {
		t.Errorf("opened twice: %v, %v", two, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s, begun, err = Open(t.Context(), options(path))
	if err != nil || begun {
		t.Fatal(begun, err)
	}
	defer func() { _ = s.Close() }()
	want := Mark{Cursor: 1, Event: "m1", Begun: time.Unix(1000, 0).UTC(), Key: 1}
	if m, err := s.Mark(t.Context()); err != nil || m != want {
		t.Errorf("%+v, %v", m, err)
	}
}

// TestBatches: how events are cut into batches, and when words are indexed, makes no difference.
func TestBatches(t *testing.T) {
	dir := t.TempDir()
	files := 0
	rapid.Check(t, func(rt *rapid.T) {
		files += 2
		one, many := open(t, filepath.Join(dir, fmt.Sprint(files))), open(t, filepath.Join(dir, fmt.Sprint(files+1)))
		defer func() { _ = errors.Join(one.Close(), many.Close()) }()
		var all Batch
		write := func(s *Store, b Batch) {
			if err := s.Write(b); err != nil {
				rt.Fatal(err)
			}
		}
		alive := map[int64]Session{}
		for n := 1; n <= rapid.IntRange(1, 40).Draw(rt, "events"); n++ {
			key := int64(rapid.IntRange(1, 3).Draw(rt, "session"))
			text := rapid.SampledFrom([]string{"alpha beta", "beta gamma", "gamma alpha"}).Draw(rt, "text")
			b := batch(n, key, text)
			switch rapid.IntRange(0, 5).Draw(rt, "what") {
			case 0:
				b.Changes = []Change{{Key: key, Edited: fmt.Sprint("m", rapid.IntRange(1, n).Draw(rt, "of")), Text: text}}
			case 1:
				b.Changes, b.Sessions = []Change{{Key: key, Deleted: true}}, nil
			}
			delete(alive, key)
			for _, row := range b.Sessions {
				alive[key] = row
			}
			write(many, b)
			if rapid.Bool().Draw(rt, "index") {
				if err := many.index(t.Context()); err != nil {
					rt.Fatal(err)
				}
			}
			all.Cursor, all.Event, all.Changes = b.Cursor, b.Event, append(all.Changes, b.Changes...)
		}
		for _, row := range alive {
			all.Sessions = append(all.Sessions, row)
		}
		write(one, all)
		for _, query := range []string{"alpha", "beta", "gam"} {
			a, err := one.Search(t.Context(), SearchFilter{Query: query, Limit: 100})
			if err != nil {
				rt.Fatal(err)
			}
			b, err := many.Search(t.Context(), SearchFilter{Query: query, Limit: 100})
			if err != nil || !reflect.DeepEqual(a, b) {
				rt.Fatalf("%s: %+v\n%+v, %v", query, a, b, err)
			}
		}
		a, err := one.List(t.Context(), ListFilter{Limit: 100})
		if err != nil {
			rt.Fatal(err)
		}
		if b, err := many.List(t.Context(), ListFilter{Limit: 100}); err != nil || !reflect.DeepEqual(a, b) {
			rt.Fatalf("%+v\n%+v, %v", a, b, err)
		}
		for _, s := range []*Store{one, many} { // the index of words is what the texts say
			if _, err := s.db.ExecContext(t.Context(), "INSERT INTO words (words, rank) VALUES ('integrity-check', 1)"); err != nil {
				rt.Fatal(err)
			}
		}
	})
}

// TestReadsBesideWrites: questions are answered while batches are written, each from between two of them.
func TestReadsBesideWrites(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "x"))
	var wg sync.WaitGroup
	done := make(chan struct{})
	for range 3 {
		wg.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				rows, err := s.List(t.Context(), ListFilter{Limit: 10})
				if err != nil {
					t.Error(err)
					return
				}
				for _, row := range rows {
					list, _, err := s.Messages(t.Context(), Page{Key: row.Key, Limit: 200, Room: 1 << 20})
					if err != nil || len(list) < row.State.Events {
						t.Errorf("%d messages of %d, %v", len(list), row.State.Events, err)
					}
				}
				if _, err := s.Search(t.Context(), SearchFilter{Query: "word", Limit: 10}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for n := 1; n <= 150; n++ {
		if err := s.Write(batch(n, 1, "some word")); err != nil {
			t.Error(err)
		}
	}
	close(done)
	wg.Wait()
}

// TestExpression: whatever a person types is text.
func TestExpression(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "x"))
	if err := s.Write(batch(1, 1, "some words of a text")); err != nil {
		t.Fatal(err)
	}
	for in, want := range map[string]string{
		"": "", " \t\n": "", `"`: "", "-": "", "word": `"word"*`, `a "b`: `"a" """b"*`, "a - b": `"a" "b"*`, "NEAR(a b)": `"NEAR(a" "b)"*`,
	} {
		if got := Expression(in); got != want {
			t.Errorf("%q: %s; want %s", in, got, want)
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		query := rapid.OneOf(rapid.String(), rapid.StringMatching(`[a-z"*(){}:^+ -]{0,20}`)).Draw(rt, "query")
		if _, err := s.Search(t.Context(), SearchFilter{Query: query, Limit: 10}); err != nil {
			rt.Fatalf("%q as %s: %v", query, Expression(query), err)
		}
	})
}

func TestSnippet(t *testing.T) {
	for _, c := range []struct{ text, query, want string }{
		{"a b c", "B", "a [b] c"},
		{"nothing", "x", "nothing"},
		{"Ein Café, zwei Cafes", "cafe", "Ein [Café], zwei [Cafes]"},
		{"cafe\u0301s", "CAFÉ", "[cafe\u0301s]"},
		{"cafes", "cafe x", "cafes"},
		{"NEAR(a, b)", `"a" -b`, "NEAR([a], [b])"},
		{strings.Repeat("ä", 50) + " b " + strings.Repeat("ö", 200), "b", "…" + strings.Repeat("ä", 30) + " [b] " + strings.Repeat("ö", 89) + "…"},
		{strings.Repeat("x", 1000), "x", "[" + strings.Repeat("x", 1000) + "]"},
		{strings.Repeat("y ", 1000), "x", strings.Repeat("y ", 120) + "…"},
	} {
		if got := snippet(c.text, tokensOf(c.query)); got != c.want {
			t.Errorf("%q in %.40q: %q; want %q", c.query, c.text, got, c.want)
		}
	}
	rapid.Check(t, func(rt *rapid.T) {
		text, query := rapid.String().Draw(rt, "text"), rapid.StringN(0, 3, -1).Draw(rt, "query")
		plain := strings.NewReplacer("[", "", "]", "", "…", "")
		if got := snippet(text, tokensOf(query)); !utf8.ValidString(got) || !strings.Contains(plain.Replace(text), plain.Replace(got)) {
			rt.Fatalf("%q in %q: %q", query, text, got)
		}
	})
}

// TestFull: what a transaction cannot be given room for changes nothing, and is no reason to build the file again.
func TestFull(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "x"))
	if err := s.Write(batch(1, 1, "hi")); err != nil {
		t.Fatal(err)
	}
	if _, err := s.db.ExecContext(t.Context(), "PRAGMA max_page_count = 1"); err != nil { // it becomes the present size
		t.Fatal(err)
	}
	err := s.Write(batch(2, 2, strings.Repeat("long ", 100_000)))
	if err == nil || errors.Is(err, ErrForeign) {
		t.Fatalf("written: %v", err)
	}
	if m, err := s.Mark(t.Context()); err != nil || m.Cursor != 1 {
		t.Errorf("%+v, %v", m, err)
	}
	if list, _, err := s.Messages(t.Context(), Page{Key: 1, Limit: 10, Room: 100}); err != nil || len(list) != 1 {
		t.Errorf("%+v, %v", list, err)
	}
}
