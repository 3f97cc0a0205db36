package intake

import (
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/jetclaw/jetclaw/bus/bustest"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
)

// BenchmarkSubmit compares the ways in with the bare append, all in one session and one process.
func BenchmarkSubmit(b *testing.B) {
	srv := bustest.New(b, Spec())
	h := DefaultHTTPConfig()
	h.Listen, h.Tokens = "127.0.0.1:0", map[string]string{"app": appToken}
	s, err := New(Config{Conn: srv.Connect(b, "intake"), HTTP: &h, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := b.Context(), make(chan error, 1)
	go func() { cancel <- s.Run(ctx) }()
	b.Cleanup(func() { // the context of b has ended by now
		if err := <-cancel; err != nil {
			b.Error(err)
		}
	})
	if err := s.Ready(ctx); err != nil {
		b.Fatal(err)
	}
	r := Request{Session: string(appSession), From: messagev1.Sender{ID: "local"}, Text: "hello"}
	b.Run("bare append", func(b *testing.B) {
		var last uint64
		b.ReportAllocs()
		for b.Loop() {
			last, err = s.journal.AppendFact(ctx, envelope.Event{Session: appSession, Body: messagev1.Received{Text: "hello"}}, last)
			if err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("key made here", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := s.Submit(ctx, r); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("key given", func(b *testing.B) {
		r, n := r, 0
		r.Session = "main.http.app.keys"
		b.ReportAllocs()
		for b.Loop() {
			n++
			r.Key = strconv.Itoa(b.N) + "-" + strconv.Itoa(n)
			if _, err := s.Submit(ctx, r); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("http", func(b *testing.B) {
		c := &http.Client{Transport: &http.Transport{}}
		defer c.CloseIdleConnections()
		b.ReportAllocs()
		for b.Loop() {
			req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+s.Addr()+"/v1/messages",
				strings.NewReader(`{"session":"default","text":"hello"}`))
			if err != nil {
				b.Fatal(err)
			}
			req.Header.Set("Authorization", "Bearer "+appToken)
			resp, err := c.Do(req)
			if err != nil {
				b.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, resp.Body)
			if _ = resp.Body.Close(); resp.StatusCode != http.StatusAccepted {
				b.Fatal(resp.Status)
			}
		}
	})
}
