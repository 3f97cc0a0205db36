package ledger

import (
	"cmp"
	"slices"
	"time"

	"github.com/jetclaw/jetclaw/schemas/envelope"
	"github.com/jetclaw/jetclaw/schemas/session"
	"github.com/jetclaw/jetclaw/schemas/turnv1"
)

// Row is an account: of one day, agent, session and model, or of all where these are "".
type Row struct {
	Day      string     `json:"day,omitempty"` // "2006-01-02", UTC
	Agent    string     `json:"agent,omitempty"`
	Session  session.ID `json:"session,omitempty"`
	Model    string     `json:"model,omitempty"` // provider/model
	Calls    int        `json:"calls"`
	Input    int        `json:"input"`
	Output   int        `json:"output"`
	Cost     int64      `json:"cost"`     // billionths of a US dollar, of the calls whose price was known
	Unpriced int        `json:"unpriced"` // tokens of the others
	// Silent counts answers for which the provider reported no tokens, of models that are not free: what they cost is
	// not known either. A tombstone does not have them.
	Silent int `json:"silent,omitempty"`
}

// Tokens is all of them.
func (r Row) Tokens() int { return r.Input + r.Output }

// plus adds what other counts, and keeps whose account r is.
func (r Row) plus(other Row) Row {
	r.Calls += other.Calls
	r.Input += other.Input
	r.Output += other.Output
	r.Cost = addMoney(r.Cost, other.Cost)
	r.Unpriced += other.Unpriced
	r.Silent += other.Silent
	return r
}

// key is what rows of a book are kept by. The agent is part of the session.
type key struct {
	day     string
	session session.ID
	model   string
}

// span is a day of an agent, or of all when it is "".
type span struct{ day, agent string }

// Book has the accounts. The zero value is empty and ready. It is not safe for concurrent use.
type Book struct {
	// Price, when set, is asked about calls whose price was not known when they were made.
	Price func(model string, u turnv1.Usage) turnv1.Usage

	rows   map[key]Row
	days   map[span]Row // sums of rows: budgets ask for them in every turn
	cursor uint64       // of the last event that was folded; what is not above it is passed by
}

// Cursor is that of the last event that was folded.
func (b *Book) Cursor() uint64 { return b.cursor }

// Add folds the next event. Events come in the order of their cursors; one that comes again, or late, is passed by.
func (b *Book) Add(ev envelope.Event) {
	if ev.Cursor <= b.cursor {
		return
	}
	b.cursor = ev.Cursor
	switch body := ev.Body.(type) {
	case turnv1.Stepped:
		b.call(ev, body.Model, body.Usage, true)
	case turnv1.Completed:
		b.call(ev, body.Model, body.Usage, true)
	case turnv1.Failed:
		if body.Model != "" { // else the turn failed without one: a budget, a deadline, too many take-overs
			// An answer that broke off was made, and is paid for, whoever reads it.
			b.call(ev, body.Model, body.Usage, body.Cause == turnv1.ModelGarbage)
		}
	case turnv1.Cancelled:
		if body.Model != "" { // a call was cut off
			b.call(ev, body.Model, body.Usage, true)
		}
	case turnv1.Overflowed:
		b.call(ev, body.Model, body.Usage, false)
	case turnv1.SessionCompacted:
		b.call(ev, body.Model, body.Usage, true)
	case turnv1.CompactionFailed:
		b.call(ev, body.Model, body.Usage, false)
	case turnv1.SessionDeleted:
		b.replace(ev.Session, body.Spent)
	default: // no model was called
	}
}

func (b *Book) call(ev envelope.Event, model string, u turnv1.Usage, answered bool) {
	if model == "" && u == (turnv1.Usage{}) {
		return
	}
	if !u.Priced && b.Price != nil {
		u = b.Price(model, u)
	}
	row := Row{Calls: 1, Input: max(u.Input, 0), Output: max(u.Output, 0)}
	switch {
	case u.Priced:
		row.Cost = max(u.Cost, 0)
	case row.Tokens() > 0:
		row.Unpriced = row.Tokens()
	case answered:
		row.Silent = 1
	}
	b.enter(key{day: Day(ev.Time), session: ev.Session, model: model}, row)
}

// enter adds a row to the one of its key.
func (b *Book) enter(k key, row Row) {
	if b.rows == nil {
		b.rows, b.days = map[key]Row{}, map[span]Row{}
	}
	old, ok := b.rows[k]
	if !ok {
		old = Row{Day: k.day, Agent: k.session.Agent(), Session: k.session, Model: k.model}
	}
	b.rows[k] = old.plus(row)
	b.sum(k.day, old.Agent, row)
}

func (b *Book) sum(day, agent string, row Row) {
	for _, s := range []span{{day, ""}, {day, agent}} {
		old, ok := b.days[s]
		if !ok {
			old = Row{Day: s.day, Agent: s.agent}
		}
		b.days[s] = old.plus(row)
	}
}

// sumAgain is for when rows went away.
func (b *Book) sumAgain() {
	clear(b.days)
	for k, row := range b.rows {
		b.sum(k.day, row.Agent, row)
	}
}

// replace makes the tombstone's accounts those of the session. A tombstone without any knows nothing, or there was
// nothing: what the book has stays.
func (b *Book) replace(s session.ID, spent []turnv1.Spend) {
	if len(spent) == 0 {
		return
	}
	for k := range b.rows {
		if k.session == s {
			delete(b.rows, k)
		}
	}
	b.sumAgain()
	for _, p := range spent {
		b.enter(key{day: p.Day, session: s, model: p.Model}, Row{
			Calls: p.Calls, Input: p.Input, Output: p.Output, Cost: p.Cost, Unpriced: p.Unpriced, Silent: p.Silent,
		})
	}
}

// Day is the day of an instant: "2006-01-02", UTC.
func Day(t time.Time) string { return t.UTC().Format(time.DateOnly) }

// Forget drops the accounts of days before one.
func (b *Book) Forget(before string) {
	for k := range b.rows {
		if k.day < before {
			delete(b.rows, k)
		}
	}
	b.sumAgain()
}

// Spent is what a session has used, for its tombstone.
func (b *Book) Spent(s session.ID) []turnv1.Spend {
	var spent []turnv1.Spend
	for k, row := range b.rows {
		if k.session == s {
			spent = append(spent, turnv1.Spend{
				Day: k.day, Model: k.model, Calls: row.Calls, Input: row.Input, Output: row.Output,
				Cost: row.Cost, Unpriced: row.Unpriced, Silent: row.Silent,
			})
		}
	}
	slices.SortFunc(spent, func(x, y turnv1.Spend) int { return cmp.Or(cmp.Compare(x.Day, y.Day), cmp.Compare(x.Model, y.Model)) })
	return spent
}
