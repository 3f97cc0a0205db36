package timeline

import (
	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/services/turns/ledger"
)

// Totals are sums over the session.
type Totals struct {
	Messages int   `json:"messages"`
	Turns    int   `json:"turns"`
	Rounds   int   `json:"rounds"`
	Calls    int   `json:"calls"`
	Spent    Spent `json:"spent"`
	// Times add up what happened at once, too.
	Model  Span `json:"model_ms"`  // in model calls
	Tools  Span `json:"tools_ms"`  // in tools
	People Span `json:"people_ms"` // waiting for people's decisions
	Queue  Span `json:"queue_ms"`  // messages that waited for their turn, calls that waited for their executor
}

// Spent is what model calls have used.
type Spent struct {
	Calls    int    `json:"calls"` // that had an outcome
	Input    int    `json:"input_tokens"`
	Output   int    `json:"output_tokens"`
	Cost     *int64 `json:"cost_nano_usd"` // billionths of a US dollar; null when no price is known
	Unpriced int    `json:"unpriced_tokens"`
	Silent   int    `json:"uncounted_answers"` // whose provider reported no tokens

	money string
}

// Money says it in words: "$0.12", "unknown".
func (s Spent) Money() string { return s.money }

// unknownCost is what the ledger calls a cost of which nothing is known.
const unknownCost = "unknown"

// spentOf is the account of some events, by the rules that all accounts are kept by.
func spentOf(events []envelope.Event) Spent {
	var book ledger.Book
	for _, ev := range events {
		book.Add(ev)
	}
	r := book.Rows(ledger.Total)[0]
	s := Spent{Calls: r.Calls, Input: r.Input, Output: r.Output, Unpriced: r.Unpriced, Silent: r.Silent, money: r.Money()}
	if s.money != unknownCost {
		s.Cost = &r.Cost
	}
	return s
}

// count sums up what the groups say.
func (t *Timeline) count(events []envelope.Event) {
	t.Totals.Spent = spentOf(events)
	t.each(func(e *Entry) {
		switch f := e.Facts.(type) {
		case *Message:
			t.Totals.Messages++
			t.Totals.Queue += f.Waited
		case *Turn:
			t.Totals.Turns++
		case *Round:
			t.Totals.Rounds++
			t.Totals.Model += f.Asked
		case *Compaction:
			t.Totals.Model += e.Took
		case *Call:
			t.Totals.Calls++
			t.Totals.Tools += f.Ran
			t.Totals.Queue += f.Queued
		case *Approval:
			t.Totals.People += f.Waited
		case *Delivery, *Hole:
		}
	})
}

// each visits all entries, those above first.
func (t *Timeline) each(visit func(*Entry)) {
	var walk func([]*Entry)
	walk = func(list []*Entry) {
		for _, e := range list {
			visit(e)
			walk(e.Entries)
		}
	}
	walk(t.Entries)
}
