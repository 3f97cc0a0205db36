package envelope_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
)

func TestHeaderOf(t *testing.T) {
	e := envelope.Event{
		ID: "e1", Session: "a.b.c.d", Prev: 7, Source: "intake/W1",
		Time: time.Date(2026, 9, 18, 12, 0, 0, 500, time.FixedZone("", 7200)), Body: messagev1.Received{},
	}
	want := map[string]string{
		"ce-id": "e1", "ce-type": "message.received.v1", "ce-source": "intake/W1", "ce-specversion": "1.0",
		"ce-time": "2026-09-18T10:00:00.0000005Z", "jc-prev": "7",
	}
	check := func() {
		t.Helper()
		h := envelope.HeaderOf(e)
		if len(h) != len(want) {
			t.Errorf("%v has not just %v", h, want)
		}
		for name, v := range want {
			if h.Get(name) != v || len(h[name]) != 1 {
				t.Errorf("%s is %q, want %q", name, h[name], v)
			}
		}
	}
	check()
	e.Cause, e.Trace, e.Key = "e0", "00-1-2-01", "line\r\nend "
	want["jc-cause"], want["traceparent"], want["jc-key"] = "e0", "00-1-2-01", "line%0D%0Aend%20"
	check()
}

// The values lie in one array; a caller that adds to one must not write into the next.
func TestHeaderValuesAreApart(t *testing.T) {
	h := envelope.HeaderOf(envelope.Event{ID: "e1", Source: "s", Body: messagev1.Received{}})
	h["ce-id"] = append(h["ce-id"], "other")
	if got := h.Get("ce-type"); got != "message.received.v1" {
		t.Fatalf("ce-type became %q", got)
	}
	if got := (envelope.Header{"ce-id": nil}).Get("ce-id"); got != "" {
		t.Fatalf("an empty list gives %q", got)
	}
}

func TestUnescapeValue(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "plain": "plain", "a%20b": "a b", "%e2%82%ac": "€", "100%": "100%", "%4": "%4", "%zz": "%zz", "%+1": "%+1", "%25%": "%%",
	} {
		if got := envelope.UnescapeValue(in); got != want {
			t.Errorf("UnescapeValue(%q) = %q, want %q", in, got, want)
		}
	}
}

// The example of the CloudEvents NATS binding, section 3.1.3.2.
func TestEscapeValueOfTheBinding(t *testing.T) {
	if got := envelope.EscapeValue("Euro € 😀"); got != "Euro%20%E2%82%AC%20%F0%9F%98%80" {
		t.Fatal(got)
	}
}

func FuzzEscapeValue(f *testing.F) {
	for _, s := range []string{"", "plain", " trimmed ", "a\r\njc-prev: 1", "100%", "%41", `"quoted"`, "\xff", "ü"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		v := envelope.EscapeValue(s)
		for i := range len(v) {
			if v[i] <= ' ' || v[i] >= 0x7f {
				t.Fatalf("%q holds byte %#x", v, v[i])
			}
		}
		if back := envelope.UnescapeValue(v); back != s {
			t.Fatalf("%q came back as %q", s, back)
		}
	})
}

func TestKindOf(t *testing.T) {
	for in, want := range map[string]string{
		"turn.started.v1": "turn.started", "turn.started.v12": "turn.started", "turn.started": "turn.started",
		"approval.voided": "approval.voided", "approval.voided.v2": "approval.voided", "turn.started.v": "turn.started.v",
		"turn.started.v1x": "turn.started.v1x", "": "", ".v1": ".v1", "v1": "v1",
	} {
		if got := envelope.KindOf(in); got != want {
			t.Errorf("KindOf(%q) = %q, want %q", in, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		kind := rapid.StringMatching(`[a-z]{1,8}\.[a-z]{1,8}`).Draw(t, "kind")
		if got := envelope.KindOf(kind + rapid.StringMatching(`\.v[1-9][0-9]?`).Draw(t, "version")); got != kind {
			t.Fatalf("%q became %q", kind, got)
		}
	})
}
