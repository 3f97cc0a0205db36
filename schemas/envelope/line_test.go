package envelope_test

import (
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
)

func TestLineOf(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)
	for _, tc := range []struct {
		body envelope.Body
		want string
	}{
		{messagev1.Control{From: messagev1.Sender{ID: "local"}, Verb: messagev1.Stop}, `"type":"control.requested.v1","id":"m1","cause":"","prev":3,"data":{"from":{"id":"local"},"verb":"stop"}}`},
		{envelope.Unknown{Type: "x.y.v9", Data: []byte("{\"a\":\n1}")}, `"type":"x.y.v9","id":"m1","cause":"","prev":3,"data":{"a":1}}`},
		{envelope.Unknown{Type: "x.y.v9", Data: []byte("\n\xff")}, `"type":"x.y.v9","id":"m1","cause":"","prev":3,"data":"\n\ufffd"}`},
	} {
		got, err := envelope.LineOf(envelope.Event{ID: "m1", Session: "main.http.a.b", Cursor: 7, Prev: 3, Time: at, Body: tc.body})
		want := `{"cursor":7,"time":"2026-01-02T03:04:05.000006Z","session":"main.http.a.b",` + tc.want
		if err != nil || string(got) != want {
			t.Errorf("got  %s, %v\nwant %s", got, err, want)
		}
	}
}
