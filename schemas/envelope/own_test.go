package envelope_test

import (
	"runtime"
	"strings"
	"testing"

	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

// TestEventsLetGoOfTheirHeaders: what came over the wire is one string with all headers in it. Who keeps an event must not keep that.
func TestEventsLetGoOfTheirHeaders(t *testing.T) {
	const events, block = 256, 64 << 10
	s, err := session.New("main", "http", "laptop", "42")
	if err != nil {
		t.Fatal(err)
	}
	e := envelope.Event{ID: "id", Session: s, Cause: "cause", Source: "turns/w", Key: "key", Trace: "trace", Rules: "r1", Body: turnv1.Completed{}}
	subj, h := e.Subject(), envelope.HeaderOf(e)
	received := func() (string, envelope.Header) {
		var b strings.Builder
		b.WriteString(subj)
		for _, v := range h {
			b.WriteString(v[0])
		}
		b.WriteString(strings.Repeat(" ", block))
		rest, parts := b.String(), make(envelope.Header, len(h))
		for name, v := range h {
			at := strings.Index(rest, v[0])
			parts[name] = []string{rest[at : at+len(v[0])]}
		}
		return rest[:len(subj)], parts
	}
	before := heap()
	kept := make([]envelope.Event, events)
	for i := range kept {
		subj, h := received()
		if kept[i], err = envelope.Decode(subj, h, nil, 1, noBody(e.Body)); err != nil {
			t.Fatal(err)
		}
	}
	if grown := heap() - before; grown > events*block/4 {
		t.Errorf("%d events keep %d bytes of the %d that their headers came with", events, grown, events*block)
	}
	if got := kept[events-1]; got.ID != e.ID || got.Cause != e.Cause || got.Source != e.Source || got.Key != e.Key || got.Trace != e.Trace || got.Rules != e.Rules {
		t.Errorf("decoded %+v", got)
	}
}

func heap() int {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}
