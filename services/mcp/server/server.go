// Package server is the pure machine of one configured MCP server, as all processes see it: how often it has failed in a row, and
// until when it is therefore left alone. Its connections are the processes' own affair.
//
//	working ──failed {1}──► failing ──failed {2}──► failing ──paused {until, 1}──► paused
//	   ▲                       │                                                   │ the time is over
//	   └──resumed {by: call}───┴───────────────◄── on trial ◄──resumed {by: time}──┘
//	                                                  │ the next failure: paused {until, 2}, for twice as long
//	resumed {by: reload, probe} leads from anywhere to working
//
// A failure is one of the server or of the way to it: it cannot be reached, does not answer, breaks off, speaks no MCP. What a tool
// says of itself is none.
package server

import (
	"time"

	"github.com/jetclaw/jetclaw/schemas/mcpv1"
)

const (
	patience   = 3                // failures in a row that pause a server
	firstPause = time.Minute      // doubles with each pause in a row
	maxPause   = 10 * time.Minute // up to this
	maxReason  = 500              // bytes of a reason that are kept
)

// State is the fold of one server's events. The zero value is a server that nothing has happened to.
type State struct {
	Failures int       // in a row, since the last pause
	Pauses   int       // in a row
	Until    time.Time // of the pause; zero when there is none
	Reason   string    // of the last failure
	Since    time.Time // of the last change
	Listed   mcpv1.Listed
	Peer     mcpv1.Connected // who was connected to last
}

// Apply folds one event, told at a time. Of the events of one verb the last is enough, in the order of the last ones.
func (s State) Apply(e mcpv1.Event, at time.Time) State {
	switch e := e.(type) {
	case mcpv1.Failed:
		s.Failures, s.Reason, s.Since = e.Failures, e.Reason, at
	case mcpv1.Paused:
		s.Failures, s.Pauses, s.Until, s.Reason, s.Since = 0, e.Pauses, e.Until, e.Reason, at
	case mcpv1.Resumed:
		s.Failures, s.Pauses, s.Until, s.Since = 0, e.Pauses, time.Time{}, at
	case mcpv1.Listed:
		s.Listed = e
	case mcpv1.Connected:
		s.Peer, s.Since = e, at
	case mcpv1.Closed:
		s.Since = at
	}
	return s
}

// Paused says whether the server is left alone at a time.
func (s State) Paused(now time.Time) bool { return now.Before(s.Until) }

// Input is what a process has seen of a server.
//
//sumtype:decl
type Input interface{ input() }

// What can be seen.
type (
	// Worked says that a request was answered.
	Worked struct{}
	// Broke says that a connection could not be opened, or that a request came to nothing.
	Broke struct{ Reason string }
	// Asked says that somebody wants it to be tried again at once.
	Asked struct{ By string } // probe, reload
	// Tick says that time goes by.
	Tick struct{}
)

func (Worked) input() {}
func (Broke) input()  {}
func (Asked) input()  {}
func (Tick) input()   {}

// Next is what is to be told of an input; nil when nothing changes by it.
func (s State) Next(in Input, now time.Time) mcpv1.Event {
	switch in := in.(type) {
	case Worked:
		if s.troubled() && !s.Paused(now) {
			return mcpv1.Resumed{By: "call"}
		}
	case Broke:
		return s.broke(clip(in.Reason), now)
	case Asked:
		if s.troubled() {
			return mcpv1.Resumed{By: in.By}
		}
	case Tick:
		if !s.Until.IsZero() && !s.Paused(now) {
			return mcpv1.Resumed{By: "time", Pauses: s.Pauses}
		}
	}
	return nil
}

func (s State) troubled() bool { return s.Failures > 0 || s.Pauses > 0 || !s.Until.IsZero() }

// broke: what was under way when the pause began does not lengthen it. Who is on trial has no second chance.
func (s State) broke(reason string, now time.Time) mcpv1.Event {
	switch {
	case s.Paused(now):
		return nil
	case s.Pauses == 0 && s.Failures+1 < patience:
		return mcpv1.Failed{Reason: reason, Failures: s.Failures + 1}
	}
	return mcpv1.Paused{Reason: reason, Until: now.Add(pause(s.Pauses)).Round(0).UTC(), Pauses: s.Pauses + 1}
}

// pause is how long the server is left alone after so many pauses.
func pause(before int) time.Duration {
	d := firstPause
	for range min(before, 10) {
		d = min(2*d, maxPause)
	}
	return d
}

func clip(reason string) string {
	if len(reason) <= maxReason {
		return reason
	}
	cut := maxReason
	for cut > 0 && reason[cut]&0xC0 == 0x80 { // not in the middle of a character
		cut--
	}
	return reason[:cut]
}
