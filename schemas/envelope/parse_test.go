package envelope_test

import (
	"bytes"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/registry"
)

// TestParseLine: a line leads back to the event, and that to the same line.
func TestParseLine(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)
	for _, body := range []envelope.Body{
		messagev1.Received{From: messagev1.Sender{ID: "local"}, Text: "<b>\x1b & \u202e"},
		envelope.Unknown{Type: "x.y.v9", Data: []byte("{\"a\":\n1}")},
		envelope.Unknown{Type: "x.y.v9", Data: []byte("\n\xff")},
		envelope.Unknown{Type: "message.received.v1", Data: []byte("[]")},
	} {
		want := envelope.Event{ID: "m1", Session: "main.http.a.b", Cursor: 7, Prev: 3, Cause: "c", Rules: "r", Time: at, Body: body}
		line, err := envelope.LineOf(want)
		if err != nil {
			t.Fatal(err)
		}
		got, err := envelope.ParseLine(line, registry.Decode)
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		again, err := envelope.LineOf(got)
		if err != nil || !bytes.Equal(again, line) {
			t.Errorf("got  %s, %v\nwant %s", again, err, line)
		}
		if _, unknown := body.(envelope.Unknown); !unknown && !reflect.DeepEqual(got, want) {
			t.Errorf("got  %+v\nwant %+v", got, want)
		}
	}
}

func TestParseLineRefuses(t *testing.T) {
	for _, line := range []string{
		"", "[]", `{"cursor":-1}`, `{"session":"main.http.a.b","cursor":7,"type":"x.y.v1"}`, `{"session":"a","id":"m","cursor":7}`,
		`{"session":"main.http.a.b","id":"m","cursor":7,"prev":8}`, `{"session":"main.http.a.b","id":"m","cursor":7,"time":"now"}`,
	} {
		if got, err := envelope.ParseLine([]byte(line), registry.Decode); !errors.Is(err, envelope.ErrEnvelope) {
			t.Errorf("%s is %+v, %v", line, got, err)
		}
	}
}
