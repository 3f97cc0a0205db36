package judge

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

// call is one tool call in the journal. Those that turns answers itself are none.
type call struct {
	event      envelope.Event // the last about it
	turn       string
	tool       string
	line       string // what it was to write, "" for nothing
	waits      bool   // for a person
	dispatched bool
	attempts   int  // claims so far
	done       bool // it has an outcome, or was denied
	outcome    callv1.Outcome
}

// lineOf is what the arguments of a call ask to be written, without the end of the line: the content of a file, or the marker
// of an MCP server's ledger.
func lineOf(arguments json.RawMessage) string {
	var a struct {
		Content string `json:"content"`
		Marker  string `json:"marker"`
	}
	if json.Unmarshal(arguments, &a) != nil {
		return ""
	}
	return strings.TrimSuffix(cmp.Or(a.Content, a.Marker), "\n")
}

// asked has the calls of a step.
func (h *history) asked(e envelope.Event, b turnv1.Stepped) {
	for _, c := range b.Calls {
		if c.Refusal != "" || c.Answer != "" {
			continue
		}
		h.court.counts.Calls++
		key := b.Turn + " " + c.ID
		if h.calls[key] != nil {
			h.say(Doubled, e, "call %s is asked for again", key)
		}
		h.calls[key] = &call{event: e, turn: b.Turn, tool: c.Tool, line: lineOf(c.Arguments)}
	}
}

// find is the call that an event is about; nil is said.
func (h *history) find(e envelope.Event, turn, id string) *call {
	c := h.calls[turn+" "+id]
	switch {
	case c == nil:
		h.say(Wrong, e, "%s of call %s of turn %s, which nobody has asked for", e.Kind(), id, turn)
	case c.done:
		h.say(Doubled, e, "%s of call %s of turn %s, which is done", e.Kind(), id, turn)
		return nil
	default:
		c.event = e
	}
	return c
}

func (h *history) called(e envelope.Event, b callv1.Event) {
	switch b := b.(type) {
	case callv1.Dispatched:
		c := h.find(e, b.Turn, b.Call)
		if c == nil {
			return
		}
		if c.dispatched {
			h.say(Doubled, e, "call %s of turn %s is dispatched again", b.Call, b.Turn)
		}
		if h.ended[b.Turn] {
			h.say(Wrong, e, "call %s of turn %s is dispatched after the turn's end", b.Call, b.Turn)
		}
		h.permitted(e, b, c)
		c.dispatched = true
	case callv1.Denied:
		if c := h.find(e, b.Turn, b.Call); c != nil {
			c.done = true
			h.court.counts.outcome("denied")
		}
	case callv1.Started:
		if c := h.find(e, b.Turn, b.Call); c != nil {
			h.begun(e, b, c)
		}
	case callv1.Completed:
		c := h.find(e, b.Turn, b.Call)
		if c == nil {
			return
		}
		switch {
		case c.attempts == 0 && b.Attempt == 0 && b.Outcome == callv1.Refused: // before a claim: nothing ran
		case c.attempts == 0 || b.Attempt != c.attempts:
			h.say(Wrong, e, "the outcome of attempt %d of call %s, of which %d were claimed", b.Attempt, b.Call, c.attempts)
		}
		c.done, c.outcome = true, b.Outcome
		h.court.counts.outcome(string(b.Outcome))
	case callv1.Awaiting:
		if c := h.find(e, b.Turn, b.Call); c != nil {
			c.waits = true
		}
	case callv1.Asked:
		if c := h.find(e, b.Turn, b.Call); c != nil && (c.attempts == 0 || b.Attempt != c.attempts) {
			h.say(Wrong, e, "attempt %d of call %s asks, of which %d were claimed", b.Attempt, b.Call, c.attempts)
		}
	}
}

// begun checks a claim.
func (h *history) begun(e envelope.Event, b callv1.Started, c *call) {
	switch {
	case !c.dispatched:
		h.say(Wrong, e, "call %s of turn %s is claimed and nobody has decided that it may run", b.Call, b.Turn)
	case b.Attempt != c.attempts+1:
		h.say(Wrong, e, "attempt %d of call %s is claimed after %d", b.Attempt, b.Call, c.attempts)
	case b.Attempt > 1 && !h.court.ev.Again[c.tool]:
		h.say(Doubled, e, "call %s of %s, which may not be repeated, is claimed again", b.Call, c.tool)
	case h.ended[b.Turn]:
		h.say(Wrong, e, "call %s of turn %s is claimed after the turn's end", b.Call, b.Turn)
	}
	if b.Attempt > 1 {
		h.court.counts.Again++
	}
	c.attempts = b.Attempt
}

// answered checks that a turn goes on when its calls are done, and not before.
func (h *history) answered(e envelope.Event, turn string) {
	for key, c := range h.calls {
		if c.turn == turn && !c.done {
			h.say(Wrong, e, "%s while call %s has no outcome", e.Kind(), key)
		}
	}
}

// openCalls are those of which nobody will ever know: claimed and without an outcome, or forgotten by the turn that waits.
func (h *history) openCalls() {
	for key, c := range h.calls {
		if !c.done && (c.attempts > 0 || !h.ended[c.turn]) {
			h.say(Stuck, c.event, "call %s of %s has no outcome", key, c.tool)
		}
	}
}

// effects compares what was written with what was claimed. The model may ask for the same line in several calls.
func (c *court) effects() {
	if c.ev.Lines == nil {
		return
	}
	type account struct {
		first       *call
		most, least int
	}
	lines := map[string]*account{}
	for _, h := range c.sessions {
		for _, x := range h.calls {
			if x.line == "" {
				continue
			}
			a := lines[x.line]
			if a == nil {
				a = &account{first: x}
				lines[x.line] = a
			}
			if x.attempts > 0 && x.outcome != callv1.Refused {
				a.most++
			}
			if x.outcome == callv1.OK {
				a.least++
			}
		}
	}
	for line, n := range c.ev.Lines {
		switch a := lines[line]; {
		case a == nil:
			c.say(Wrong, "", 0, "%q was written and no call has it", line)
		case n > a.most:
			c.say(Doubled, a.first.event.Session, a.first.event.Cursor, "%q was written %d times, and %d calls of it have begun", line, n, a.most)
		}
	}
	for line, a := range lines {
		if n := c.ev.Lines[line]; n < a.least {
			c.say(Lost, a.first.event.Session, a.first.event.Cursor, "%q was written %d times, and %d calls of it have succeeded", line, n, a.least)
		}
	}
}
