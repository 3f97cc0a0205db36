package router

import (
	"time"

	"github.com/jetclaw/jetclaw/services/turns/model"
)

// reason says what a hold comes from.
type reason string

const (
	asked   reason = "asked"   // the provider said when to come again
	failing reason = "failing" // several passing failures in a row
	missing reason = "missing" // the provider does not know the model
	denied  reason = "denied"  // the provider does not take the key
)

const (
	maxAsked    = time.Hour
	maxSkew     = time.Minute // that clocks of workers may differ by
	failsBefore = 2           // failures in a row that make a hold
	firstHold   = 15 * time.Second
	maxHold     = 5 * time.Minute
)

// hold is what is known of one model, or of one provider. The zero value is nothing bad.
type hold struct {
	Until  time.Time `json:"until,omitzero"`
	Reason reason    `json:"reason,omitempty"`
	Fails  int       `json:"fails,omitempty"` // passing failures in a row
	At     time.Time `json:"at,omitzero"`     // when this was found out
}

// on says whether nobody is to be asked yet.
func (h hold) on(now time.Time) bool { return h.Until.After(now) }

// believed is what is taken of a hold that somebody else has stored; false when it is of a clock that is wrong.
func (h hold) believed(now time.Time) (hold, bool) {
	if h.At.After(now.Add(maxSkew)) {
		return hold{}, false
	}
	if latest := now.Add(maxAsked); h.Until.After(latest) {
		h.Until = latest
	}
	return h, true
}

// good says whether there is nothing to remember.
func (h hold) good() bool { return h.Fails == 0 && h.Until.IsZero() }

// after is the model's hold after a failure of a call that began at began; false when the failure says nothing about the
// next call.
func (h hold) after(class model.Class, retryAfter time.Duration, began, now time.Time) (hold, bool) {
	switch class {
	case model.Passing:
		if retryAfter > 0 {
			return hold{Until: now.Add(min(retryAfter, maxAsked)), Reason: asked, Fails: h.Fails, At: now}, true
		}
		if began.Before(h.At) {
			return h, false // calls that fail side by side are one failure
		}
		h.Fails++
		h.At = now
		if h.Fails >= failsBefore && (h.Reason != asked || !h.on(now)) { // what the provider asked for stays
			h.Until, h.Reason = now.Add(backoff(h.Fails)), failing
		}
		return h, true
	case model.Missing:
		return hold{Until: now.Add(maxHold), Reason: missing, Fails: h.Fails, At: now}, true
	case model.Denied, model.Invalid, model.Overflow, model.Filtered, model.Garbage:
		return h, false // denied is the provider's hold: see deny
	}
	return h, false
}

// answered is a hold after an answer to a call that began at began; false when there is nothing to change. A call that
// began before the hold does not end it: it says nothing about what was found out since.
func (h hold) answered(began, now time.Time) (hold, bool) {
	if h.good() || began.Before(h.At) {
		return h, false
	}
	return hold{At: now}, true
}

// deny is the provider's hold after it did not take the key.
func deny(now time.Time) hold { return hold{Until: now.Add(maxHold), Reason: denied, At: now} }

// backoff is how long a model is left alone after so many failures in a row.
func backoff(fails int) time.Duration {
	d := firstHold
	for n := failsBefore; n < fails && d < maxHold; n++ {
		d *= 2
	}
	return min(d, maxHold)
}

// standing is what is known of one model of a chain.
type standing struct {
	own, provider hold
	done          bool // it was asked
	absent        bool // the catalog does not have it
}

// hold is the one that ends last: a model is on hold as long as it or its provider is.
func (s standing) hold() hold {
	if s.provider.Until.After(s.own.Until) {
		return s.provider
	}
	return s.own
}

// may says whether it may be asked in spite of its holds, there being nobody else. models is how many the chain has.
func (s standing) may(models int, now time.Time) bool {
	return !(s.own.on(now) && s.own.Reason == asked) && (!s.provider.on(now) || models == 1)
}

// pick is which model of a chain is asked next: its index, and whether another could still be asked after it. It is -1
// when nobody is.
func pick(chain []standing, now time.Time) (next int, more bool) {
	next = -1
	tried, models := false, 0
	for i, s := range chain {
		if s.absent {
			continue
		}
		models++
		switch {
		case s.done:
			tried = true
		case s.hold().on(now):
		case next < 0:
			next = i
		default:
			more = true
		}
	}
	if next >= 0 || tried {
		return next, more
	}
	for i, s := range chain {
		if !s.absent && s.may(models, now) && (next < 0 || s.hold().Until.Before(chain[next].hold().Until)) {
			next = i
		}
	}
	return next, false
}
