package turns

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/jetclaw/jetclaw/schemas/callv1"
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
	"github.com/jetclaw/jetclaw/services/turns/turn"
)

// Play is how a turn went.
type Play struct {
	Model  string       `json:"model"`  // that answered last
	Rounds int          `json:"rounds"` // model calls, those left out that were lost
	Calls  []Played     `json:"calls"`
	End    End          `json:"end"`
	Text   string       `json:"text"`            // the answer, or what the person was told
	Cause  turnv1.Cause `json:"cause,omitempty"` // Failed
	Detail string       `json:"detail,omitempty"`
	Usage  turn.Total   `json:"usage"`
}

// End is how a turn ended.
type End string

// The ends.
const (
	EndNone      End = ""
	EndCompleted End = "completed"
	EndFailed    End = "failed"
	EndCancelled End = "cancelled"
)

// Played is one tool call.
type Played struct {
	Round     int    `json:"round"`
	Tool      string `json:"tool"`
	Arguments string `json:"arguments"`        // JSON; cut where it is long
	Result    string `json:"result,omitempty"` // what the model was told; "" where there was none
	id        string
}

// playOf tells one turn of a history.
func playOf(events []envelope.Event, name string) Play {
	p := Play{Calls: []Played{}}
	for _, ev := range events {
		p.event(ev.Body, name)
	}
	return p
}

func (p *Play) event(body envelope.Body, name string) {
	switch b := body.(type) {
	case turnv1.Stepped:
		if p.outcome(b.Outcome, name, true) {
			for _, c := range b.Calls {
				p.Calls = append(p.Calls, Played{Round: b.Round, Tool: c.Tool, Arguments: string(c.Arguments), Result: cmp.Or(c.Refusal, c.Answer), id: c.ID})
			}
		}
	case turnv1.Overflowed:
		p.outcome(b.Outcome, name, false)
	case turnv1.Completed:
		if p.outcome(b.Outcome, name, true) {
			p.End, p.Text = EndCompleted, b.Text
		}
	case turnv1.Failed:
		if p.outcome(b.Outcome, name, b.Cause == turnv1.ModelGarbage) {
			p.End, p.Text, p.Cause, p.Detail = EndFailed, b.Text, b.Cause, b.Detail
		}
	case turnv1.Cancelled:
		if b.Turn == name && p.End == EndNone {
			p.End, p.Text = EndCancelled, b.Text
			if b.Model != "" {
				p.Model, p.Usage = b.Model, p.Usage.Plus(b.Usage, true)
			}
		}
	case callv1.Completed:
		result := b.Content
		if b.Outcome != callv1.OK {
			result = fmt.Sprintf("%s: %s", b.Outcome, b.Content)
		}
		p.result(b.Turn == name, b.Call, result)
	case callv1.Denied:
		p.result(b.Turn == name, b.Call, cmp.Or("denied: "+b.Reason, "denied"))
	}
}

// outcome counts a model call of the turn.
func (p *Play) outcome(o turnv1.Outcome, name string, answered bool) bool {
	if o.Turn != name || p.End != EndNone {
		return false
	}
	p.Rounds = max(p.Rounds, o.Round)
	if o.Model != "" {
		p.Model, p.Usage = o.Model, p.Usage.Plus(o.Usage, answered)
	}
	return true
}

// result is what became of a call; the first one counts.
func (p *Play) result(ours bool, call, text string) {
	i := slices.IndexFunc(p.Calls, func(c Played) bool { return c.id == call })
	if ours && i >= 0 && p.Calls[i].Result == "" {
		p.Calls[i].Result = text
	}
}

// shortened is p with texts of at most about limit bytes.
func (p Play) shortened(limit int) Play {
	p.Text, p.Detail = shortened(p.Text, limit, "answer"), shortened(p.Detail, limit, "detail")
	p.Calls = slices.Clone(p.Calls)
	for i := range p.Calls {
		c := &p.Calls[i]
		c.Arguments, c.Result = shortened(c.Arguments, limit, "call"), shortened(c.Result, limit, "result")
	}
	return p
}

// record has the results of a turn's tool calls.
type record struct {
	turn    string
	results map[string][]envelope.Event // by what was called, see turn.Call.Identity; in the order of the calls
	used    map[string]int
}

// notRecorded is what a model is told of a call that the turn has not made.
const notRecorded = "not recorded: rerun runs no tools"

func recordOf(events []envelope.Event, name string) *record {
	r := &record{turn: name, results: map[string][]envelope.Event{}, used: map[string]int{}}
	results := map[string]envelope.Event{}
	for _, ev := range events {
		call, of := "", ""
		switch b := ev.Body.(type) {
		case callv1.Completed:
			call, of = b.Call, b.Turn
		case callv1.Denied:
			call, of = b.Call, b.Turn
		}
		if _, twice := results[call]; of == name && !twice {
			results[call] = ev
		}
	}
	for _, ev := range events {
		b, ok := ev.Body.(turnv1.Stepped)
		if !ok || b.Turn != name {
			continue
		}
		for _, c := range b.Calls {
			if result, ok := results[c.ID]; ok {
				what := turn.Call{Tool: c.Tool, Arguments: string(c.Arguments)}.Identity()
				r.results[what] = append(r.results[what], result)
			}
		}
	}
	return r
}

// take is the result of an open call: each recorded one once, in their order, and the last of them from then on. ok is false
// for a call that has none.
func (r *record) take(t *turn.Turn, id string) (ev envelope.Event, ok bool) {
	denied := envelope.Event{Body: callv1.Denied{Turn: t.ID, Call: id, Reason: notRecorded}}
	call, found := t.Call(id)
	what := call.Identity()
	list := r.results[what]
	if !found || len(list) == 0 {
		return denied, false
	}
	ev = list[min(r.used[what], len(list)-1)]
	r.used[what]++
	switch b := ev.Body.(type) {
	case callv1.Completed:
		b.Turn, b.Call = t.ID, id
		ev.Body = b
	case callv1.Denied:
		b.Turn, b.Call = t.ID, id
		ev.Body = b
	}
	return ev, true
}
