package delivery_test

import (
	"fmt"
	"testing"

	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/noticev1"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/outbox/delivery"
)

// TestKeysOfWhatWasSent: the last 256 are remembered, those of the outbox only, and of none but what had a key.
func TestKeysOfWhatWasSent(t *testing.T) {
	var s delivery.State
	sent := func(n int, key, service string) {
		e := envelope.Event{ID: fmt.Sprint("o", n), Session: home, Cursor: uint64(n), Key: key, Body: noticev1.Posted{Service: service, Text: "hi", By: "mcp:x"}}
		s = s.Apply(e)
	}
	for n := range 258 {
		sent(n+1, "k", "outbox")
		sent(1000+n, "", "outbox")
		sent(2000+n, "k", "turns")
	}
	sent(258, "k", "outbox") // again
	for id, want := range map[string]uint64{"o1": 0, "o2": 0, "o3": 3, "o258": 258, "o1065": 0, "o2065": 0} {
		if got, ok := s.Posted(id); got != want || ok != (want > 0) {
			t.Errorf("%s: %d, %t; want %d", id, got, ok, want)
		}
	}
}

// TestDeleted: until somebody writes again there is nothing that something could be sent to.
func TestDeleted(t *testing.T) {
	s := fold(noticev1.Posted{Service: "outbox", Text: "hi"}, turnv1.SessionDeleted{})
	if !s.Deleted || len(s.Queue) > 0 {
		t.Errorf("%+v", s)
	}
	s = s.Apply(event(3, "e3", completed("late")))
	if s = s.Apply(event(4, "e4", messagev1.Received{Text: "hello"})); s.Deleted {
		t.Errorf("%+v", s)
	}
}
