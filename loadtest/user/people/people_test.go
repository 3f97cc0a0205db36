package people

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/fake/faketelegram"
	"github.com/jetclaw/jetclaw/loadtest/judge/chat"
)

func TestPeopleCauseAsManyUpdatesAsTheyAreTo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fake := faketelegram.New(faketelegram.Options{})
		defer fake.Close()
		p, err := New(fake, "t1", 3, 20, 5)
		if err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		p.Write(t.Context(), 403, 10*time.Second)
		p.Wait()
		took := time.Since(began)
		if n := fake.Report().Updates; n != 403 || p.Done.Load() != 403 {
			t.Errorf("%d updates, %d counted, want 403", n, p.Done.Load())
		}
		if took < 5*time.Second || took > 30*time.Second {
			t.Errorf("they took %s, and 10 s were meant", took)
		}
		n := map[chat.What]int{}
		for _, s := range p.Told() {
			n[s.What]++
			if s.Chat < 0 != (s.Session < "main.telegram.bot.0") && s.What != chat.Malformed {
				t.Errorf("session %s of chat %d", s.Session, s.Chat)
			}
		}
		if n[chat.Message] < 200 || n[chat.Command] == 0 || n[chat.Edit] == 0 || n[chat.Malformed] == 0 {
			t.Errorf("said %v", n)
		}
		if len(p.Groups()) != 5 {
			t.Errorf("groups %v", p.Groups())
		}
	})
}

func TestThePeopleOfOneSeedSayTheSame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var said [2][]string
		for i := range said {
			fake := faketelegram.New(faketelegram.Options{})
			p, err := New(fake, "t1", 3, 1, 0)
			if err != nil {
				t.Fatal(err)
			}
			p.Write(t.Context(), 60, time.Minute)
			p.Wait()
			for _, s := range p.Told() {
				said[i] = append(said[i], s.Text)
			}
			fake.Close()
		}
		if strings.Join(said[0], "\n") != strings.Join(said[1], "\n") {
			t.Errorf("%q\n%q", said[0], said[1])
		}
	})
}
