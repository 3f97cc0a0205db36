package prompt

import (
	"fmt"
	"slices"

	"github.com/jetclaw/jetclaw/services/turns/model"
	"github.com/jetclaw/jetclaw/services/turns/offer"
	"github.com/jetclaw/jetclaw/services/turns/turn"
)

// Input is what a request is made of.
type Input struct {
	State        turn.State
	Instructions string
	Files        []File
	Skills       []Skill
	Tools        []model.Tool
	Names        offer.Names // of Tools; calls of the past are shown under these names too
	Sees         bool        // the model can be shown pictures
	Window       int         // tokens of the request and its answer; 0: unknown, 32,000
	Output       int         // tokens kept free for the answer; 0: a quarter of Window, at most 8,192
}

// File is a file of the workspace.
type File struct {
	Name string
	Text string
	Cut  int // bytes that were left out at its end
}

// Skill is offered by name; the model reads it when it needs it.
type Skill struct {
	Name        string
	Description string // one line
}

// Plan is a request, and what it is made of.
type Plan struct {
	Messages []model.Message
	Tools    []model.Tool
	Names    offer.Names
	Parts    []Part // in the order in which the model reads them
	Tokens   int    // of all parts
	LeftOut  int    // finished turns that did not fit
}

// Part is one of the things that a request is made of.
type Part struct {
	// Name is "instructions", "AGENTS.md", "skills", "fences", "group", "summary", "tools", "left out", "turn <id>", "this turn" or
	// "pictures".
	Name   string `json:"name"`
	Tokens int    `json:"tokens"`         // an estimate
	Note   string `json:"note,omitempty"` // what is special about it, for a person
}

const (
	defaultWindow = 32_000
	defaultOutput = 8192
	maxOverflows  = 16 // halved more often than this, every budget is nothing

	messageTokens = 4  // of the frame of a message
	callTokens    = 20 // of the frame of a call, its id twice included

	noteRoom = 40 // for the note that turns are left out

	nextMessage = "(the next message)" // stands in when no turn runs
)

// budget is how many tokens a request may have.
func (in Input) budget() int {
	window := in.Window
	if window <= 0 {
		window = defaultWindow
	}
	output := in.Output
	if output <= 0 {
		output = min(defaultOutput, window/4)
	}
	budget := window - min(output, window/2) // an answer that leaves no room for the question is a wrong figure
	if in.State.Turn != nil {
		budget >>= min(max(in.State.Turn.Overflows, 0), maxOverflows)
	}
	if room := in.State.Room; room > 0 {
		budget = min(budget, room)
	}
	return budget
}

// Build makes the request of the next model call.
func Build(in Input) Plan {
	budget := in.budget()
	p := Plan{Tools: in.Tools, Names: in.Names}
	past := uncovered(in.State)

	system := p.system(in, past, budget)
	seen := see(in.Sees, past, in.State.Turn, budget/picturesShare)
	free := budget - p.Tokens - len(seen.shown)*pictureTokens

	now, nowPart := running(in.State, free, len(past) > 0)
	kept := choose(past, free-nowPart.Tokens-noteRoom)
	p.LeftOut = kept.first
	note := ""
	if p.LeftOut > 0 {
		note = fmt.Sprintf("The conversation below begins in the middle: %d earlier turns are left out.", p.LeftOut)
		if p.LeftOut == 1 {
			note = "The conversation below begins in the middle: an earlier turn is left out."
		}
		p.part(Part{Name: "left out", Tokens: messageTokens + Tokens(note), Note: fmt.Sprintf("finished turns that do not fit: %d", p.LeftOut)})
	}

	w := newWriter(past[kept.first:], now)
	w.names, w.sight = in.Names, seen
	if kept.first > 0 && len(seen.shown) > 0 { // those of turns that are left out are not sent
		w.sight = see(in.Sees, past[kept.first:], in.State.Turn, budget/picturesShare)
	}
	w.sight.reader = reader(in.Tools, in.Names)
	if note != "" { // not as a message of the history: a model would take it for something that was said, and answer it
		system += "\n\n" + note
	}
	w.say(turn.System, system)
	for i, x := range past {
		if i < kept.first {
			continue
		}
		part := Part{Name: "turn " + x.Turn, Tokens: kept.tokens[i]}
		entries := x.Entries
		if i < kept.whole && long(entries) {
			entries, part.Note = cutResults(entries, oldResult), "long results cut"
		}
		p.part(part)
		w.write(x.Turn, entries)
	}
	if in.State.Turn == nil {
		w.write("", now)
		w.say(turn.User, nextMessage)
	} else {
		w.write(in.State.Turn.ID, now)
	}
	p.part(nowPart)
	if n := len(w.sight.shown); n > 0 {
		p.part(Part{Name: "pictures", Tokens: n * pictureTokens, Note: fmt.Sprintf("%d, the newest", n)})
	}
	p.Messages = Repair(w.out)
	return p
}

func (p *Plan) part(part Part) {
	p.Parts = append(p.Parts, part)
	p.Tokens += part.Tokens
}

// uncovered are the finished turns that the summary does not stand for.
func uncovered(s turn.State) []turn.Exchange {
	if s.Summary == nil {
		return s.Past
	}
	i := slices.IndexFunc(s.Past, func(x turn.Exchange) bool { return x.Turn == s.Summary.Through })
	return s.Past[i+1:]
}

// writer writes messages. The calls of all of them share one piece of memory.
type writer struct {
	out   []model.Message
	calls []turn.Call
	names offer.Names
	sight sight
}

func newWriter(past []turn.Exchange, now []turn.Entry) *writer {
	messages, calls := len(now)+4, 0
	count := func(entries []turn.Entry) {
		messages += len(entries)
		for _, e := range entries {
			calls += len(e.Calls)
		}
	}
	for _, x := range past {
		count(x.Entries)
	}
	count(now)
	return &writer{out: make([]model.Message, 0, messages+calls), calls: make([]turn.Call, 0, calls)}
}

// say adds a message, unless there is nothing to say.
func (w *writer) say(role turn.Role, text string) {
	if text != "" {
		w.out = append(w.out, model.Message{Role: role, Text: text})
	}
}

// write adds what was said in a turn. Calls are without their results: those follow, as they are shown.
func (w *writer) write(turnID string, entries []turn.Entry) {
	for i, e := range entries {
		m := model.Message{Role: e.Role, Text: e.Text}
		if e.Beside != nil {
			m.Text, m.Images = w.sight.message(turnID, i, e)
		}
		if len(e.Calls) > 0 {
			from := len(w.calls)
			for _, c := range e.Calls {
				w.calls = append(w.calls, turn.Call{ID: c.ID, Tool: w.names.Portable(c.Tool), Arguments: c.Arguments})
			}
			m.Calls = w.calls[from:len(w.calls):len(w.calls)]
		}
		w.out = append(w.out, m)
		for _, c := range e.Calls {
			w.out = append(w.out, model.Message{Role: turn.Tool, Text: shown(turnID, c), Call: c.ID, Name: w.names.Portable(c.Tool)})
		}
	}
}
