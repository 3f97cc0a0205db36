package delivery_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/jetclaw/jetclaw/schemas/deliveryv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/machine"
	"github.com/jetclaw/jetclaw/services/outbox/delivery"
)

func limits() delivery.Limits {
	l := delivery.DefaultLimits()
	l.Routes["hook"], l.Routes["away"] = delivery.Push, delivery.Away
	return l
}

func TestNext(t *testing.T) {
	hi, two := completed("hi"), completed("two")
	one := started("e1", 1) // cursor 2 where it follows hi
	until := epoch.Add(time.Hour)
	deferred := deliveryv1.Deferred{Ref: ref("e1", 1), Until: until, Reason: "HTTP 503"}
	unknown := deliveryv1.Unknown{Ref: ref("e1", 1), Resend: true} // at epoch + 3 s
	now := epoch.Add(10 * time.Second)
	claim := func(id, cause string, attempt int, now time.Time, repeat bool) machine.Step {
		return machine.Append{Cause: cause, Claim: true, Body: deliveryv1.Started{
			Ref: ref(id, attempt), Worker: "me", Deadline: now.Add(35 * time.Second), Repeat: repeat,
		}}
	}
	for name, c := range map[string]struct {
		bodies []envelope.Body
		view   machine.View
		limits func(*delivery.Limits)
		want   machine.Step
	}{
		"nothing": {nil, machine.View{}, nil, nil},
		"mailbox": {
			[]envelope.Body{hi},
			machine.View{},
			func(l *delivery.Limits) { l.Routes["hook"] = delivery.Mailbox },
			machine.Append{Cause: "e1", Body: deliveryv1.Sent{Ref: ref("e1", 1)}},
		},
		"no such channel": {
			[]envelope.Body{hi},
			machine.View{},
			func(l *delivery.Limits) { delete(l.Routes, "hook") },
			machine.Append{Cause: "e1", Body: deliveryv1.Failed{
				Ref: ref("e1", 1), Reason: `nothing is configured that delivers to channel "hook"`,
			}},
		},
		"push":               {[]envelope.Body{hi, two}, machine.View{Now: now}, nil, claim("e1", "e1", 1, now, false)},
		"mine":               {[]envelope.Body{hi, one}, machine.View{Now: now, Mine: 2}, nil, machine.Perform{Claim: 2, Deadline: epoch.Add(time.Minute)}},
		"mine, past the end": {[]envelope.Body{hi, one}, machine.View{Now: until, Mine: 2}, nil, machine.Perform{Claim: 2, Deadline: epoch.Add(time.Minute)}},
		"of another":         {[]envelope.Body{hi, one}, machine.View{Now: now}, nil, machine.Held{Claim: 2, Worker: "w1", Since: epoch.Add(2 * time.Second), Deadline: epoch.Add(time.Minute), Attempt: 1}},
		"another is gone": {
			[]envelope.Body{hi, one},
			machine.View{Now: now, Gone: 2},
			nil,
			machine.Append{Cause: "e2", Tell: "w1", Body: deliveryv1.Unknown{Ref: ref("e1", 1), Resend: true}},
		},
		"an earlier claim is gone": {[]envelope.Body{hi, one}, machine.View{Now: now, Gone: 1, Mine: 1}, nil, machine.Held{Claim: 2, Worker: "w1", Since: epoch.Add(2 * time.Second), Deadline: epoch.Add(time.Minute), Attempt: 1}},
		"past the deadline, which is of another's clock": {
			[]envelope.Body{hi, one},
			machine.View{Now: epoch.Add(61 * time.Second)},
			nil,
			machine.Held{Claim: 2, Worker: "w1", Since: epoch.Add(2 * time.Second), Deadline: epoch.Add(time.Minute), Attempt: 1},
		},
		"gone, to be held": {
			[]envelope.Body{hi, one},
			machine.View{Now: epoch.Add(61 * time.Second), Gone: 2},
			func(l *delivery.Limits) { l.ResendUnknown = false },
			machine.Append{Cause: "e2", Tell: "w1", Body: deliveryv1.Unknown{Ref: ref("e1", 1)}},
		},
		"held lets the next go":                 {[]envelope.Body{hi, one, deliveryv1.Unknown{Ref: ref("e1", 1)}, two}, machine.View{Now: now}, nil, claim("e4", "e4", 1, now, false)},
		"unknown, too early":                    {[]envelope.Body{hi, one, unknown}, machine.View{Now: epoch.Add(3 * time.Second)}, nil, machine.Wait{Until: epoch.Add(3*time.Second + delivery.Backoff("e1", 1))}},
		"unknown, by a clock that was set back": {[]envelope.Body{hi, one, unknown}, machine.View{Now: epoch.Add(-time.Hour)}, nil, claim("e1", "e3", 2, epoch.Add(-time.Hour), true)},
		"unknown, due":                          {[]envelope.Body{hi, one, unknown}, machine.View{Now: now}, nil, claim("e1", "e3", 2, now, true)},
		"deferred, too early":                   {[]envelope.Body{hi, one, deferred, two}, machine.View{Now: now}, nil, machine.Wait{Until: until}},
		"deferred, due":                         {[]envelope.Body{hi, one, deferred}, machine.View{Now: until}, nil, claim("e1", "e3", 2, until, false)},
		"a repeat stays one after a deferral": {
			[]envelope.Body{
				hi, one, unknown, started("e1", 2),
				deliveryv1.Deferred{Ref: ref("e1", 2), Until: until},
			},
			machine.View{Now: until},
			nil, claim("e1", "e5", 3, until, true),
		},
		"attempts used up": {
			[]envelope.Body{hi, one, deferred},
			machine.View{Now: now},
			func(l *delivery.Limits) { l.Attempts = 1 },
			machine.Append{Cause: "e3", Body: deliveryv1.Failed{
				Ref: ref("e1", 1), Reason: "given up at attempt 1; the last one: HTTP 503",
			}},
		},
		"unknown attempts used up": {
			[]envelope.Body{hi, one, unknown},
			machine.View{Now: now},
			func(l *delivery.Limits) { l.Attempts = 1 },
			machine.Append{Cause: "e3", Body: deliveryv1.Failed{
				Ref: ref("e1", 1), Reason: "given up at attempt 1; an earlier one may have arrived",
			}},
		},
		"due after the age limit": {
			[]envelope.Body{hi, one, deferred},
			machine.View{Now: now},
			func(l *delivery.Limits) { l.MaxAge = time.Minute },
			machine.Wait{Until: epoch.Add(2*time.Second + time.Minute)},
		},
		"too old": {
			[]envelope.Body{hi, one, deferred},
			machine.View{Now: epoch.Add(62 * time.Second)},
			func(l *delivery.Limits) { l.MaxAge = time.Minute },
			machine.Append{Cause: "e3", Body: deliveryv1.Failed{
				Ref: ref("e1", 1), Reason: "given up 1m0s after the first attempt; the last one: HTTP 503",
			}},
		},
		"old, but never tried": {[]envelope.Body{hi}, machine.View{Now: epoch.Add(1000 * time.Hour)}, nil, claim("e1", "e1", 1, epoch.Add(1000*time.Hour), false)},
	} {
		t.Run(name, func(t *testing.T) {
			l := limits()
			if c.limits != nil {
				c.limits(&l)
			}
			c.view.Worker = "me"
			got := fold(c.bodies...).Next(c.view, l)
			if !reflect.DeepEqual(got, c.want) {
				t.Fatalf("got  %+v\nwant %+v", got, c.want)
			}
		})
	}
}

func TestBackoff(t *testing.T) {
	for attempt, base := range map[int]time.Duration{
		1: time.Second, 2: 4 * time.Second, 5: 256 * time.Second, 7: time.Hour, 8: time.Hour, 1 << 40: time.Hour,
	} {
		seen := map[time.Duration]bool{}
		for _, id := range []string{"a", "b", "c", "d"} {
			d := delivery.Backoff(id, attempt)
			if lo, hi := base*7/10, base*13/10; d < lo || d > hi {
				t.Errorf("Backoff(%q, %d) = %s, want %s to %s", id, attempt, d, lo, hi)
			}
			if d != delivery.Backoff(id, attempt) {
				t.Errorf("Backoff(%q, %d) is not a function", id, attempt)
			}
			seen[d] = true
		}
		if len(seen) == 1 {
			t.Errorf("attempt %d: no jitter", attempt)
		}
	}
}

func TestLimitsValidate(t *testing.T) {
	if err := delivery.DefaultLimits().Validate(); err != nil {
		t.Fatal(err)
	}
	for want, spoil := range map[string]func(*delivery.Limits){
		"attempts":   func(l *delivery.Limits) { l.Attempts = 0 },
		"time limit": func(l *delivery.Limits) { l.SendTime = 0 },
		"grace":      func(l *delivery.Limits) { l.Grace = 0 },
		"backoff":    func(l *delivery.Limits) { l.Backoff = nil },
		"max age":    func(l *delivery.Limits) { l.MaxAge = 0 },
		"route":      func(l *delivery.Limits) { l.Routes["hook"] = "pigeon" },
	} {
		l := limits()
		spoil(&l)
		if err := l.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", want, err)
		}
	}
}
