package router

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/turns/model"
)

// reported is what a model's failure is told as.
func reported(err error) *model.Error {
	var e *model.Error
	if !errors.As(err, &e) {
		return &model.Error{
			Class: model.Garbage, Cause: turnv1.ModelUnavailable, Text: "The model could not be used. Please try again.", Detail: err.Error(),
		}
	}
	if e.Class == "" {
		known := *e
		known.Class = classOf(e.Cause)
		return &known
	}
	return e
}

// classOf is the class of an error that has none.
func classOf(c turnv1.Cause) model.Class {
	switch c {
	case turnv1.ModelUnavailable, turnv1.TimedOut:
		return model.Passing
	case turnv1.ModelRefused:
		return model.Invalid
	case turnv1.ContextOverflow:
		return model.Overflow
	default: // what came is no answer, or the cause is not a model's
		return model.Garbage
	}
}

// before lists those of a chain that failed or were passed over before one of them was asked.
func before(targets []target, asked int, now time.Time) []turnv1.Try {
	return besides(targets[:asked], nil, now)
}

// besides lists those that failed or were passed over, but one.
func besides(targets []target, but *target, now time.Time) []turnv1.Try {
	var tries []turnv1.Try
	for i := range targets {
		t := &targets[i]
		switch {
		case t == but:
		case t.err != nil:
			tries = append(tries, turnv1.Try{Model: t.ref, Cause: t.err.Cause, Detail: t.err.Detail})
		case t.hold().on(now):
			h := t.hold()
			detail := fmt.Sprintf("on hold until %s (%s)", clock(h.Until), h.Reason)
			tries = append(tries, turnv1.Try{Model: t.ref, Cause: turnv1.ModelUnavailable, Detail: detail})
		}
	}
	return tries
}

// clock is an instant as a person reads it: a hold is not longer than an hour.
func clock(t time.Time) string { return t.UTC().Format("15:04:05 UTC") }

// together is the last failure of a chain, with a text about the first and a word about the others.
func together(targets []target, last *target, now time.Time) *model.Error {
	var first *target
	var others []string
	for i := range targets {
		t := &targets[i]
		switch {
		case t.err == nil && t.hold().on(now):
			others = append(others, t.ref+" is on hold until "+clock(t.hold().Until))
		case t.err == nil: // it was not asked, there being no reason to
		case first == nil:
			first = t
		default:
			others = append(others, t.ref+" failed too")
		}
	}
	e := *last.err
	e.Text = first.err.Text
	if len(others) > 0 {
		e.Text += " (" + first.ref + "; " + strings.Join(others, "; ") + ".)"
	}
	return &e
}

// nobody says why no model was asked: none is there, or all want to be left alone.
func nobody(targets []target, now time.Time) *model.Error {
	var soonest *target
	for i := range targets {
		t := &targets[i]
		if !t.absent && (soonest == nil || t.hold().Until.Before(soonest.hold().Until)) {
			soonest = t
		}
	}
	if soonest == nil {
		return targets[0].err
	}
	h := soonest.hold()
	why := "The provider of " + soonest.ref + " is busy or its limit is used up, and asks to be left alone"
	if h.Reason == denied {
		why = "The provider of " + soonest.ref + " does not accept the API key"
	}
	wait := h.Until.Sub(now)
	text := fmt.Sprintf("%s until %s. Please try again then (in %s).", why, clock(h.Until), max(wait.Round(time.Second), time.Second))
	if h.Reason == denied {
		text = fmt.Sprintf("%s. Check the key; it is tried again after %s (in %s).", why, clock(h.Until), max(wait.Round(time.Second), time.Second))
	}
	if len(targets) > 1 {
		text += " The other models of this agent cannot be asked sooner."
	}
	return &model.Error{
		Class: model.Passing, Cause: turnv1.ModelUnavailable, Text: text, Detail: "all models are on hold: " + string(h.Reason), RetryAfter: wait,
	}
}
