package recheck_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/bus/recheck"
	"github.com/jetclaw/jetclaw/schemas/deliveryv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/machine"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/session"
)

const here session.ID = "main.terminal.local.default"

var epoch = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) //nolint:gochecknoglobals // a constant

// toy pushes one message after the other: started claims, sent ends it; an attempt whose worker is gone is unknown.
type toy struct {
	queue []string // ids of messages; the first may be claimed
	last  string   // id of the last event about the first
	claim uint64
	until time.Time
}

type rules struct {
	Limit time.Duration `json:"limit"`
}

func (s toy) apply(ev envelope.Event) toy {
	switch b := ev.Body.(type) {
	case messagev1.Received:
		if len(s.queue) == 0 {
			s.last = ev.ID
		}
		s.queue = append(slices.Clip(s.queue), ev.ID)
	case deliveryv1.Started:
		s.claim, s.until, s.last = ev.Cursor, b.Deadline, ev.ID
	case deliveryv1.Sent, deliveryv1.Unknown:
		s.queue, s.claim, s.last = s.queue[1:], 0, ""
		if len(s.queue) > 0 {
			s.last = s.queue[0]
		}
	}
	return s
}

func (s toy) next(v machine.View, r rules) machine.Step {
	switch {
	case len(s.queue) == 0:
		return nil
	case s.claim == 0:
		return machine.Append{Cause: s.last, Claim: true, Body: deliveryv1.Started{
			Ref: deliveryv1.Ref{Delivery: s.queue[0], Attempt: 1}, Worker: v.Worker, Deadline: v.Now.Add(r.Limit),
		}}
	case v.Mine == s.claim:
		return machine.Perform{Claim: s.claim, Deadline: s.until}
	case v.Gone == s.claim:
		return machine.Append{Cause: s.last, Body: deliveryv1.Unknown{Ref: deliveryv1.Ref{Delivery: s.queue[0], Attempt: 1}}}
	}
	return machine.Held{Claim: s.claim, Worker: "w1", Deadline: s.until}
}

func toyMachine(t *testing.T, known map[string]string) recheck.Machine {
	t.Helper()
	m, err := recheck.New(recheck.Spec[toy, rules]{
		Service: "toy", Kinds: []string{"delivery.started", "delivery.sent", "delivery.unknown", "delivery.drafted"},
		Apply: toy.apply,
		Next:  func(s toy, v machine.View, _ *envelope.Event, r rules) machine.Step { return s.next(v, r) },
		Given: func(ev envelope.Event) bool { _, ok := ev.Body.(deliveryv1.Drafted); return ok },
		Rules: func(raw json.RawMessage) rules {
			r := rules{Limit: time.Minute}
			if raw != nil {
				if err := json.Unmarshal(raw, &r); err != nil {
					t.Error(err)
				}
			}
			return r
		},
		Claim: func(s toy, _ string) uint64 { return s.claim },
		Outcome: func(s toy, _ string, ev envelope.Event) envelope.Body {
			b, ok := ev.Body.(deliveryv1.Sent)
			if !ok {
				return nil
			}
			b.Ref = deliveryv1.Ref{Delivery: s.queue[0], Attempt: 1}
			return b
		},
		Timeless: func(body, then envelope.Body) envelope.Body {
			b, ok := body.(deliveryv1.Started)
			t, same := then.(deliveryv1.Started)
			if ok && same {
				b.Deadline = t.Deadline
				return b
			}
			return body
		},
	}, func(service, digest string) json.RawMessage {
		if service != "toy" {
			t.Errorf("rules of %s", service)
		}
		if raw, ok := known[digest]; ok {
			return json.RawMessage(raw)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// event is the n-th of a session.
func event(n uint64, cause string, body envelope.Body) envelope.Event {
	return envelope.Event{
		ID: "e" + string(rune('0'+n)), Session: here, Cursor: n, Prev: n - 1, Cause: cause, Source: "toy/w1", Time: epoch.Add(time.Duration(n) * time.Second), Body: body,
	}
}

func ref() deliveryv1.Ref { return deliveryv1.Ref{Delivery: "e1", Attempt: 1} }

func started(n uint64, limit time.Duration) envelope.Event {
	return event(n, "e1", deliveryv1.Started{Ref: ref(), Worker: "w1", Deadline: epoch.Add(time.Duration(n)*time.Second + limit)})
}

func with(ev envelope.Event, change func(*envelope.Event)) envelope.Event {
	change(&ev)
	return ev
}

func TestCheck(t *testing.T) {
	hello := event(1, "", messagev1.Received{Text: "hello"})
	sent := func(n uint64) envelope.Event { return event(n, "e2", deliveryv1.Sent{Ref: ref(), Receipt: "7"}) }
	digest := func(d string) func(*envelope.Event) { return func(ev *envelope.Event) { ev.Rules = d } }
	for name, c := range map[string]struct {
		past []envelope.Event
		ev   envelope.Event
		want recheck.Verdict
	}{
		"decided the same": {[]envelope.Event{hello}, started(2, time.Minute), recheck.Verdict{Result: recheck.Same}},
		"its deadline is given where nobody knows the limit": {[]envelope.Event{hello}, started(2, time.Hour), recheck.Verdict{Result: recheck.Same}},
		"rules that nobody has recorded are like none":       {[]envelope.Event{hello}, with(started(2, time.Hour), digest("lost")), recheck.Verdict{Result: recheck.Same}},
		"by the rules of then":                               {[]envelope.Event{hello}, with(started(2, time.Hour), digest("hour")), recheck.Verdict{Result: recheck.Same}},
		"the outcome of the claim":                           {[]envelope.Event{hello, started(2, time.Minute)}, sent(3), recheck.Verdict{Result: recheck.Given}},
		"whose worker was gone":                              {[]envelope.Event{hello, started(2, time.Minute)}, event(3, "e2", deliveryv1.Unknown{Ref: ref()}), recheck.Verdict{Result: recheck.Same}},
		"what nobody decides":                                {nil, event(1, "", deliveryv1.Drafted{}), recheck.Verdict{Result: recheck.Given}},
		"of a newer version":                                 {nil, event(1, "", envelope.Unknown{Type: "delivery.sent.v9"}), recheck.Verdict{Result: recheck.Newer}},
		"another limit than that of then": {
			[]envelope.Event{hello},
			with(started(2, time.Minute), digest("hour")),
			recheck.Verdict{Result: recheck.Different, Differences: []recheck.Difference{
				{Field: "data.deadline", Then: `"2026-03-01T12:01:02Z"`, Now: `"2026-03-01T13:00:02Z"`},
			}},
		},
		"another cause, another worker": {
			[]envelope.Event{hello},
			with(started(2, time.Minute), func(ev *envelope.Event) { ev.Cause, ev.Source = "e0", "toy/w2" }),
			recheck.Verdict{Result: recheck.Different, Differences: []recheck.Difference{
				{Field: "cause", Then: `"e0"`, Now: `"e1"`}, {Field: "data.worker", Then: `"w1"`, Now: `"w2"`},
			}},
		},
		"where nothing was to be done": {
			nil,
			started(1, time.Minute),
			recheck.Verdict{Result: recheck.Different, Differences: []recheck.Difference{{Field: "type", Then: `"delivery.started.v1"`, Now: "nothing"}}},
		},
		"an outcome that nobody asked for": {
			[]envelope.Event{hello},
			sent(2),
			recheck.Verdict{Result: recheck.Different, Differences: []recheck.Difference{
				{Field: "type", Then: `"delivery.sent.v1"`, Now: `"delivery.started.v1"`},
			}},
		},
		"the outcome of another attempt": {
			[]envelope.Event{hello, started(2, time.Minute)},
			event(3, "e2", deliveryv1.Sent{Ref: deliveryv1.Ref{Delivery: "e1", Attempt: 2}}),
			recheck.Verdict{Result: recheck.Different, Differences: []recheck.Difference{{Field: "data.attempt", Then: "2", Now: "1"}}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := toyMachine(t, map[string]string{"hour": `{"limit":3600000000000}`}).On(here)
			for _, ev := range c.past {
				f.Apply(ev)
			}
			before := f.State()
			if got := f.Check(c.ev); !reflect.DeepEqual(got, c.want) {
				t.Errorf("got  %+v\nwant %+v", got, c.want)
			}
			if !reflect.DeepEqual(before, f.State()) {
				t.Error("a check has folded something")
			}
		})
	}
}

func TestDue(t *testing.T) {
	m := toyMachine(t, nil)
	f := m.On(here)
	if due := f.Due(epoch); len(due) != 0 {
		t.Errorf("of nothing: %+v", due)
	}
	f.Apply(event(1, "", messagev1.Received{Text: "hello"}))
	due := f.Due(epoch)
	if len(due) != 1 || due[0].Service != "toy" || recheck.Describe(due[0].Step) != "append delivery.started.v1" {
		t.Errorf("%+v", due)
	}
}

func TestOwns(t *testing.T) {
	m, err := recheck.New(recheck.Spec[toy, rules]{
		Service: "toy", Kinds: []string{"notice.posted.toy", "call.dispatched.*", "turn.started"}, Apply: toy.apply,
		Next:  func(toy, machine.View, *envelope.Event, rules) machine.Step { return nil },
		Rules: func(json.RawMessage) rules { return rules{} },
	}, func(string, string) json.RawMessage { return nil })
	if err != nil {
		t.Fatal(err)
	}
	for body, want := range map[envelope.Body]bool{
		suffixed{"notice.posted.v1", "toy"}: true, suffixed{"notice.posted.v1", "turns"}: false,
		suffixed{"call.dispatched.v1", "files"}: true, kind("turn.started.v1"): true, kind("turn.started.v2"): true,
		kind("turn.stepped.v1"): false, kind("turn.start.v1"): false,
	} {
		if got := m.Owns(envelope.Event{Body: body}); got != want {
			t.Errorf("%+v: %t", body, got)
		}
	}
}

type kind string

func (k kind) EventType() string { return string(k) }

type suffixed struct{ typ, suffix string }

func (s suffixed) EventType() string     { return s.typ }
func (s suffixed) SubjectSuffix() string { return s.suffix }

func TestCompare(t *testing.T) {
	then := map[string]any{"a": 1, "b": []int{1, 2}, "c": map[string]any{"d": "x"}, "gone": true}
	now := map[string]any{"a": 1, "b": []int{1, 3, 4}, "c": map[string]any{"d": "<y>"}, "new": nil}
	want := []recheck.Difference{
		{Field: "b[1]", Then: "2", Now: "3"},
		{Field: "b[2]", Now: "4"},
		{Field: "c.d", Then: `"x"`, Now: `"<y>"`},
		{Field: "gone", Then: "true"},
		{Field: "new", Now: "null"},
	}
	if got := recheck.Compare("", then, now); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
}
