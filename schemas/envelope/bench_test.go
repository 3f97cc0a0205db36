package envelope_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/registry"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

// An event of the usual size, with every header but jc-key, as most events of a turn have it.
func benchEvent(b *testing.B) envelope.Event {
	b.Helper()
	id, err := session.New("main", "http", "laptop", "42")
	if err != nil {
		b.Fatal(err)
	}
	return envelope.Event{
		ID: "bC0m8sVqkq2nRzTQ1u5Z9e", Session: id, Cursor: 1201, Prev: 1198, Cause: "aC0m8sVqkq2nRzTQ1u5Z9e",
		Source: "turns/W7kq2nRz", Trace: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
		Time: time.Date(2026, 9, 18, 10, 20, 30, 123456789, time.UTC),
		Body: turnv1.Completed{
			Outcome: turnv1.Outcome{Turn: "aC0m8sVqkq2nRzTQ1u5Z9e/t", Round: 1, Attempt: 1, Model: "local/qwen3"},
			Answers: []string{"aC0m8sVqkq2nRzTQ1u5Z9e"}, Text: "Hello. What shall we do today?",
		},
	}
}

// noBody leaves the JSON out, so that the envelope's own cost shows.
func noBody(body envelope.Body) func(string, []byte) (envelope.Body, error) {
	return func(string, []byte) (envelope.Body, error) { return body, nil }
}

func BenchmarkEncode(b *testing.B) {
	e := benchEvent(b)
	b.Run("envelope", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = envelope.HeaderOf(e), e.Subject()
		}
	})
	b.Run("whole", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			_, _ = envelope.HeaderOf(e), e.Subject()
			if _, err := json.Marshal(e.Body); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	e := benchEvent(b)
	data, err := json.Marshal(e.Body)
	if err != nil {
		b.Fatal(err)
	}
	subj, h := e.Subject(), envelope.HeaderOf(e)
	for name, body := range map[string]func(string, []byte) (envelope.Body, error){
		"envelope": noBody(e.Body), "whole": registry.Decode,
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := envelope.Decode(subj, h, data, e.Cursor, body); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
