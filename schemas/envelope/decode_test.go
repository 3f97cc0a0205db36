package envelope_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/registry"
	"github.com/jetclaw/jetclaw/schemas/subject"
)

type wire struct {
	subj   string
	h      envelope.Header
	data   []byte
	cursor uint64
}

func (w wire) decode() (envelope.Event, error) {
	return envelope.Decode(w.subj, w.h, w.data, w.cursor, registry.Decode)
}

func onWire(t *testing.T, e envelope.Event) wire {
	t.Helper()
	data, err := json.Marshal(e.Body)
	if err != nil {
		t.Fatal(err)
	}
	return wire{e.Subject(), envelope.HeaderOf(e), data, e.Cursor}
}

func result() envelope.Event {
	return envelope.Event{
		ID: "e2", Session: "main.telegram.mybot.12345", Cursor: 9, Prev: 7, Cause: "e1", Source: "mcp/W1",
		Time: time.Date(2026, 9, 18, 10, 0, 0, 0, time.UTC),
		Body: callv1.Completed{Executor: "files", Turn: "e1/t", Call: "c1", Outcome: callv1.OK, Content: "done"},
	}
}

func TestDecode(t *testing.T) {
	want := result()
	got, err := onWire(t, want).decode()
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Fatalf("%+v, %v; want %+v", got, err, want)
	}
}

// What cannot be folded into a session's chain is an error.
func TestDecodeRefusesBrokenEnvelopes(t *testing.T) {
	for name, spoil := range map[string]func(*wire){
		"foreign subject":   func(w *wire) { w.subj = "orders.new" },
		"tail":              func(w *wire) { w.subj = "tail" + strings.TrimPrefix(w.subj, "ev") },
		"other partition":   func(w *wire) { w.subj = strings.Replace(w.subj, ".37.", ".36.", 1) },
		"no headers":        func(w *wire) { w.h = nil },
		"no id":             func(w *wire) { delete(w.h, envelope.HeaderID) },
		"empty id":          func(w *wire) { w.h[envelope.HeaderID] = []string{""} },
		"names in capitals": func(w *wire) { w.h = envelope.Header{"Ce-Id": {"e2"}, "Jc-Prev": {"7"}} },
		"no prev":           func(w *wire) { delete(w.h, envelope.HeaderPrev) },
		"prev is no number": func(w *wire) { w.h[envelope.HeaderPrev] = []string{"7a"} },
		"negative prev":     func(w *wire) { w.h[envelope.HeaderPrev] = []string{"-1"} },
		"prev of itself":    func(w *wire) { w.h[envelope.HeaderPrev] = []string{"9"} },
		"prev of later":     func(w *wire) { w.h[envelope.HeaderPrev] = []string{"10"} },
		"prev overflows":    func(w *wire) { w.h[envelope.HeaderPrev] = []string{"18446744073709551616"} },
	} {
		w := onWire(t, result())
		spoil(&w)
		if e, err := w.decode(); !errors.Is(err, envelope.ErrEnvelope) {
			t.Errorf("%s: %+v, %v", name, e, err)
		}
	}
}

// With a place in the chain an event is never an error: the chain goes on over what today's code cannot read.
func TestDecodeKeepsTheUnknown(t *testing.T) {
	set := func(name, v string) func(*wire) { return func(w *wire) { w.h[name] = []string{v} } }
	for name, spoil := range map[string]func(*wire){
		"a later version":        set(envelope.HeaderType, "call.completed.v9"),
		"no type":                set(envelope.HeaderType, ""),
		"no version":             set(envelope.HeaderType, "call.completed"),
		"type of other subject":  set(envelope.HeaderType, "turn.started.v1"),
		"no time":                set(envelope.HeaderTime, ""),
		"time is no time":        set(envelope.HeaderTime, "yesterday"),
		"no body":                func(w *wire) { w.data = nil },
		"body is no JSON":        func(w *wire) { w.data = []byte("\xff{") },
		"body of another shape":  func(w *wire) { w.data = []byte(`{"executor":"files","call":7}`) },
		"body of other executor": func(w *wire) { w.data = []byte(`{"executor":"shell"}`) },
		"suffix is missing":      func(w *wire) { w.subj = strings.TrimSuffix(w.subj, ".files") },
		"suffix too many": func(w *wire) {
			w.subj, w.data = denied(w.subj), []byte(`{}`)
			set(envelope.HeaderType, "call.denied.v1")(w)
		},
	} {
		w := onWire(t, result())
		spoil(&w)
		e, err := w.decode()
		u, ok := e.Body.(envelope.Unknown)
		switch {
		case err != nil || !ok:
			t.Errorf("%s: %+v, %v; want Unknown", name, e.Body, err)
		case u.Err == nil || !bytes.Equal(u.Data, w.data) || u.EventType() != w.h.Get(envelope.HeaderType):
			t.Errorf("%s: Unknown lost something: %+v", name, u)
		case e.ID != "e2" || e.Cursor != 9 || e.Prev != 7 || e.Session != "main.telegram.mybot.12345":
			t.Errorf("%s: the chain is broken: %+v", name, e)
		}
	}
}

func denied(subj string) string { return strings.Replace(subj, ".call.completed.", ".call.denied.", 1) }

func TestTimeIsUTC(t *testing.T) {
	w := onWire(t, result())
	w.h[envelope.HeaderTime] = []string{"2026-09-18T12:00:00+02:00"}
	if e, err := w.decode(); err != nil || e.Time != result().Time {
		t.Fatalf("%v, %v; want %v", e.Time, err, result().Time)
	}
}

// Whatever is on the wire, Decode neither panics nor makes an event that breaks the promises of Event.
func FuzzDecode(f *testing.F) {
	w := wire{subj: "ev.37.main.telegram.mybot.12345.call.completed.files", cursor: 9}
	ok := `{"executor":"files","turn":"e1/t","call":"c1","outcome":"ok","content":""}`
	f.Add(w.subj, "e2", "call.completed.v1", "7", "2026-09-18T10:00:00Z", "k%20", []byte(ok), w.cursor)
	f.Add(w.subj, "e2", "call.completed.v2", "7", "2026-09-18T10:00:00Z", "", []byte("{"), w.cursor)
	f.Add("ev.>", "", "", "", "", "%", []byte(nil), uint64(0))
	f.Fuzz(func(t *testing.T, subj, id, typ, prev, at, key string, data []byte, cursor uint64) {
		h := envelope.Header{
			envelope.HeaderID: {id}, envelope.HeaderType: {typ}, envelope.HeaderPrev: {prev}, envelope.HeaderTime: {at}, envelope.HeaderKey: {key},
		}
		e, err := envelope.Decode(subj, h, data, cursor, registry.Decode)
		if err != nil {
			if !errors.Is(err, envelope.ErrEnvelope) {
				t.Fatalf("%v is no ErrEnvelope", err)
			}
			return
		}
		if s, err := subject.ParseEvent(subj); err != nil || s.Session != e.Session {
			t.Fatalf("%q gave session %q", subj, e.Session)
		}
		if e.ID == "" || e.Cursor != cursor || e.Prev >= e.Cursor || e.Body == nil || e.Time.Location() != time.UTC {
			t.Fatalf("accepted %+v", e)
		}
		if _, unknown := e.Body.(envelope.Unknown); unknown {
			return
		}
		if e.Subject() != subj {
			t.Fatalf("stored as %q, belongs to %q", subj, e.Subject())
		}
		again := envelope.HeaderOf(e)
		back, err := envelope.Decode(subj, again, data, cursor, registry.Decode)
		if err != nil || back.ID != e.ID || back.Key != e.Key || !back.Time.Equal(e.Time) || !maps.EqualFunc(again, envelope.HeaderOf(back), same) {
			t.Fatalf("%+v came back as %+v, %v", e, back, err)
		}
	})
}

func same(a, b []string) bool { return len(a) == 1 && len(b) == 1 && a[0] == b[0] }
