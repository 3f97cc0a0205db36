package conversations

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/schemas/accessv1"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

func titles(l List) (all []string) {
	for _, c := range l.Conversations {
		all = append(all, c.Title)
	}
	return all
}

func texts(list []Message) (all []string) {
	for _, m := range list {
		all = append(all, m.Text)
	}
	return all
}

func TestListGetRead(t *testing.T) {
	h := newHouse(t)
	h.run()
	one, two := id(t, "telegram", "one"), id(t, "http", "two")
	h.append(accessv1.Session, accessv1.Granted{Who: "telegram:1"})
	h.turn(one, "Hello there\nsecond line", "Hi Anna")
	m, _ := h.turn(two, "Other", "Yes")
	h.append(one, messagev1.Received{From: messagev1.Sender{ID: "telegram:2"}, Text: "waits"})

	l := ask[List](h, listVerb, ListRequest{})
	if got := titles(l); !slices.Equal(got, []string{"Hello there", "Other"}) || l.Next != "" || l.Behind.Events != 0 || l.Behind.Last != 10 {
		t.Fatalf("list: %+v", l)
	}
	c := l.Conversations[0]
	if c.Session != one || c.Agent != "main" || c.Channel != "telegram" || c.Account != "bot" || c.Peer != "one" ||
		!slices.Equal(c.People, []string{"Anna", "telegram:2"}) || c.First != 2 || c.Last != 10 || c.Messages != 2 || c.Answers != 1 ||
		c.Turns != 1 || c.Events != 5 || c.Tokens != 15 || c.LastMessage == nil || c.LastMessage.Text != "waits" {
		t.Errorf("conversation: %+v", c)
	}
	if len(c.Open) != 1 || c.Open[0].Kind != "message" || c.Open[0].Cursor != 10 || len(l.Conversations[1].Open) != 0 {
		t.Errorf("open: %+v, %+v", c.Open, l.Conversations[1].Open)
	}
	for name, r := range map[string]ListRequest{
		"open": {Open: true}, "channel": {Channel: "telegram"}, "search": {Search: "HELLO"}, "person": {Search: "anna", Channel: "telegram"}, "limit": {Limit: 1},
	} {
		if got := titles(ask[List](h, listVerb, r)); !slices.Equal(got, []string{"Hello there"}) {
			t.Errorf("%s: %v", name, got)
		}
	}
	first := ask[List](h, listVerb, ListRequest{Limit: 1})
	if next := ask[List](h, listVerb, ListRequest{Limit: 1, Cursor: first.Next}); !slices.Equal(titles(next), []string{"Other"}) || next.Next != "" {
		t.Errorf("the second page: %+v", next)
	}
	if got := titles(ask[List](h, listVerb, ListRequest{Since: c.Updated})); !slices.Equal(got, []string{"Hello there"}) {
		t.Errorf("since: %v", got)
	}
	if got := ask[Got](h, getVerb, GetRequest{Session: two}); got.Conversation.Title != "Other" || got.Behind != l.Behind {
		t.Errorf("get: %+v", got)
	}

	r := ask[Read](h, readVerb, ReadRequest{Session: one})
	if !slices.Equal(texts(r.Messages), []string{"Hello there\nsecond line", "Hi Anna", "waits"}) || r.More {
		t.Errorf("read: %+v", r)
	}
	if a := r.Messages[1]; a.Role != "assistant" || a.From != "local/m" || a.Turn == "" || a.Cursor != 4 {
		t.Errorf("the answer: %+v", a)
	}
	for name, c := range map[string]struct {
		r    ReadRequest
		want []string
		more bool
	}{
		"last":    {ReadRequest{Limit: 1}, []string{"waits"}, true},
		"before":  {ReadRequest{Limit: 1, Before: 10}, []string{"Hi Anna"}, true},
		"first":   {ReadRequest{Before: 4}, []string{"Hello there\nsecond line"}, false},
		"after":   {ReadRequest{Limit: 1, After: 2}, []string{"Hi Anna"}, true},
		"between": {ReadRequest{After: 2, Before: 10}, []string{"Hi Anna"}, false},
		"beyond":  {ReadRequest{After: 10}, nil, false},
	} {
		c.r.Session = one
		if got := ask[Read](h, readVerb, c.r); !slices.Equal(texts(got.Messages), c.want) || got.More != c.more {
			t.Errorf("%s: %v, %v", name, texts(got.Messages), got.More)
		}
	}
	if got := ask[Read](h, readVerb, ReadRequest{Session: two, Message: m.ID, After: 99}); !slices.Equal(texts(got.Messages), []string{"Other"}) || got.More {
		t.Errorf("by its id: %+v", got)
	}
	for _, other := range []string{"no-such-id", m.ID} {
		if _, err := tryAsk[Read](h, readVerb, ReadRequest{Session: one, Message: other}); fault.KindOf(err) != fault.NotFound {
			t.Errorf("%s, which is not in the session: %v", other, err)
		}
	}
	h.append(two, messagev1.Edited{Message: m.ID, Text: "Changed"})
	if got := ask[Read](h, readVerb, ReadRequest{Session: two}).Messages[0]; got.Text != "Changed" || !got.Edited {
		t.Errorf("edited: %+v", got)
	}
	if st := h.whole(); st.Sessions != 2 || st.Messages != 5 || st.Path != h.path || st.Bytes == 0 || st.Since.IsZero() {
		t.Errorf("status: %+v", st)
	}
}

func TestSearch(t *testing.T) {
	h := newHouse(t)
	h.run()
	one, two := id(t, "telegram", "one"), id(t, "http", "two")
	m, _ := h.turn(one, `Where is the Café "Zentral"?`, "In the NEAR of the station")
	h.turn(two, "near and far", "nothing")
	for query, want := range map[string]int{
		"cafe": 1, "CAFÉ zentr": 1, `"zentral"?`: 1, "near": 2, "nea": 2, "ear": 0, "near far": 1, "NEAR(station, 2)": 0,
		"text: near": 0, "near OR nothing": 0, "station - near": 1, "near*": 2, "{near}": 2, "^near": 2, "near\x00far": 1,
	} {
		got := ask[Search](h, searchVerb, SearchRequest{Query: query})
		if len(got.Hits) != want {
			t.Errorf("%q: %+v", query, got.Hits)
		}
	}
	hits := ask[Search](h, searchVerb, SearchRequest{Query: "near", Limit: 1})
	if len(hits.Hits) != 1 || hits.Hits[0].Session != two || hits.Hits[0].Snippet != "[near] and far" || hits.Next == "" {
		t.Errorf("the first page: %+v", hits)
	}
	hits = ask[Search](h, searchVerb, SearchRequest{Query: "near", Limit: 1, Cursor: hits.Next})
	if len(hits.Hits) != 1 || hits.Hits[0].Session != one || hits.Hits[0].Message.Role != "assistant" || hits.Next != "" {
		t.Errorf("the second page: %+v", hits)
	}
	for name, r := range map[string]SearchRequest{"session": {Session: one}, "channel": {Channel: "telegram"}} {
		r.Query = "near"
		if got := ask[Search](h, searchVerb, r); len(got.Hits) != 1 || got.Hits[0].Session != one {
			t.Errorf("in one %s: %+v", name, got)
		}
	}
	h.append(one, messagev1.Edited{Message: m.ID, Text: "Where is the harbour?"})
	h.whole()
	if got := ask[Search](h, searchVerb, SearchRequest{Query: "cafe"}); len(got.Hits) != 0 {
		t.Errorf("the old text is found: %+v", got)
	}
	if got := ask[Search](h, searchVerb, SearchRequest{Query: "harbour"}); len(got.Hits) != 1 || !got.Hits[0].Message.Edited {
		t.Errorf("the new text: %+v", got)
	}
}

func TestRefusals(t *testing.T) {
	h := newHouse(t)
	h.run()
	h.turn(id(t, "telegram", "anna"), "hi", "hi")
	for name, c := range map[string]struct {
		verb string
		req  any
		kind fault.Kind
		says string
	}{
		"limit":     {listVerb, ListRequest{Limit: 501}, fault.Invalid, "from 1 to 500"},
		"negative":  {readVerb, ReadRequest{Limit: -1}, fault.Invalid, "from 1 to 200"},
		"cursor":    {listVerb, ListRequest{Cursor: "x"}, fault.Invalid, `"x" is no cursor`},
		"empty":     {searchVerb, SearchRequest{Query: " "}, fault.Invalid, "at least one word"},
		"no word":   {searchVerb, SearchRequest{Query: `"*-(`}, fault.Invalid, "at least one word"},
		"too long":  {searchVerb, SearchRequest{Query: strings.Repeat("a ", 501)}, fault.Invalid, "at most 1000"},
		"unnamed":   {getVerb, GetRequest{}, fault.Invalid, "name a session"},
		"unknown":   {getVerb, GetRequest{Session: "main.telegram.bot.ana"}, fault.NotFound, "did you mean main.telegram.bot.anna?"},
		"peer":      {readVerb, ReadRequest{Session: "anna"}, fault.NotFound, "did you mean main.telegram.bot.anna?"},
		"stranger":  {readVerb, ReadRequest{Session: "nobody-knows-this-one"}, fault.NotFound, "there is no conversation"},
		"in search": {searchVerb, SearchRequest{Query: "hi", Session: "main.http.bot.x"}, fault.NotFound, "there is no conversation"},
		"garbage":   {listVerb, "x", fault.Invalid, "cannot be read"},
	} {
		_, err := tryAsk[List](h, c.verb, c.req)
		if fault.KindOf(err) != c.kind || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %s, %v", name, fault.KindOf(err), err)
		}
	}
}

// TestLargeTexts: answers stay below what the bus carries.
func TestLargeTexts(t *testing.T) {
	h := newHouse(t)
	h.run()
	one := id(t, "http", "one")
	huge := strings.Repeat("\x01word ", 250<<10/6)
	for range 5 {
		h.turn(one, huge, huge)
	}
	r := ask[Read](h, readVerb, ReadRequest{Session: one, Limit: 200})
	if n := len(r.Messages); n < 1 || n >= 10 || !r.More || r.Messages[n-1].Cursor != 19 || r.Messages[0].Cut != 0 {
		t.Errorf("read %d messages, more %v, from %d, cut %d", len(r.Messages), r.More, r.Messages[0].Cursor, r.Messages[0].Cut)
	}
	r = ask[Read](h, readVerb, ReadRequest{Session: one, After: 1})
	if n := len(r.Messages); n < 1 || !r.More || r.Messages[0].Cursor != 3 {
		t.Errorf("read %d messages, more %v", len(r.Messages), r.More)
	}
	if s := ask[Search](h, searchVerb, SearchRequest{Query: "word", Limit: 100}); len(s.Hits) != 10 || s.Hits[0].Message.Cut == 0 {
		t.Errorf("%d hits", len(s.Hits))
	}
	bad := id(t, "http", "bad")
	h.turn(bad, strings.Repeat("\x01", 600<<10), "ok")
	r = ask[Read](h, readVerb, ReadRequest{Session: bad, Before: h.last[bad] - 1})
	if len(r.Messages) != 1 || r.Messages[0].Cut == 0 || r.Messages[0].Cut+len(r.Messages[0].Text) != 600<<10 {
		t.Errorf("a message that has no room: %d", len(r.Messages))
	}
	for i := range 600 {
		h.append(id(t, "http", fmt.Sprint("many", i)), messagev1.Received{Text: strings.Repeat("\x01", 1000)})
	}
	seen := 0
	for r := (ListRequest{Limit: 500}); ; {
		l := ask[List](h, listVerb, r)
		seen += len(l.Conversations)
		if r.Cursor = l.Next; l.Next == "" {
			break
		}
	}
	if seen != 602 {
		t.Errorf("%d conversations in all pages", seen)
	}
}

func TestRestart(t *testing.T) {
	h := newHouse(t)
	end := h.run()
	one := id(t, "http", "one")
	h.turn(one, "first", "1")
	h.whole()
	end()
	h.turn(one, "second", "2")
	h.run()
	r := ask[Read](h, readVerb, ReadRequest{Session: one})
	if !slices.Equal(texts(r.Messages), []string{"first", "1", "second", "2"}) || r.Behind.Events != 0 {
		t.Errorf("%+v", r)
	}
}

// TestDeleted: nothing of a session is left in the file or beside it.
func TestDeleted(t *testing.T) {
	for _, indexed := range []bool{false, true} {
		t.Run(fmt.Sprint("words indexed ", indexed), func(t *testing.T) {
			h := newHouse(t)
			end := h.run()
			one, two := id(t, "http", "one"), id(t, "http", "two")
			for i := range 20 {
				h.turn(one, fmt.Sprint("xyzzyplugh secretword", i), "quuxfrobnitz")
			}
			h.turn(two, "stays", "here")
			if indexed {
				ask[Search](h, searchVerb, SearchRequest{Query: "xyzzyplugh"})
			}
			h.whole()
			tombstone := h.append(one, turnv1.SessionDeleted{By: "cli"})
			if _, err := bus.PurgeSession(t.Context(), h.bus.Admin(), one, tombstone.Cursor); err != nil {
				t.Fatal(err)
			}
			if got := titles(ask[List](h, listVerb, ListRequest{})); !slices.Equal(got, []string{"stays"}) {
				t.Errorf("listed: %v", got)
			}
			if _, err := tryAsk[Got](h, getVerb, GetRequest{Session: one}); fault.KindOf(err) != fault.NotFound {
				t.Errorf("get: %v", err)
			}
			if got := ask[Search](h, searchVerb, SearchRequest{Query: "xyzzyplugh"}); len(got.Hits) != 0 {
				t.Errorf("found: %+v", got)
			}
			for _, p := range []string{h.path, h.path + "-wal"} {
				data, err := os.ReadFile(p)
				if err != nil {
					t.Fatal(err)
				}
				for _, word := range []string{"xyzzyplugh", "xyzzy", "secretword", "quuxfrobnitz", "main.http.bot.one"} {
					if bytes.Contains(data, []byte(word)) {
						t.Errorf("%s still has %q", filepath.Base(p), word)
					}
				}
			}
			h.turn(one, "again", "new")
			if c := ask[Got](h, getVerb, GetRequest{Session: one}).Conversation; c.Title != "again" || c.Messages != 1 || c.First <= tombstone.Cursor {
				t.Errorf("what came after: %+v", c)
			}
			end()
			h.run()
			if got := titles(ask[List](h, listVerb, ListRequest{})); !slices.Equal(got, []string{"again", "stays"}) {
				t.Errorf("after a restart: %v", got)
			}
		})
	}
}

// TestRebuilt: a file that cannot be gone on with is built again.
func TestRebuilt(t *testing.T) {
	write := func(data string) func(*testing.T, *house) {
		return func(t *testing.T, h *house) {
			if err := os.WriteFile(h.path, []byte(data), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, damage := range map[string]func(*testing.T, *house){
		"missing": func(t *testing.T, h *house) {
			if err := os.RemoveAll(filepath.Dir(h.path)); err != nil {
				t.Fatal(err)
			}
		},
		"garbage": write(strings.Repeat("garbage ", 1000)),
		"empty":   write(""),
		"truncated": func(t *testing.T, h *house) {
			if err := os.Truncate(h.path, 5000); err != nil {
				t.Fatal(err)
			}
		},
		"scribbled": func(t *testing.T, h *house) {
			data, err := os.ReadFile(h.path)
			if err != nil {
				t.Fatal(err)
			}
			for i := 4096; i < len(data); i++ {
				data[i] = byte(i * 7)
			}
			if err := os.WriteFile(h.path, data, 0o600); err != nil {
				t.Fatal(err)
			}
		},
		"other journal": func(_ *testing.T, h *house) {
			path := h.path
			*h = *newHouse(h.t)
			h.path = path
			h.turn(id(h.t, "http", "one"), "first", "1") // other ids under the same cursors
			h.turn(id(h.t, "http", "one"), "second", "2")
		},
		"shorter journal": func(_ *testing.T, h *house) {
			path := h.path
			*h = *newHouse(h.t)
			h.path = path
			h.turn(id(h.t, "http", "one"), "first", "1")
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHouse(t)
			h.n = 1000
			end := h.run()
			for i := range 50 {
				h.turn(id(t, "http", fmt.Sprint("old", i)), strings.Repeat("long ", 50), "x")
			}
			h.turn(id(t, "http", "one"), "first", "1")
			h.whole()
			end()
			damage(t, h)
			h.t = t
			h.run()
			var r Read
			var err error
			for range 100 { // a damage may show only when it is met
				if r, err = tryAsk[Read](h, readVerb, ReadRequest{Session: id(t, "http", "one")}); err == nil && r.Behind.Events == 0 {
					break
				}
			}
			if err != nil || len(r.Messages) == 0 || r.Messages[0].Text != "first" {
				t.Fatalf("%+v, %v", r, err)
			}
			st := h.whole()
			all := ask[List](h, listVerb, ListRequest{Limit: 500})
			if st.Sessions != len(all.Conversations) || strings.HasSuffix(name, "journal") != (st.Sessions == 1) {
				t.Errorf("%+v", st)
			}
		})
	}
}

// TestReindexed: a new index is built while events come and questions are asked, and is equal to the one that has grown.
func TestReindexed(t *testing.T) {
	h := newHouse(t)
	h.run()
	sessions := make([]session.ID, 40)
	for i := range sessions {
		sessions[i] = id(t, "http", fmt.Sprint("s", i))
	}
	for i := range 200 {
		h.turn(sessions[i%len(sessions)], fmt.Sprint("question ", i), fmt.Sprint("answer ", i))
	}
	grown := ask[List](h, listVerb, ListRequest{Limit: 500})
	before := h.whole()
	for range 3 {
		ask[Reindexed](h, reindexVerb, ReindexRequest{})
		for i := range 10 {
			h.turn(sessions[0], fmt.Sprint("meanwhile ", i), "ok")
			if l, err := tryAsk[List](h, listVerb, ListRequest{Limit: 500}); err != nil || len(l.Conversations) != len(sessions) {
				t.Fatalf("meanwhile: %d of %d, %v", len(l.Conversations), len(sessions), err)
			}
		}
		h.whole()
	}
	built := ask[List](h, listVerb, ListRequest{Limit: 500})
	if last := len(grown.Conversations) - 1; !reflect.DeepEqual(built.Conversations[1:], grown.Conversations[:last]) {
		t.Errorf("%+v\n%+v", built.Conversations[1:], grown.Conversations[:last])
	}
	if c := built.Conversations[0]; c.Session != sessions[0] || c.Messages != 35 || c.Answers != 35 {
		t.Errorf("%+v", c)
	}
	if st := ask[Status](h, statusVerb, StatusRequest{}); !st.Since.After(before.Since) {
		t.Errorf("begun %v, before %v", st.Since, before.Since)
	}
	if _, err := os.Stat(h.path + ".new"); !os.IsNotExist(err) {
		t.Errorf("what it was built as is left: %v", err)
	}
}

// TestBusAway: a bus that goes away is waited for.
func TestBusAway(t *testing.T) {
	h := newHouse(t)
	h.run()
	one := id(t, "http", "one")
	h.turn(one, "first", "1")
	h.whole()
	h.bus.Restart()
	h.turn(one, "second", "2")
	h.whole()
	if got := texts(ask[Read](h, readVerb, ReadRequest{Session: one}).Messages); !slices.Equal(got, []string{"first", "1", "second", "2"}) {
		t.Errorf("%v", got)
	}
}
