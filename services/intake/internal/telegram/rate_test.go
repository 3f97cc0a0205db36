package telegram

import (
	"fmt"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/loadtest/fake/faketelegram"
)

// BenchmarkUpdates is how many updates a bot takes in a second, from the Bot API to a desk that takes no time: 200 chats.
func BenchmarkUpdates(b *testing.B) {
	s, err := faketelegram.Start(faketelegram.Options{Limits: faketelegram.Limits{Off: true}})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	h := newHouse()
	c, err := New(Config{
		Bots: []Bot{{Account: "bot", Agent: "main", Token: faketelegram.DefaultToken, APIRoot: s.URL()}},
		Desk: h, Log: slogNone(),
	})
	if err != nil {
		b.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Run(b.Context()) }()
	b.Cleanup(func() {
		if err := <-ended; err != nil {
			b.Error(err)
		}
	})
	b.ReportAllocs()
	began, n := time.Now(), 0
	for b.Loop() {
		u := faketelegram.User{ID: int64(2000 + n%200), FirstName: "U"}
		s.Say("", faketelegram.Private(u), u, fmt.Sprint(n))
		n++
	}
	if err := s.Wait(b.Context(), func(s *faketelegram.Server) bool { return s.Report().Pending == 0 }); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(n)/time.Since(began).Seconds(), "updates/s")
}
