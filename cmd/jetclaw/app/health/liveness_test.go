package health_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/jetclaw/jetclaw/bus"
	"github.com/jetclaw/jetclaw/bus/recheck"
	"github.com/jetclaw/jetclaw/cmd/jetclaw/app/health"
	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/machine"
	"github.com/jetclaw/jetclaw/schemas/messagev1"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

const somebody = session.ID("main.http.test.one")

var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC) //nolint:gochecknoglobals // a constant

// script is a machine that wants what a test says once it has seen a message.
type script struct {
	service string
	want    func(now time.Time) []recheck.Due
}

func (m script) Service() string            { return m.service }
func (m script) Owns(envelope.Event) bool   { return false }
func (m script) On(session.ID) recheck.Fold { return &scriptFold{script: m} }

type scriptFold struct {
	script
	seen int
}

func (f *scriptFold) Check(envelope.Event) recheck.Verdict { return recheck.Verdict{} }
func (f *scriptFold) State() any                           { return f.seen }

func (f *scriptFold) Apply(ev envelope.Event) {
	if m, ok := ev.Body.(messagev1.Received); ok {
		if m.Text == "poison" {
			panic("poison")
		}
		f.seen++
	}
}

func (f *scriptFold) Due(now time.Time) []recheck.Due {
	if f.seen == 0 {
		return nil
	}
	return f.want(now)
}

func due(step machine.Step, parts ...string) func(time.Time) []recheck.Due {
	return func(time.Time) (all []recheck.Due) {
		if len(parts) == 0 {
			parts = []string{""}
		}
		for _, p := range parts {
			all = append(all, recheck.Due{Service: "turns", Part: p, Step: step})
		}
		return all
	}
}

// history is a message at 10, at noon, then events that ring nobody, a minute apart.
func history(after ...envelope.Body) []envelope.Event {
	events := []envelope.Event{{ID: "e10", Session: somebody, Cursor: 10, Time: noon, Body: messagev1.Received{Text: "hi"}}}
	for i, b := range after {
		events = append(events, envelope.Event{
			ID: fmt.Sprint("e", 11+i), Session: somebody, Cursor: uint64(11 + i), Prev: uint64(10 + i),
			Time: noon.Add(time.Duration(i+1) * time.Minute), Body: b,
		})
	}
	return events
}

var turns = bus.Spec{Name: "turns", Doorbells: []string{"message.received", "call.dispatched.*"}, Timers: true} //nolint:gochecknoglobals // a constant

func TestStuck(t *testing.T) {
	step := machine.Append{Body: turnv1.Started{}}
	held := machine.Held{Claim: 12, Worker: "w1", Deadline: noon.Add(5 * time.Minute)}
	const there = 1
	open := bus.ConsumerState{Name: "turns", Floor: 9, Delivered: 20, AckPending: 1}
	openThere := open
	openThere.Waiting = there
	acked := bus.ConsumerState{Name: "turns", Floor: 20, Delivered: 20, Waiting: there}
	ring := []bus.TimerState{{Service: "turns"}}
	at := func(d time.Duration) []bus.TimerState { return []bus.TimerState{{Service: "turns", At: noon.Add(d)}} }
	for _, c := range []struct {
		name   string
		step   machine.Step
		events bus.ConsumerState
		timers []bus.TimerState
		after  time.Duration // noon
		want   string        // part of what is missing; "" for nothing
	}{
		{"a settled doorbell", step, acked, nil, time.Hour, "(cursor 10) is settled: turns has settled everything up to 20"},
		{"at once", step, acked, nil, 0, "is settled"},
		{"exactly at the floor", step, bus.ConsumerState{Floor: 10, Delivered: 20, AckPending: 3}, nil, 0, "is settled"},
		{"not delivered yet", step, bus.ConsumerState{Floor: 9, Delivered: 9, Waiting: there, Pending: 1}, nil, time.Hour, ""},
		{"nothing is open", step, bus.ConsumerState{Floor: 9, Delivered: 20}, nil, time.Hour, "nothing is open"},
		{"open, nobody there", step, open, nil, time.Hour, ""},
		{"open, a worker is there", step, openThere, nil, 80 * time.Second, ""},
		{"open, a worker is there and does nothing", step, openThere, nil, 100 * time.Second, "must be settled"},
		{"no consumer", step, bus.ConsumerState{Missing: true}, nil, 0, "has no consumer"},
		{"a ring", step, acked, ring, time.Hour, ""},
		{"another service's ring", step, acked, []bus.TimerState{{Service: "tools"}}, time.Hour, "is settled"},
		{"a timer that rings soon", step, acked, at(time.Hour + time.Minute), time.Hour, ""},
		{"a timer that rings much later", step, acked, at(3 * time.Hour), time.Hour, "is settled"},
		{"a timer that should have rung", step, acked, at(time.Minute), time.Hour, "is settled"},
		{"a timer that is about to ring", step, acked, at(time.Hour - time.Second), time.Hour, ""},
		{"a wait with its timer", machine.Wait{Until: noon.Add(9 * time.Hour)}, acked, at(9 * time.Hour), time.Hour, ""},
		{"a wait with a late timer", machine.Wait{Until: noon.Add(9 * time.Hour)}, acked, at(10 * time.Hour), time.Hour, "is settled"},
		{"a wait without", machine.Wait{Until: noon.Add(9 * time.Hour)}, acked, nil, time.Hour, "is settled"},
		{"a wait on an open doorbell", machine.Wait{Until: noon.Add(9 * time.Hour)}, openThere, nil, 8 * time.Hour, ""},
		{"a wait that is over", machine.Wait{Until: noon.Add(time.Minute)}, openThere, nil, 8 * time.Hour, "must be settled"},
		{"somebody is at it", held, acked, nil, time.Minute, ""},
		{"somebody was at it", held, acked, nil, 6 * time.Minute, "is settled"},
		{"nobody is there that could be", held, bus.ConsumerState{Floor: 20, Delivered: 20}, nil, time.Minute, "is settled"},
		{"nobody is there, and its doorbell is open", held, open, nil, time.Minute, ""},
		{"nothing is wanted", nil, acked, nil, time.Hour, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := script{"turns", func(time.Time) []recheck.Due { return nil }}
			if c.step != nil {
				m.want = due(c.step)
			}
			j := health.Judge{
				Machines: []recheck.Machine{m}, Now: noon.Add(c.after),
				Services: map[string]health.Service{"turns": {Spec: turns, Events: c.events}},
			}
			s := health.Session{ID: somebody, Events: history(), Timers: c.timers}
			wanted, err := j.Due(s.ID, s.Events)
			if err != nil {
				t.Fatal(err)
			}
			got := j.Stuck(s, wanted)
			switch {
			case c.want == "" && len(got) > 0:
				t.Errorf("found %+v", got)
			case c.want != "" && (len(got) != 1 || !strings.Contains(got[0].Missing, c.want)):
				t.Errorf("found %+v, want one that says %q", got, c.want)
			}
		})
	}
}

// TestStuckNobodyRings: without an event that rings the service only a timer could wake it.
func TestStuckNobodyRings(t *testing.T) {
	j := health.Judge{
		Machines: []recheck.Machine{script{"turns", due(machine.Wait{Until: noon})}}, Now: noon.Add(time.Hour),
		Services: map[string]health.Service{"turns": {Spec: bus.Spec{Name: "turns", Doorbells: []string{"control.requested"}}}},
	}
	s := health.Session{ID: somebody, Events: history()}
	wanted, err := j.Due(s.ID, s.Events)
	got := j.Stuck(s, wanted)
	if err != nil || len(got) != 1 || got[0].Doorbell != nil || !strings.Contains(got[0].Missing, "no event of the session rings turns") {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestStuckParts: each part is judged by its own doorbell, or one of the whole session; what part "" wants beside others is theirs.
func TestStuckParts(t *testing.T) {
	call := func(name string) envelope.Body {
		return callv1.Dispatched{Request: callv1.Request{Call: name, Executor: "builtin"}}
	}
	part := func(ev envelope.Event) string {
		if d, ok := ev.Body.(callv1.Dispatched); ok {
			return d.Call
		}
		return ""
	}
	events := history(call("a"), call("b")) // 11 and 12
	for name, c := range map[string]struct {
		floor uint64
		parts []string
		want  string // the part that is stuck
	}{
		"both open":           {10, []string{"", "a", "b"}, ""},
		"the first settled":   {11, []string{"", "a", "b"}, "a"},
		"only the second due": {11, []string{"", "b"}, ""},
		"all settled":         {12, []string{"", "b"}, "b"},
		"only the rest":       {12, []string{""}, "rest"},
		"the rest is open":    {11, []string{""}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			j := health.Judge{
				Machines: []recheck.Machine{script{"turns", due(machine.Append{Body: callv1.Started{}}, c.parts...)}}, Now: noon.Add(time.Hour),
				Services: map[string]health.Service{"turns": {
					Spec: turns, Part: part, Events: bus.ConsumerState{Name: "turns", Floor: c.floor, Delivered: 12, AckPending: 1},
				}},
			}
			s := health.Session{ID: somebody, Events: events}
			wanted, err := j.Due(s.ID, s.Events)
			if err != nil {
				t.Fatal(err)
			}
			got := j.Stuck(s, wanted)
			switch {
			case c.want == "" && len(got) > 0:
				t.Errorf("found %+v", got)
			case c.want != "" && (len(got) != 1 || got[0].Part != strings.TrimPrefix(c.want, "rest")):
				t.Errorf("found %+v, want %q", got, c.want)
			}
		})
	}
}

// TestSince: a step is due since the event that brought it about, not since what happened last.
func TestSince(t *testing.T) {
	acked := bus.ConsumerState{Name: "turns", Floor: 20, Delivered: 20}
	later := messagev1.Edited{Text: "no matter"}
	for name, c := range map[string]struct {
		events []envelope.Event
		want   func(now time.Time) []recheck.Due
		since  time.Duration
	}{
		"the message":   {history(), due(machine.Append{Body: turnv1.Started{}}), 0},
		"not what came": {history(later, later, later), due(machine.Append{Body: turnv1.Started{}}), 0},
		"when it was time": {history(later), func(now time.Time) []recheck.Due {
			if now.Before(noon.Add(10 * time.Minute)) {
				return due(machine.Wait{Until: noon.Add(10 * time.Minute)})(now)
			}
			return due(machine.Append{Body: turnv1.Started{}})(now)
		}, 10 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			j := health.Judge{
				Machines: []recheck.Machine{script{"turns", c.want}}, Now: noon.Add(time.Hour),
				Services: map[string]health.Service{"turns": {Spec: turns, Events: acked}},
			}
			wanted, err := j.Due(somebody, c.events)
			got := j.Stuck(health.Session{ID: somebody, Events: c.events}, wanted)
			if err != nil || len(got) != 1 || !got[0].Due.Equal(noon.Add(c.since)) {
				t.Errorf("%+v, %v; want since %s", got, err, c.since)
			}
		})
	}
}

// TestPanics: a machine that cannot fold a session says nothing, and the others are heard.
func TestPanics(t *testing.T) {
	poisoned := history(messagev1.Received{Text: "poison"})
	j := health.Judge{Machines: []recheck.Machine{script{"turns", due(nil)}, sound{}}, Now: noon}
	wanted, err := j.Due(somebody, poisoned)
	var p *health.PanicError
	if !errors.As(err, &p) || p.Service != "turns" || len(wanted) != 1 || wanted[0].Service != "sound" {
		t.Errorf("%+v, %v", wanted, err)
	}
}

type sound struct{}

func (sound) Service() string                      { return "sound" }
func (sound) Owns(envelope.Event) bool             { return false }
func (sound) On(session.ID) recheck.Fold           { return sound{} }
func (sound) Check(envelope.Event) recheck.Verdict { return recheck.Verdict{} }
func (sound) Apply(envelope.Event)                 {}
func (sound) State() any                           { return nil }
func (sound) Due(time.Time) []recheck.Due {
	return []recheck.Due{{Service: "sound", Step: machine.Wait{}}}
}

// TestCertain: whatever else is so, a doorbell that is certainly there is never missed, and one that is certainly gone never
// believed in.
func TestCertain(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		e := bus.ConsumerState{
			Name: "turns", Floor: uint64(rapid.IntRange(0, 20).Draw(rt, "floor")), AckPending: rapid.IntRange(0, 3).Draw(rt, "open"),
			Waiting: rapid.IntRange(0, 2).Draw(rt, "there"), Pending: uint64(rapid.IntRange(0, 5).Draw(rt, "pending")),
		}
		e.Delivered = e.Floor + uint64(rapid.IntRange(0, 10).Draw(rt, "delivered"))
		if e.AckPending == 0 {
			e.Floor = e.Delivered
		}
		var timers []bus.TimerState
		if rapid.Bool().Draw(rt, "ring") {
			timers = append(timers, bus.TimerState{Service: "turns"})
		}
		now := noon.Add(time.Duration(rapid.IntRange(0, 600).Draw(rt, "seconds")) * time.Second)
		step := rapid.SampledFrom([]machine.Step{
			machine.Append{Body: turnv1.Started{}},
			machine.Wait{Until: noon},
			machine.Wait{Until: noon.Add(time.Hour)},
			machine.Held{Claim: 10, Deadline: noon.Add(time.Minute)},
		}).Draw(rt, "step")
		j := health.Judge{
			Machines: []recheck.Machine{script{"turns", due(step)}}, Now: now,
			Services: map[string]health.Service{"turns": {Spec: turns, Events: e}},
		}
		s := health.Session{ID: somebody, Events: history(), Timers: timers}
		wanted, err := j.Due(s.ID, s.Events)
		if err != nil {
			rt.Fatal(err)
		}
		got := j.Stuck(s, wanted)
		h, isHeld := step.(machine.Held)
		atWork := isHeld && e.Waiting > 0 && !now.After(h.Deadline)
		switch {
		case (len(timers) > 0 || e.Delivered < 10 || atWork) && len(got) > 0:
			rt.Fatalf("somebody will be woken, and yet: %+v", got)
		case len(timers) == 0 && e.Floor >= 10 && !atWork && len(got) != 1:
			rt.Fatalf("nobody will be woken: %+v", got)
		}
		for _, g := range got {
			if g.Session != somebody || g.Step == "" || g.Missing == "" || g.Doorbell == nil || g.Doorbell.Cursor != 10 || g.Last != 10 {
				rt.Fatalf("%+v", g)
			}
		}
	})
}

func TestNewer(t *testing.T) {
	events := history(messagev1.Edited{}, envelope.Unknown{Type: "message.received.v9"})
	if ev, newer := health.Newer(events); !newer || ev.Cursor != 12 {
		t.Errorf("%+v, %v", ev, newer)
	}
	events[2].ID = "" // as a message that is no event is read
	if ev, newer := health.Newer(events); newer {
		t.Errorf("%+v", ev)
	}
}
