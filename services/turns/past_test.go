package turns

import (
	"strings"
	"testing"

	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/deliveryv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/fault"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

// TestFill: a past that nobody could fold in one piece is refused; what means nothing for a fold is no part of it.
func TestFill(t *testing.T) {
	event := func(cursor uint64, body envelope.Body) envelope.Event {
		return envelope.Event{ID: "e", Session: "main.http.a.b", Cursor: cursor, Body: body}
	}
	half := callv1.Completed{Content: strings.Repeat("x", maxPast/2)}
	past := []envelope.Event{
		event(1, half),
		event(2, deliveryv1.Sent{}),
		{Cursor: 3, Body: envelope.Unknown{}}, // no event, but a place in the chain
		event(4, envelope.Unknown{Type: "x.y.v1"}),
		event(5, half),
	}
	var b turnv1.Forked
	if err := fill(&b, past[:4], nil); err != nil || len(b.Events) != 2 {
		t.Errorf("%d events, %v", len(b.Events), err)
	}
	b = turnv1.Forked{}
	if err := fill(&b, past, nil); fault.KindOf(err) != fault.TooLarge || !strings.Contains(err.Error(), "16 MiB that a fork may take over: fork it at an earlier event") {
		t.Errorf("%v", err)
	}
}
