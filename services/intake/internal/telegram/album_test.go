package telegram

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/fake/faketelegram"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/services/intake/internal/wire"
)

// picture is said by Ann as a part of an album.
func picture(s *faketelegram.Server, album, text string) int {
	return s.Say("", faketelegram.Private(ann), ann, text, faketelegram.Album(album),
		faketelegram.Photo(faketelegram.Attachment{Data: []byte(jpeg + text)}))
}

// strict starts a Bot API that slows down polls which come too soon.
func strict(t *testing.T) *faketelegram.Server {
	t.Helper()
	s, err := faketelegram.Start(faketelegram.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// At the pace of a real bot, and with a server that slows down those who ask too often: the second part of an album comes after
// the answer that held the first, and is still a part of it.
func TestAlbumInTwoAnswers(t *testing.T) {
	t.Parallel()
	s, h := strict(t), newHouse()
	r := run(t, h, s.URL(), func(c *Config) { c.Pace = DefaultPace() })
	until(t, s, "a long poll", func(s *faketelegram.Server) bool { return s.Polling("") })
	sent := func(n int) {
		until(t, s, fmt.Sprint(n, " deliveries"), func(s *faketelegram.Server) bool { return s.Report().Sent >= n })
	}
	picture(s, "g1", "first")
	sent(1)
	picture(s, "g1", "second") // the next poll is to be its first chance
	sent(3)
	picture(s, "g1", "third")
	sent(6)
	got := h.waitFor(t, 1)
	confirmed(t, s)
	r.stop(t)
	if a := got[0]; a.Text != "first\nsecond\nthird" || len(a.Files) != 3 || len(h.texts("")) != 1 {
		t.Errorf("%d requests: %q with %d files", len(h.texts("")), a.Text, len(a.Files))
	}
	var last faketelegram.Call
	again := 0
	for _, c := range s.Calls() {
		if c.Method != "getUpdates" {
			continue
		}
		if seconds, _ := strconv.Atoi(c.Params["timeout"]); last.Method != "" && c.Params["offset"] == last.Params["offset"] {
			again++
			if gap := c.At.Sub(last.At); gap < time.Second/2 || gap < 3*time.Second && seconds < 3 {
				t.Errorf("the same offset again after %v, with %d s: the server slows that down", gap, seconds)
			}
			if seconds < 50 && c.Took > time.Second/2 {
				t.Errorf("a poll while something is not done took %v", c.Took)
			}
		}
		last = c
	}
	if again < 3 {
		t.Errorf("%d polls while the album waits", again)
	}
}

// The window forgets what is at work when updates of old numbers come; the server sends it again. An album that waits has each of
// its messages once.
func TestAlbumComesAgain(t *testing.T) {
	s, h := fake(t, faketelegram.Options{}), newHouse()
	run(t, h, s.URL(), func(c *Config) { c.Pace.Album = 300 * time.Millisecond })
	s.Say("", faketelegram.Private(bob), bob, "before")
	h.waitFor(t, 1)
	confirmed(t, s)
	picture(s, "g1", "first")
	picture(s, "g1", "second")
	until(t, s, "the album is sent", func(s *faketelegram.Server) bool { return s.Report().Sent >= 3 })
	for range 3 {
		sent := s.Report().Sent
		s.Replay("", 1)
		until(t, s, "it is sent again", func(s *faketelegram.Server) bool { return s.Report().Sent >= sent+3 })
	}
	got := h.waitFor(t, 2)
	confirmed(t, s)
	if a := got[1]; a.Text != "first\nsecond" || len(a.Files) != 2 || len(h.texts("")) != 2 {
		t.Errorf("%d requests: %q with %d files", len(h.texts("")), a.Text, len(a.Files))
	}
	files := 0
	for _, c := range s.Calls() {
		if c.Method == "getFile" {
			files++
		}
	}
	if files != 2 {
		t.Errorf("%d files are fetched", files)
	}
}

// A backlog is taken in without any wait: those for the next part of an album and for the next poll are an hour here. The offset
// keeps up, so that a kill brings little again.
func TestBacklogWithAlbums(t *testing.T) {
	s, h := strict(t), newHouse()
	const updates, every = 5000, 20
	requests := 0
	for i := 0; i < updates; i++ {
		requests++
		u := faketelegram.User{ID: int64(2000 + i%50), FirstName: "U"}
		if i%every != 0 || i > updates-200 { // nobody is in a hurry at the end
			s.Say("", faketelegram.Private(u), u, fmt.Sprint(i))
			continue
		}
		for part := range 3 {
			s.Say("", faketelegram.Private(u), u, fmt.Sprint("part ", part), faketelegram.Album(fmt.Sprint("g", i)),
				faketelegram.Photo(faketelegram.Attachment{Data: []byte(jpeg)}))
		}
		i += 2
	}
	run(t, h, s.URL(), func(c *Config) { c.Pace.Album, c.Pace.Short = time.Hour, time.Hour })
	for _, r := range h.waitFor(t, requests) {
		if want := map[bool]int{true: 3}[string(r.Text) == "part 0\npart 1\npart 2"]; len(r.Files) != want {
			t.Errorf("%q with %d files", r.Text, len(r.Files))
		}
	}
	confirmed(t, s)
	if got := s.Report(); got.Polls > 65 || got.Sent > updates*115/100 {
		t.Errorf("%d polls, %d deliveries", got.Polls, got.Sent)
	}
}

// An album with another chat's update between its parts is one message. While that update is not done no part of the album is
// confirmed, or a process that dies then would find the rest alone.
func TestAlbum(t *testing.T) {
	s, h := fake(t, faketelegram.Options{}), newHouse()
	h.submit = func(ctx context.Context, r wire.Request) error {
		if r.Session == annSession {
			return nil
		}
		<-ctx.Done()
		return fault.New(fault.Timeout, "stopped")
	}
	picture(s, "g1", "first")
	picture(s, "g1", "")
	s.Say("", faketelegram.Private(bob), bob, "between")
	picture(s, "g1", "third")
	r := run(t, h, s.URL())
	h.waitFor(t, 1)
	polls := s.Report().Polls
	until(t, s, "more polls", func(s *faketelegram.Server) bool { return s.Report().Polls >= polls+3 })
	r.stop(t)
	if n := s.Report().Confirmed; n != 0 {
		t.Fatalf("%d updates are confirmed", n)
	}
	h.submit = nil
	run(t, h, s.URL())
	got := h.waitFor(t, 2)
	confirmed(t, s)
	if a := got[0]; a.Text != "first\nthird" || len(a.Files) != 3 || a.Key != "tg.123456789."+a.Native {
		t.Errorf("%q with %d files, key %s", a.Text, len(a.Files), a.Key)
	}
	if n := len(h.texts("")); n != 2 {
		t.Errorf("%d requests", n)
	}
}

// The process dies between two parts of an album that came far from each other: all of it comes again, and the second part is not
// taken for what is in the journal already.
func TestLateAlbum(t *testing.T) {
	s, h := fake(t, faketelegram.Options{}), newHouse()
	picture(s, "g1", "first")
	picture(s, "g1", "second")
	stop := make(chan struct{})
	h.submit = func(ctx context.Context, r wire.Request) error { // the first part is taken; nothing is confirmed before the end
		select {
		case <-stop:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		default:
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		sid := session.ID(r.Session)
		h.requests = append(h.requests, r)
		h.known[string(sid)+" "+r.Key] = len(h.requests)
		h.change()
		return fault.New(fault.Timeout, "nobody knows whether it was taken")
	}
	r := run(t, h, s.URL())
	h.waitFor(t, 1)
	r.stop(t)
	close(stop)
	third := picture(s, "g1", "third")
	picture(s, "g1", "fourth")
	run(t, h, s.URL())
	got := h.waitFor(t, 2)
	confirmed(t, s)
	if a := got[len(got)-1]; a.Text != "third\nfourth" || len(a.Files) != 2 || a.Native != fmt.Sprint(third) || a.Key != "tg.123456789."+a.Native {
		t.Errorf("%q with %d files, key %s, native %s", a.Text, len(a.Files), a.Key, a.Native)
	}
}
